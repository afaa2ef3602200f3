//===- PhiloxKernel.cpp - Random numbers in generated code ----------------===//

#include "passes/kernels/PhiloxKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;

namespace {
/// 32-bit words.
class Words {
public:
  explicit Words(KernelBuilder &k) : k(k) {}

  Value constant(uint32_t value) {
    return arith::ConstantOp::create(
        k, k.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(k, a, b); }
  Value add(Value a, uint32_t b) {
    return k.createOrFold<arith::AddIOp>(a, constant(b));
  }
  /// The low and the high half of a 64-bit word.
  std::pair<Value, Value> halves(Value wide) {
    Value shift = arith::ConstantOp::create(k, k.getI64IntegerAttr(32));
    Value high = arith::ShRUIOp::create(k, wide, shift);
    return {arith::TruncIOp::create(k, k.getI32Type(), wide),
            arith::TruncIOp::create(k, k.getI32Type(), high)};
  }
  std::pair<Value, Value> multiply(Value a, uint32_t b) {
    Value wide = arith::ExtUIOp::create(k, k.getI64Type(), a);
    Value factor = arith::ConstantOp::create(k, k.getI64IntegerAttr(b));
    return halves(arith::MulIOp::create(k, wide, factor));
  }

private:
  KernelBuilder &k;
};
} // namespace

/// Philox4x32-10 (Salmon et al. 2011).
static std::array<Value, 4> philox(Words &w, std::array<Value, 4> counter,
                                   std::array<Value, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
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
  Value ones = w.constant(~0u);
  auto id = philox(w, {step0, step1, hash0, hash1},
                   {w.exclusiveOr(seed0, ones), w.exclusiveOr(seed1, ones)});
  return {seed0, seed1, id[0], id[1]};
}

Value hone::randomWord(KernelBuilder &k, const RandomKey &key, Value index) {
  Words w(k);
  auto [seed0, seed1, id0, id1] = key;
  auto [index0, index1] =
      w.halves(arith::IndexCastOp::create(k, k.getI64Type(), index));
  return philox(w, {index0, index1, id0, id1}, {seed0, seed1})[0];
}
