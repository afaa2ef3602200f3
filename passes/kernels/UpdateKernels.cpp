//===- UpdateKernels.cpp - Gradient sums and optimizer steps --------------===//
//
// Updates run over flat vectors, element by element: what else is in the vector
// changes no bit. Factors that are the same for every element are computed in
// double and rounded once to the parameters' type.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/Kernels.h"
#include "passes/kernels/PhiloxKernel.h"
#include "runtime/src/base/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/FunctionExtras.h"

using namespace mlir;
using namespace hone;

/// What all elements of a chunk need is made by `start`, inside of the loop
/// over chunks; it may be null.
using Start = function_ref<void()>;

/// Runs the body for each element of the vector, chunks in parallel.
static void forEachElement(KernelBuilder &k, Value vector, Start start,
                           function_ref<void(Value)> body) {
  int64_t length = cast<MemRefType>(vector.getType()).getDimSize(0);
  int64_t most = k.blocks().updateElements;
  int64_t chunks = llvm::divideCeil(length, most);
  k.parallel(k.index(chunks), {}, [&](Value chunk, ValueRange) {
    if (start)
      start();
    Value first = k.mul(chunk, k.index(most));
    Value count = k.min(k.index(most), k.sub(k.index(length), first));
    k.map(count, [&](ValueRange j) { body(k.add(first, j[0])); });
  });
}

/// Runs the body for each element of a vector or a matrix, in parallel: rows of
/// a matrix one by one, since its columns are many.
static void forEachPlace(KernelBuilder &k, Value buffer,
                         function_ref<void(ValueRange)> body) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 1)
    return forEachElement(k, buffer, nullptr, [&](Value i) { body(i); });
  k.parallel(k.index(type.getDimSize(0)), {}, [&](Value row, ValueRange) {
    k.map(k.index(type.getDimSize(1)),
          [&](ValueRange j) { body({row, j[0]}); });
  });
}

void hone::emitGradientSum(Value value, Value sink, KernelBuilder &k) {
  forEachPlace(k, sink, [&](ValueRange at) {
    k.store(k.add(k.load(sink, at), k.load(value, at)), sink, at);
  });
}

Value hone::zeroedGradient(Value result, KernelBuilder &k) {
  if (Value sink = k.sink(result))
    return sink;
  Value own = k.buffer(result);
  if (!own)
    return {};
  Value zero = k.real(cast<MemRefType>(own.getType()).getElementType(), 0.0);
  forEachPlace(k, own, [&](ValueRange at) { k.store(zero, own, at); });
  return own;
}

void hone::emitZeros(Value to, KernelBuilder &k) {
  Value zero = k.real(cast<MemRefType>(to.getType()).getElementType(), 0.0);
  forEachElement(k, to, nullptr, [&](Value i) { k.store(zero, to, i); });
}

void hone::emitCopy(Value from, Value to, KernelBuilder &k) {
  forEachElement(k, to, nullptr,
                 [&](Value i) { k.store(k.load(from, i), to, i); });
}

void hone::emitFold(Value from, Value to, KernelBuilder &k) {
  forEachElement(k, to, nullptr, [&](Value i) {
    k.store(k.add(k.load(to, i), k.load(from, i)), to, i);
  });
}

DenseElementsAttr hone::parameterRanges(ArrayRef<Parameter> parameters,
                                        MLIRContext *context) {
  SmallVector<int64_t> ranges;
  for (const Parameter &parameter : parameters)
    ranges.append({parameter.offset - parameters.front().offset,
                   parameter.type.getNumElements()});
  auto type = RankedTensorType::get({int64_t(parameters.size()), 2},
                                    IntegerType::get(context, 64));
  return DenseElementsAttr::get(type, ArrayRef<int64_t>(ranges));
}

void hone::emitSquares(Value ranges, Value vector, Value squares,
                       KernelBuilder &k) {
  int64_t count = cast<MemRefType>(squares.getType()).getDimSize(0);
  Type real = k.getF64Type();
  k.parallel(k.index(count), {}, [&](Value parameter, ValueRange) {
    auto place = [&](int64_t which) -> Value {
      return arith::IndexCastOp::create(
          k, k.getIndexType(), k.load(ranges, {parameter, k.index(which)}));
    };
    Value first = place(0), length = place(1);
    k.store(k.real(real, 0.0), squares, parameter);
    k.loop(k.index(0), length, numerics::kSquaresBlock, [&](Value block) {
      Value size =
          k.min(k.index(numerics::kSquaresBlock), k.sub(length, block));
      Value start = k.add(first, block);
      Value sum =
          k.reduce(size, tile::Combine::add, real, [&](Value i) -> Value {
            Value x = k.loadAs(real, vector, k.add(start, i));
            return k.mul(x, x);
          });
      k.store(k.add(k.load(squares, parameter), sum), squares, parameter);
    });
  });
}

//===----------------------------------------------------------------------===//
// Elements by their tensors, whose names random numbers have
//===----------------------------------------------------------------------===//

DenseElementsAttr hone::parameterChunks(ArrayRef<Parameter> parameters,
                                        int64_t most, MLIRContext *context) {
  SmallVector<int64_t> rows;
  for (const Parameter &parameter : parameters) {
    int64_t start = parameter.offset - parameters.front().offset;
    int64_t elements = parameter.type.getNumElements();
    auto hash = [&](rt::RandomPurpose purpose) {
      return static_cast<int64_t>(rt::hashStream(purpose, parameter.name));
    };
    for (int64_t first = 0; first < elements; first += most)
      rows.append({start + first, std::min(most, elements - first), first,
                   hash(rt::RandomPurpose::Round),
                   hash(rt::RandomPurpose::Perturb),
                   int64_t(parameter.hasRateOfB())});
  }
  auto type = RankedTensorType::get({static_cast<int64_t>(rows.size()) / 6, 6},
                                    IntegerType::get(context, 64));
  return DenseElementsAttr::get(type, ArrayRef(rows));
}

namespace {
/// A row of parameterChunks().
struct ParameterChunk {
  Value first, count, inTensor; ///< index
  Value round, perturb;         ///< i64: what names the streams
  Value hasRateOfB;             ///< i64: not 0
};
} // namespace

/// Runs the body for each chunk, in parallel.
static void forEachChunk(KernelBuilder &k, Value chunks,
                         ArrayRef<MemRefType> scratch,
                         function_ref<void(ParameterChunk, ValueRange)> body) {
  int64_t count = cast<MemRefType>(chunks.getType()).getDimSize(0);
  k.parallel(k.index(count), scratch, [&](Value chunk, ValueRange buffers) {
    auto place = [&](int64_t at) {
      return k.loadIndex(chunks, {chunk, k.index(at)});
    };
    auto word = [&](int64_t at) {
      return k.load(chunks, {chunk, k.index(at)});
    };
    body({place(0), place(1), place(2), word(3), word(4), word(5)}, buffers);
  });
}

/// The words of a hone random key.
static RandomKey keyWords(KernelBuilder &k, Value key) {
  auto word = [&](int64_t at) { return k.load(key, k.index(at)); };
  return {word(0), word(1), word(2), word(3)};
}

namespace {
/// The gradient that is a sum of random directions, one chunk at a time.
class Directions {
public:
  /// `key` and `coefficients`: see hone.estimate_gradient.
  Directions(KernelBuilder &k, Value key, Value coefficients)
      : k(k), key(key), coefficients(coefficients) {}

  MemRefType scratch() const {
    return MemRefType::get(k.blocks().parameterElements, k.getF64Type());
  }
  /// Adds up in `sums`, a scratch(). Directions are added in their order.
  void sum(const ParameterChunk &chunk, Value sums) const;

private:
  KernelBuilder &k;
  Value key, coefficients;
};
} // namespace

void Directions::sum(const ParameterChunk &chunk, Value sums) const {
  Type real = k.getF64Type(), word = k.getI32Type();
  k.map(chunk.count,
        [&](ValueRange j) { k.store(k.real(real, 0.0), sums, j[0]); });
  int64_t count = cast<MemRefType>(coefficients.getType()).getDimSize(0);
  auto [seed0, seed1, step0, step1] = keyWords(k, key);
  k.loop(k.index(0), k.index(count), 1,
         [&, &seed0 = seed0, &seed1 = seed1, &step0 = step0,
          &step1 = step1](Value direction) {
           Value probe = arith::ShLIOp::create(
               k, arith::IndexCastOp::create(k, word, direction),
               arith::ConstantOp::create(
                   k, k.getIntegerAttr(word, rt::RandomStream::probeShift)));
           RandomKey stream = streamKey(
               k, {seed0, seed1, step0, arith::OrIOp::create(k, step1, probe)},
               chunk.perturb);
           Value coefficient = k.loadAs(real, coefficients, direction);
           k.map(chunk.count, [&](ValueRange j) {
             Value z = randomNormal(k, stream, k.add(chunk.inTensor, j[0]));
             k.store(k.add(k.load(sums, j[0]), k.mul(coefficient, z)), sums,
                     j[0]);
           });
         });
}

void hone::emitEstimate(EstimateGradientOp op, Value gradient, Value chunks,
                        KernelBuilder &k) {
  Directions directions(k, k.buffer(op.getKey()),
                        k.buffer(op.getCoefficients()));
  forEachChunk(k, chunks, directions.scratch(),
               [&](ParameterChunk chunk, ValueRange scratch) {
                 directions.sum(chunk, scratch[0]);
                 Value scale;
                 if (op.getScale())
                   scale = k.load(k.buffer(op.getScale()), {});
                 k.map(chunk.count, [&](ValueRange j) {
                   Value sum = k.load(scratch[0], j[0]);
                   k.store(scale ? k.mul(scale, sum) : sum, gradient,
                           k.add(chunk.first, j[0]));
                 });
               });
}

/// A carry out of the 16 bits that bfloat16 lacks, after a random number was
/// added to them, is as probable as they are large.
static Value roundToBfloat16(Value value, Value random, KernelBuilder &k) {
  Type word = k.getI32Type();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(k, k.getIntegerAttr(word, number));
  };
  Value bits = arith::BitcastOp::create(k, word, value);
  Value added = arith::AddIOp::create(
      k, bits, arith::ShRUIOp::create(k, random, constant(16)));
  // A NaN must not become a number, nor infinity a NaN.
  Value exponent = arith::AndIOp::create(k, bits, constant(0x7f800000));
  Value isFinite = arith::CmpIOp::create(k, arith::CmpIPredicate::ne, exponent,
                                         constant(0x7f800000));
  Value chosen = arith::SelectOp::create(k, isFinite, added, bits);
  Value upper = arith::TruncIOp::create(
      k, k.getIntegerType(16), arith::ShRUIOp::create(k, chosen, constant(16)));
  return arith::BitcastOp::create(k, k.getBF16Type(), upper);
}

//===----------------------------------------------------------------------===//
// Optimizer steps
//===----------------------------------------------------------------------===//

/// The new element of theta for the old one and the gradient there, at place
/// `i` of the vectors.
using Rule = llvm::unique_function<Value(Value theta, Value gradient, Value i)>;

/// The type that an update computes in: of bfloat16, float32.
static Type elementOf(const UpdateVectors &vectors) {
  return computeType(
      cast<MemRefType>(vectors.theta.getType()).getElementType());
}

/// Replaces each element of theta by what a rule makes of it. `makeRule` emits
/// what the rule's elements share, for a chunk of them with that learning rate.
template <typename UpdateOp>
static void updateTheta(UpdateOp op, const UpdateVectors &vectors,
                        KernelBuilder &k,
                        function_ref<Rule(Value rate)> makeRule) {
  Type element = elementOf(vectors);
  auto scalar = [&](Value value) { return k.load(k.buffer(value), {}); };
  Rule rule;
  auto updated = [&](Value gradient, Value i) {
    return rule(k.loadAs(element, vectors.theta, i), gradient, i);
  };
  if (!vectors.chunks)
    return forEachElement(
        k, vectors.theta,
        [&] { rule = makeRule(scalar(op.getLearningRate())); },
        [&](Value i) {
          k.store(updated(k.load(vectors.gradient, i), i), vectors.theta, i);
        });
  std::optional<Directions> directions;
  SmallVector<MemRefType> scratch;
  if (op.getCoefficients()) {
    directions.emplace(k, k.buffer(op.getKey()),
                       k.buffer(op.getCoefficients()));
    scratch.push_back(directions->scratch());
  }
  forEachChunk(
      k, vectors.chunks, scratch, [&](ParameterChunk chunk, ValueRange sums) {
        if (directions)
          directions->sum(chunk, sums[0]);
        Value rate = scalar(op.getLearningRate());
        if (op.getRateOfB())
          rate = arith::SelectOp::create(
              k, arith::TruncIOp::create(k, k.getI1Type(), chunk.hasRateOfB),
              scalar(op.getRateOfB()), rate);
        rule = makeRule(rate);
        RandomKey rounding;
        if (op.getRounding())
          rounding = streamKey(k, keyWords(k, k.buffer(op.getRounding())),
                               chunk.round);
        k.map(chunk.count, [&](ValueRange j) {
          Value i = k.add(chunk.first, j[0]);
          Value gradient = directions
                               ? k.convert(element, k.load(sums[0], j[0]))
                               : k.load(vectors.gradient, i);
          Value value = updated(gradient, i);
          if (op.getRounding())
            value = roundToBfloat16(
                value, randomWord(k, rounding, k.add(chunk.inTensor, j[0])), k);
          k.store(value, vectors.theta, i);
        });
      });
}

void hone::emitUpdate(SgdOp op, const UpdateVectors &vectors,
                      KernelBuilder &k) {
  Type element = elementOf(vectors);
  auto scalar = [&](Value value) {
    return k.loadAs(element, k.buffer(value), {});
  };
  updateTheta(op, vectors, k, [&](Value rate) -> Rule {
    Value gradientScale = scalar(op.getGradientScale());
    Value learningRate = k.convert(element, rate);
    Value decay = scalar(op.getWeightDecay());
    Value momentum = op.getMomentum() ? scalar(op.getMomentum()) : Value();
    return [=, &k, &vectors](Value theta, Value gradient, Value i) {
      Value step = k.add(k.mul(gradientScale, gradient), k.mul(decay, theta));
      if (momentum) {
        step = k.add(k.mul(momentum, k.load(vectors.state[0], i)), step);
        k.store(step, vectors.state[0], i);
      }
      return k.sub(theta, k.mul(learningRate, step));
    };
  });
}

void hone::emitUpdate(AdamwOp op, const UpdateVectors &vectors,
                      KernelBuilder &k) {
  Type element = elementOf(vectors);
  auto scalar = [&](Value value) { return k.load(k.buffer(value), {}); };
  auto rounded = [&](Value value) { return k.convert(element, value); };
  updateTheta(op, vectors, k, [&](Value rate) -> Rule {
    Value one = k.real(k.getF64Type(), 1.0);
    Value beta1 = scalar(op.getBeta1()), beta2 = scalar(op.getBeta2());

    Value gradientScale = rounded(scalar(op.getGradientScale()));
    Value keep = rounded(k.sub(one, k.mul(rate, scalar(op.getWeightDecay()))));
    Value keepFirst = rounded(beta1), addFirst = rounded(k.sub(one, beta1));
    Value keepSecond = rounded(beta2), addSecond = rounded(k.sub(one, beta2));
    Value step = rounded(k.div(rate, scalar(op.getBiasCorrection1())));
    Value correction = rounded(scalar(op.getBiasCorrection2()));
    Value epsilon = rounded(scalar(op.getEpsilon()));
    return [=, &k, &vectors](Value theta, Value gradient, Value i) {
      Value g = k.mul(gradientScale, gradient);
      Value first = k.add(k.mul(keepFirst, k.load(vectors.state[0], i)),
                          k.mul(addFirst, g));
      Value second = k.add(k.mul(keepSecond, k.load(vectors.state[1], i)),
                           k.mul(addSecond, k.mul(g, g)));
      k.store(first, vectors.state[0], i);
      k.store(second, vectors.state[1], i);
      Value root = math::SqrtOp::create(k, k.div(second, correction));
      Value change = k.div(k.mul(step, first), k.add(root, epsilon));
      return k.sub(k.mul(theta, keep), change);
    };
  });
}
