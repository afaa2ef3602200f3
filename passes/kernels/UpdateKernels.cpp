//===- UpdateKernels.cpp - Gradient sums and optimizer steps --------------===//
//
// Most updates run over flat vectors, element by element: no element changes a
// bit of another one. Factors that are the same for every element are computed
// in double and rounded once to the parameters' type.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/StateCodes.h"
#include "passes/kernels/ThetaUpdate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

/// Makes the values that all elements of a chunk need, inside of the loop over
/// chunks; may be null.
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
  // A coded state gets zero bytes, as where a run starts.
  Type element = cast<MemRefType>(to.getType()).getElementType();
  Value zero = arith::ConstantOp::create(
      k, cast<TypedAttr>(Builder(element.getContext()).getZeroAttr(element)));
  forEachElement(k, to, nullptr, [&](Value i) { k.store(zero, to, i); });
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
// Optimizer steps
//===----------------------------------------------------------------------===//

/// The new element of theta.
using Rule = llvm::unique_function<Value(const UpdateElement &)>;

/// Replaces each element of theta by a rule's result. `makeRule` emits the
/// values that elements share, for a chunk of them with that learning rate.
static void updateElements(UpdateOpInterface op, const ThetaUpdate &update,
                           function_ref<Rule(Value rate)> makeRule) {
  KernelBuilder &k = update.k;
  Rule rule;
  auto replace = [&](const UpdateElement &at) { update.write(at, rule(at)); };
  if (!update.vectors.chunks)
    return forEachElement(
        k, update.vectors.theta,
        [&] { rule = makeRule(update.number(op.getLearningRate())); },
        [&](Value i) { replace(update.read(i)); });
  update.forEachChunk({}, [&](const UpdateChunk &chunk, ValueRange) {
    rule = makeRule(chunk.rate);
    k.map(chunk.at.count,
          [&](ValueRange j) { replace(update.read(chunk, j[0])); });
  });
}

static void emitRule(SgdOp op, const ThetaUpdate &update) {
  KernelBuilder &k = update.k;
  auto scalar = [&](Value operand) {
    return update.rounded(update.number(operand));
  };
  updateElements(op, update, [&](Value rate) -> Rule {
    Value gradientScale = scalar(op.getGradientScale());
    Value learningRate = update.rounded(rate);
    Value decay = scalar(op.getWeightDecay());
    Value momentum = op.getMomentum() ? scalar(op.getMomentum()) : Value();
    return [=, &k, &update](const UpdateElement &at) {
      Value step =
          k.add(k.mul(gradientScale, at.gradient), k.mul(decay, at.theta));
      if (momentum) {
        step = k.add(k.mul(momentum, update.recall(at, 0)), step);
        update.remember(at, 0, step);
      }
      return k.sub(at.theta, k.mul(learningRate, step));
    };
  });
}

static void emitRule(LionOp op, const ThetaUpdate &update) {
  KernelBuilder &k = update.k;
  updateElements(op, update, [&](Value rate) -> Rule {
    Value one = k.real(k.getF64Type(), 1.0);
    Value beta1 = update.number(op.getBeta1());
    Value beta2 = update.number(op.getBeta2());
    Value gradientScale = update.rounded(update.number(op.getGradientScale()));
    Value keep = update.rounded(
        k.sub(one, k.mul(rate, update.number(op.getWeightDecay()))));
    Value learningRate = update.rounded(rate);
    Value keepInSum = update.rounded(beta1);
    Value addInSum = update.rounded(k.sub(one, beta1));
    Value keepFirst = update.rounded(beta2);
    Value addFirst = update.rounded(k.sub(one, beta2));
    return [=, &k, &update](const UpdateElement &at) {
      Value g = k.mul(gradientScale, at.gradient);
      Value before = update.recall(at, 0);
      Value sum = k.add(k.mul(keepInSum, before), k.mul(addInSum, g));
      update.remember(at, 0,
                      k.add(k.mul(keepFirst, before), k.mul(addFirst, g)));
      // Zero stays zero, and NaN must be seen.
      Value zero = k.real(update.element, 0.0);
      auto chosen = [&](arith::CmpFPredicate is, double sign, Value otherwise) {
        return arith::SelectOp::create(k,
                                       arith::CmpFOp::create(k, is, sum, zero),
                                       k.real(update.element, sign), otherwise);
      };
      Value sign = chosen(arith::CmpFPredicate::OGT, 1,
                          chosen(arith::CmpFPredicate::OLT, -1, sum));
      return k.sub(k.mul(at.theta, keep), k.mul(learningRate, sign));
    };
  });
}

namespace {
/// AdamW, of moments that are wherever they are.
class AdamwRule {
public:
  template <typename UpdateOp>
  AdamwRule(UpdateOp op, const ThetaUpdate &update, Value rate) : k(update.k) {
    Value one = k.real(k.getF64Type(), 1.0);
    auto rounded = [&](Value value) { return update.rounded(value); };
    Value beta1 = update.number(op.getBeta1());
    Value beta2 = update.number(op.getBeta2());
    gradientScale = rounded(update.number(op.getGradientScale()));
    keep = rounded(k.sub(one, k.mul(rate, update.number(op.getWeightDecay()))));
    keepFirst = rounded(beta1);
    addFirst = rounded(k.sub(one, beta1));
    keepSecond = rounded(beta2);
    addSecond = rounded(k.sub(one, beta2));
    step = rounded(k.div(rate, update.number(op.getBiasCorrection1())));
    correction = rounded(update.number(op.getBiasCorrection2()));
    epsilon = rounded(update.number(op.getEpsilon()));
  }

  /// The new theta; the moments become the new ones.
  Value apply(const UpdateElement &at, Value &first, Value &second) const {
    Value g = k.mul(gradientScale, at.gradient);
    first = k.add(k.mul(keepFirst, first), k.mul(addFirst, g));
    second = k.add(k.mul(keepSecond, second), k.mul(addSecond, k.mul(g, g)));
    Value root = math::SqrtOp::create(k, k.div(second, correction));
    Value change = k.div(k.mul(step, first), k.add(root, epsilon));
    return k.sub(k.mul(at.theta, keep), change);
  }

private:
  KernelBuilder &k;
  Value gradientScale, keep, keepFirst, addFirst, keepSecond, addSecond, step,
      correction, epsilon;
};
} // namespace

static void emitRule(AdamwOp op, const ThetaUpdate &update) {
  updateElements(op, update, [&](Value rate) -> Rule {
    return
        [rule = AdamwRule(op, update, rate), &update](const UpdateElement &at) {
          Value first = update.recall(at, 0), second = update.recall(at, 1);
          Value theta = rule.apply(at, first, second);
          update.remember(at, 0, first);
          update.remember(at, 1, second);
          return theta;
        };
  });
}

namespace {
/// Moments as bytes, a block at a time. See hone.adamw_coded.
class CodedMoment {
public:
  CodedMoment(const ThetaUpdate &update, bool isSigned, Value codes,
              Value largest)
      : k(update.k), element(update.element), isSigned(isSigned), codes(codes),
        largest(largest) {
    StateCode code = dynamicStateCode(isSigned);
    auto table = [&](StringRef name, ArrayRef<float> content) {
      auto type = RankedTensorType::get(256, k.getF32Type());
      return k.table(name, DenseElementsAttr::get(type, content));
    };
    values = table("state_codes", code.values);
    bounds = table("state_code_bounds", code.bounds);
  }

  MemRefType scratch() const {
    return MemRefType::get(numerics::kStateBlock, element);
  }

  /// Writes the moments of `count` elements from `first` on, those of `block`,
  /// to `to`.
  void decode(Value block, Value first, Value count, Value to) const {
    Value scale = k.load(largest, block);
    k.map(count, [&](ValueRange j) {
      Value code = arith::IndexCastUIOp::create(
          k, k.getIndexType(), k.load(codes, k.add(first, j[0])));
      k.store(k.mul(k.loadAs(element, values, code), scale), to, j[0]);
    });
  }

  /// Writes the codes and the scale that decode() reads.
  void encode(Value block, Value first, Value count, Value from) const {
    Value scale =
        k.reduce(count, tile::Combine::max, element, [&](Value j) -> Value {
          Value moment = k.load(from, j);
          return isSigned ? Value(math::AbsFOp::create(k, moment)) : moment;
        });
    k.store(scale, largest, block);
    Value zero = k.real(element, 0.0);
    Value isZero =
        arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, scale, zero);
    k.map(count, [&](ValueRange j) {
      Value ratio = arith::SelectOp::create(k, isZero, zero,
                                            k.div(k.load(from, j[0]), scale));
      Value code =
          arith::IndexCastUIOp::create(k, k.getI8Type(), search(ratio));
      k.store(code, codes, k.add(first, j[0]));
    });
  }

private:
  /// The number of bounds that `ratio` is above, by halving.
  Value search(Value ratio) const {
    Value code = k.index(0);
    for (int64_t half = 128; half > 0; half /= 2) {
      Value bound = k.loadAs(element, bounds, k.add(code, k.index(half - 1)));
      Value isAbove =
          arith::CmpFOp::create(k, arith::CmpFPredicate::OGT, ratio, bound);
      code =
          arith::SelectOp::create(k, isAbove, k.add(code, k.index(half)), code);
    }
    return code;
  }

  KernelBuilder &k;
  Type element;
  bool isSigned;
  Value codes, largest, values, bounds;
};
} // namespace

static void emitRule(AdamwCodedOp op, const ThetaUpdate &update) {
  KernelBuilder &k = update.k;
  ArrayRef<Value> state = update.vectors.state;
  const CodedMoment moments[] = {
      {update, /*isSigned=*/true, state[0], state[2]},
      {update, /*isSigned=*/false, state[1], state[3]}};
  MemRefType scratch[] = {moments[0].scratch(), moments[1].scratch()};
  update.forEachChunk(scratch, [&](const UpdateChunk &chunk, ValueRange now) {
    const AdamwRule rule(op, update, chunk.rate);
    k.loop(k.index(0), chunk.at.count, numerics::kStateBlock, [&](Value start) {
      Value inBlock = k.index(numerics::kStateBlock);
      Value block = k.add(chunk.at.block, k.div(start, inBlock));
      Value first = k.add(chunk.at.first, start);
      Value count = k.min(inBlock, k.sub(chunk.at.count, start));
      for (auto [moment, own] : llvm::zip_equal(moments, now))
        moment.decode(block, first, count, own);
      k.map(count, [&](ValueRange j) {
        UpdateElement at = update.read(chunk, k.add(start, j[0]));
        Value m = k.load(now[0], j[0]), v = k.load(now[1], j[0]);
        Value theta = rule.apply(at, m, v);
        k.store(m, now[0], j[0]);
        k.store(v, now[1], j[0]);
        update.write(at, theta);
      });
      for (auto [moment, own] : llvm::zip_equal(moments, now))
        moment.encode(block, first, count, own);
    });
  });
}

void hone::emitUpdate(UpdateOpInterface op, const UpdateVectors &vectors,
                      KernelBuilder &k) {
  const ThetaUpdate update(op, vectors, k);
  llvm::TypeSwitch<Operation *>(op)
      .Case<SgdOp, AdamwOp, AdamwCodedOp, LionOp>(
          [&](auto rule) { emitRule(rule, update); })
      .Case<AdafactorOp, SinkgdOp>(
          [&](auto rule) { emitTensorRule(rule, update); })
      .DefaultUnreachable("every update has a kernel");
}
