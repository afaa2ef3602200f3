//===- PhiloxKernel.cpp - Random numbers in generated code ----------------===//

#include "passes/kernels/PhiloxKernel.h"
#include "runtime/src/base/NormalQuantile.h"
#include "runtime/src/base/PortableMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

namespace {
/// 32-bit words. Lanes of a vector multiply 32 bits of 64: there a word is the
/// lower half of 64 bits, whose upper half may be anything, so that no lane
/// moves between two rounds. Threads of a target that cuts rows have plain
/// 32-bit words.
class Words {
public:
  explicit Words(KernelBuilder &k)
      : k(k), type(k.blocks().rows ? k.getI32Type() : k.getI64Type()) {}

  bool areHalves() const { return type.isInteger(64); }
  Value constant(uint32_t value) {
    return arith::ConstantOp::create(
        k, areHalves() ? k.getIntegerAttr(type, value)
                       : k.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  /// A word of 32 bits as one of these, and back.
  Value from(Value word) {
    return areHalves() ? k.createOrFold<arith::ExtUIOp>(type, word) : word;
  }
  Value narrow(Value word) {
    return areHalves() ? k.createOrFold<arith::TruncIOp>(k.getI32Type(), word)
                       : word;
  }
  Value exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(k, a, b); }
  Value add(Value a, uint32_t b) {
    return k.createOrFold<arith::AddIOp>(a, constant(b));
  }
  /// The low and the high half of a 64-bit word.
  std::pair<Value, Value> halves(Value wide) {
    Value shift = arith::ConstantOp::create(k, k.getI64IntegerAttr(32));
    Value high = arith::ShRUIOp::create(k, wide, shift);
    if (areHalves())
      return {wide, high};
    return {arith::TruncIOp::create(k, k.getI32Type(), wide),
            arith::TruncIOp::create(k, k.getI32Type(), high)};
  }
  std::pair<Value, Value> multiply(Value a, uint32_t b) {
    Value wide = areHalves()
                     ? arith::AndIOp::create(k, a, constant(~0u)).getResult()
                     : arith::ExtUIOp::create(k, k.getI64Type(), a).getResult();
    Value factor = arith::ConstantOp::create(k, k.getI64IntegerAttr(b));
    return halves(arith::MulIOp::create(k, wide, factor));
  }

private:
  KernelBuilder &k;
  Type type;
};
} // namespace

/// Philox4x32-10 (Salmon et al. 2011). The counter and the result are of
/// Words, the key is not.
static std::array<Value, 4> philox(Words &w, std::array<Value, 4> counter,
                                   std::array<Value, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  Value k0 = w.from(key[0]), k1 = w.from(key[1]);
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = w.multiply(c0, 0xD2511F53);
    auto [low1, high1] = w.multiply(c2, 0xCD9E8D57);
    c0 = w.exclusiveOr(w.exclusiveOr(high1, c1), k0);
    c2 = w.exclusiveOr(w.exclusiveOr(high0, c3), k1);
    c1 = low1;
    c3 = low0;
    k0 = w.add(k0, 0x9E3779B9);
    k1 = w.add(k1, 0xBB67AE85);
  }
  return {c0, c1, c2, c3};
}

RandomKey hone::streamKey(KernelBuilder &k, const RandomKey &seedAndStep,
                          Value hash) {
  Words w(k);
  auto [seed0, seed1, step0, step1] = seedAndStep;
  auto [hash0, hash1] = w.halves(hash);
  Value ones = arith::ConstantOp::create(k, k.getI32IntegerAttr(-1));
  auto id = philox(w, {w.from(step0), w.from(step1), hash0, hash1},
                   {w.exclusiveOr(seed0, ones), w.exclusiveOr(seed1, ones)});
  return {seed0, seed1, w.narrow(id[0]), w.narrow(id[1])};
}

/// Both upper words of the block that the stream of `key` has at `index`.
static std::pair<Value, Value> randomWords(KernelBuilder &k,
                                           const RandomKey &key, Value index) {
  Words w(k);
  auto [seed0, seed1, id0, id1] = key;
  auto [index0, index1] =
      w.halves(arith::IndexCastOp::create(k, k.getI64Type(), index));
  auto block =
      philox(w, {index0, index1, w.from(id0), w.from(id1)}, {seed0, seed1});
  return {w.narrow(block[0]), w.narrow(block[1])};
}

Value hone::randomWord(KernelBuilder &k, const RandomKey &key, Value index) {
  return randomWords(k, key, index).first;
}

//===----------------------------------------------------------------------===//
// Words of a matrix
//===----------------------------------------------------------------------===//

static constexpr int64_t kGroupBlocks = 16, kGroupColumns = 4 * kGroupBlocks;

RandomWords::RandomWords(KernelBuilder &k, Operation *op, Value keyWords,
                         int64_t columns)
    : k(k), columns(columns) {
  auto word = [&](int64_t at) { return k.load(keyWords, k.index(at)); };
  key = streamKey(k, {word(0), word(1), word(2), word(3)}, k.stream(op));
}

void RandomWords::forEach(Value row, Value column, Value count,
                          function_ref<void(Value, Value)> body) const {
  Words w(k);
  Value width = k.index(kGroupColumns), end = k.add(column, count);
  Value groups = k.index(llvm::divideCeil(columns, kGroupColumns));
  Value ofRow = k.mul(k.add(k.firstRow(), row), groups);
  k.loop(k.div(column, width), k.ceilDiv(end, kGroupColumns), 1,
         [&](Value group) {
           Value first = k.mul(group, width), next = k.add(first, width);
           // A multiple of 16, so adding the block carries nothing.
           Value number = arith::IndexCastOp::create(
               k, k.getI64Type(),
               k.mul(k.add(ofRow, group), k.index(kGroupBlocks)));
           auto [low, high] = w.halves(number);
           auto block = [&, low = low, high = high](Value v) {
             Value lane = arith::IndexCastOp::create(k, low.getType(), v);
             Value at = k.add(low, lane);
             auto words = philox(w, {at, high, w.from(key[2]), w.from(key[3])},
                                 {key[0], key[1]});
             for (Value &word : words)
               word = w.narrow(word);
             return words;
           };
           auto whole = [&] {
             k.map(k.index(kGroupBlocks), [&](ValueRange v) {
               auto words = block(v[0]);
               for (int64_t i = 0; i < 4; ++i)
                 body(k.add(k.add(first, k.index(i * kGroupBlocks)), v[0]),
                      words[i]);
             });
           };
           // Each element of a cut group by itself.
           auto cut = [&] {
             Value from = k.createOrFold<arith::MaxUIOp>(first, column);
             k.map(k.sub(k.min(next, end), from), [&](ValueRange point) {
               Value j = k.add(from, point[0]), inGroup = k.sub(j, first);
               auto words = block(k.rem(inGroup, k.index(kGroupBlocks)));
               Value which = k.div(inGroup, k.index(kGroupBlocks));
               Value word = words[3];
               for (int64_t i = 3; i-- > 0;)
                 word = arith::SelectOp::create(
                     k,
                     arith::CmpIOp::create(k, arith::CmpIPredicate::eq, which,
                                           k.index(i)),
                     words[i], word);
               body(j, word);
             });
           };
           auto isAtMost = [&](Value a, Value b) -> Value {
             return arith::CmpIOp::create(k, arith::CmpIPredicate::ule, a, b);
           };
           k.when(arith::AndIOp::create(k, isAtMost(column, first),
                                        isAtMost(next, end)),
                  whole, cut);
         });
}

//===----------------------------------------------------------------------===//
// Normal numbers
//===----------------------------------------------------------------------===//

namespace {
/// Doubles, by the operations of runtime/src/base/PortableMath.h in its order.
class Doubles {
public:
  explicit Doubles(KernelBuilder &k) : k(k) {}

  Value real(double value) { return k.real(k.getF64Type(), value); }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(k, k.getI64IntegerAttr(value));
  }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(k, arith::CmpFPredicate::OLT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(k, condition, a, b);
  }
  Value negative(Value a) { return arith::NegFOp::create(k, a); }
  Value fromInteger(Value a) {
    return arith::SIToFPOp::create(k, k.getF64Type(), a);
  }

  template <size_t N> Value horner(const double (&c)[N], Value x) {
    Value sum = real(c[N - 1]);
    for (size_t i = N - 1; i-- > 0;)
      sum = k.add(k.mul(sum, x), real(c[i]));
    return sum;
  }
  template <size_t N>
  Value ratio(const double (&above)[N], const double (&below)[N], Value x) {
    return k.div(horner(above, x), horner(below, x));
  }
  /// portableLog.
  Value log(Value x);
  /// inverseNormal.
  Value inverseNormal(Value p);

private:
  KernelBuilder &k;
};
} // namespace

Value Doubles::log(Value x) {
  Value bits = arith::BitcastOp::create(k, k.getI64Type(), x);
  Value exponent =
      k.sub(arith::ShRUIOp::create(k, bits, integer(52)), integer(1023));
  Value fraction = arith::AndIOp::create(k, bits, integer(0x000fffffffffffff));
  bits = arith::OrIOp::create(k, fraction, integer(0x3ff0000000000000));
  Value m = arith::BitcastOp::create(k, k.getF64Type(), bits);
  Value isLarge = less(real(0x1.6a09e667f3bcdp0), m);
  m = select(isLarge, k.mul(m, real(0.5)), m);
  exponent = select(isLarge, k.add(exponent, integer(1)), exponent);
  Value f = k.sub(m, real(1.0));
  Value s = k.div(f, k.add(real(2.0), f));
  Value z = k.mul(s, s);
  Value rest = k.mul(s, k.sub(f, k.mul(z, horner(rt::logSeries, z))));
  Value e = fromInteger(exponent);
  Value lowPart = k.sub(k.mul(e, real(1.90821492927058770002e-10)), rest);
  return k.add(k.mul(e, real(6.93147180369123816490e-01)), k.add(f, lowPart));
}

Value Doubles::inverseNormal(Value p) {
  using namespace rt::normal_quantile;
  Value zero = real(0.0), q = k.sub(p, real(0.5));
  Value central = k.sub(real(0.180625), k.mul(q, q));
  Value centre = k.div(k.mul(q, horner(a, central)), horner(b, central));
  Value isLeft = less(q, zero);
  Value tail = select(isLeft, p, k.sub(real(1.0), p));
  Value r = math::SqrtOp::create(k, negative(log(tail)));
  Value isFar = less(real(5.0), r);
  Value value = select(isFar, ratio(e, f, k.sub(r, real(5.0))),
                       ratio(c, d, k.sub(r, real(1.6))));
  value = select(isLeft, negative(value), value);
  Value isTail = less(real(0.425), select(isLeft, negative(q), q));
  return select(isTail, value, centre);
}

Value hone::randomNormal(KernelBuilder &k, const RandomKey &key, Value index) {
  Doubles doubles(k);
  auto [upper, lower] = randomWords(k, key, index);
  auto wide = [&](Value word) -> Value {
    return arith::ExtUIOp::create(k, k.getI64Type(), word);
  };
  Value bits = arith::OrIOp::create(
      k, arith::ShLIOp::create(k, wide(upper), doubles.integer(32)),
      wide(lower));
  Value cell =
      doubles.fromInteger(arith::ShRUIOp::create(k, bits, doubles.integer(12)));
  return doubles.inverseNormal(
      k.mul(k.add(cell, doubles.real(0.5)), doubles.real(0x1p-52)));
}
