//===- UpdateKernels.cpp - Gradient sums and optimizer steps --------------===//
//
// Updates run over flat vectors, element by element: what else is in the vector
// changes no bit. Factors that are the same for every element are computed in
// double and rounded once to the parameters' type.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

/// Elements that one iteration of an update handles.
static constexpr int64_t kUpdateChunk = 16384;

void hone::emitGradientSum(Value value, Value sink, KernelBuilder &k) {
  auto type = cast<MemRefType>(sink.getType());
  SmallVector<Value> bounds;
  for (int64_t size : type.getShape())
    bounds.push_back(k.index(size));
  k.map(bounds, [&](ValueRange at) {
    k.store(k.add(k.load(sink, at), k.load(value, at)), sink, at);
  });
}

/// Runs the body for each element of the vectors, chunks in parallel.
static void forEachParameter(KernelBuilder &k, Value vector,
                             function_ref<void(Value)> body) {
  int64_t length = cast<MemRefType>(vector.getType()).getDimSize(0);
  int64_t chunks = llvm::divideCeil(length, kUpdateChunk);
  k.parallel(k.index(chunks), {}, [&](Value chunk, ValueRange) {
    Value first = k.mul(chunk, k.index(kUpdateChunk));
    Value count = k.min(k.index(kUpdateChunk), k.sub(k.index(length), first));
    k.map(count, [&](ValueRange j) { body(k.add(first, j[0])); });
  });
}

void hone::emitZeros(Value to, KernelBuilder &k) {
  Value zero = k.real(cast<MemRefType>(to.getType()).getElementType(), 0.0);
  forEachParameter(k, to, [&](Value i) { k.store(zero, to, i); });
}

static Type elementOf(const UpdateVectors &vectors) {
  return cast<MemRefType>(vectors.theta.getType()).getElementType();
}

void hone::emitUpdate(SgdOp op, const UpdateVectors &vectors,
                      KernelBuilder &k) {
  Type element = elementOf(vectors);
  auto scalar = [&](Value value) {
    return k.loadAs(element, k.buffer(value), {});
  };
  Value gradientScale = scalar(op.getGradientScale());
  Value learningRate = scalar(op.getLearningRate());
  Value decay = scalar(op.getWeightDecay());
  Value momentum = op.getMomentum() ? scalar(op.getMomentum()) : Value();
  forEachParameter(k, vectors.theta, [&](Value i) {
    Value theta = k.load(vectors.theta, i);
    Value step = k.add(k.mul(gradientScale, k.load(vectors.gradient, i)),
                       k.mul(decay, theta));
    if (momentum) {
      step = k.add(k.mul(momentum, k.load(vectors.state[0], i)), step);
      k.store(step, vectors.state[0], i);
    }
    k.store(k.sub(theta, k.mul(learningRate, step)), vectors.theta, i);
  });
}

void hone::emitUpdate(AdamwOp op, const UpdateVectors &vectors,
                      KernelBuilder &k) {
  Type element = elementOf(vectors);
  auto scalar = [&](Value value) { return k.load(k.buffer(value), {}); };
  auto rounded = [&](Value value) { return k.convert(element, value); };
  Value one = k.real(k.getF64Type(), 1.0);
  Value rate = scalar(op.getLearningRate());
  Value beta1 = scalar(op.getBeta1()), beta2 = scalar(op.getBeta2());

  Value gradientScale = rounded(scalar(op.getGradientScale()));
  Value keep = rounded(k.sub(one, k.mul(rate, scalar(op.getWeightDecay()))));
  Value keepFirst = rounded(beta1), addFirst = rounded(k.sub(one, beta1));
  Value keepSecond = rounded(beta2), addSecond = rounded(k.sub(one, beta2));
  Value step = rounded(k.div(rate, scalar(op.getBiasCorrection1())));
  Value correction = rounded(scalar(op.getBiasCorrection2()));
  Value epsilon = rounded(scalar(op.getEpsilon()));
  forEachParameter(k, vectors.theta, [&](Value i) {
    Value g = k.mul(gradientScale, k.load(vectors.gradient, i));
    Value first = k.add(k.mul(keepFirst, k.load(vectors.state[0], i)),
                        k.mul(addFirst, g));
    Value second = k.add(k.mul(keepSecond, k.load(vectors.state[1], i)),
                         k.mul(addSecond, k.mul(g, g)));
    k.store(first, vectors.state[0], i);
    k.store(second, vectors.state[1], i);
    Value root = math::SqrtOp::create(k, k.div(second, correction));
    Value change = k.div(k.mul(step, first), k.add(root, epsilon));
    Value theta = k.mul(k.load(vectors.theta, i), keep);
    k.store(k.sub(theta, change), vectors.theta, i);
  });
}
