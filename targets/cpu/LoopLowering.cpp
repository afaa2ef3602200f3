//===- LoopLowering.cpp - tile.each, tile.map and tile.reduce become loops ===//
//
// Whole vectors first, then the rest. Where the bound is a constant multiple
// of the lanes there is no rest and no code for it.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/LoopLowering.h"

#include "dialects/Tile/ScalarBuilder.h"
#include "targets/cpu/LoopWidening.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hone;

namespace {

/// [0, bound) cut into whole vectors and a rest.
struct VectorRange {
  Value zero, step, whole, bound;
  bool hasRest;
};

} // namespace

static VectorRange cutRange(OpBuilder &b, Location loc, Value bound,
                            unsigned lanes) {
  VectorRange range;
  range.zero = arith::ConstantIndexOp::create(b, loc, 0);
  range.step = arith::ConstantIndexOp::create(b, loc, lanes);
  range.bound = bound;
  APInt known;
  if (matchPattern(bound, m_ConstantInt(&known))) {
    int64_t rest = known.getSExtValue() % lanes;
    range.whole =
        arith::ConstantIndexOp::create(b, loc, known.getSExtValue() - rest);
    range.hasRest = rest != 0;
    return range;
  }
  Value rest = arith::RemUIOp::create(b, loc, bound, range.step);
  range.whole = arith::SubIOp::create(b, loc, bound, rest);
  range.hasRest = true;
  return range;
}

/// True in the lanes that `range`'s rest has.
static Value restMask(OpBuilder &b, Location loc, const VectorRange &range,
                      unsigned lanes) {
  Value rest = arith::SubIOp::create(b, loc, range.bound, range.whole);
  return vector::CreateMaskOp::create(
      b, loc, VectorType::get(lanes, b.getI1Type()), rest);
}

static void cloneBody(OpBuilder &b, Block &body, IRMapping &mapping) {
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

static void lowerInnerMap(OpBuilder &b, tile::MapOp op, IRMapping &mapping,
                          const CpuDescription &cpu) {
  Location loc = op.getLoc();
  Block &body = *op.getBody();
  Value iv = body.getArguments().back();
  Value bound = op.getBounds().back();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);

  auto emitScalarLoop = [&](Value lower) {
    auto loop = scf::ForOp::create(b, loc, lower, bound, one);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    mapping.map(iv, loop.getInductionVar());
    cloneBody(inner, body, mapping);
  };

  LaneAnalysis analysis(body, iv, /*perLane=*/{}, /*mayGather=*/true);
  if (!analysis.canWiden())
    return emitScalarLoop(arith::ConstantIndexOp::create(b, loc, 0));

  unsigned lanes = cpu.lanes(analysis.elementBits());
  BodyWidener widener(body, iv, analysis, lanes);
  VectorRange range = cutRange(b, loc, bound, lanes);
  IRMapping shared = mapping;
  widener.emitUniform(b, shared);
  auto loop = scf::ForOp::create(b, loc, range.zero, range.whole, range.step);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  widener.emitWide(inner, shared, loop.getInductionVar(), /*mask=*/{});
  if (!range.hasRest)
    return;
  if (!cpu.maskedMemory)
    return emitScalarLoop(range.whole);
  Value isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       range.whole, bound);
  auto guard = scf::IfOp::create(b, loc, isRest, /*withElseRegion=*/false);
  OpBuilder rest = guard.getThenBodyBuilder();
  widener.emitWide(rest, shared, range.whole,
                   restMask(rest, loc, range, lanes));
}

void hone::lowerMap(tile::MapOp op, const CpuDescription &cpu) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  IRMapping mapping;
  if (op.getBounds().size() == 2) {
    auto outer = scf::ForOp::create(
        b, loc, arith::ConstantIndexOp::create(b, loc, 0),
        op.getBounds().front(), arith::ConstantIndexOp::create(b, loc, 1));
    b.setInsertionPointToStart(outer.getBody());
    mapping.map(op.getBody()->getArgument(0), outer.getInductionVar());
  }
  lowerInnerMap(b, op, mapping, cpu);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Each
//===----------------------------------------------------------------------===//

void hone::lowerEach(tile::EachOp op) {
  ScalarBuilder(op.getLoc(), op).overBox(op.getBounds(), *op.getBody());
  op.erase();
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

static Value combine(OpBuilder &b, Location loc, tile::Combine kind, Value x,
                     Value y) {
  switch (kind) {
  case tile::Combine::add:
    return arith::AddFOp::create(b, loc, x, y);
  case tile::Combine::max:
    return arith::MaximumFOp::create(b, loc, x, y);
  }
  llvm_unreachable("all combinations are handled");
}

static Value identity(OpBuilder &b, Location loc, tile::Combine kind,
                      Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  APFloat value = kind == tile::Combine::add
                      ? APFloat::getZero(semantics)
                      : APFloat::getInf(semantics, /*Negative=*/true);
  TypedAttr attribute = b.getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, loc, type, attribute);
}

Value hone::joinLanes(OpBuilder &b, Location loc, tile::Combine kind,
                      Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  for (; lanes > 1; lanes /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, lanes / 2));
    auto high = llvm::to_vector(llvm::seq<int64_t>(lanes / 2, lanes));
    vector = combine(b, loc, kind,
                     vector::ShuffleOp::create(b, loc, vector, vector, low),
                     vector::ShuffleOp::create(b, loc, vector, vector, high));
  }
  return vector::ExtractOp::create(b, loc, vector, int64_t(0));
}

/// A maximum is the same in any order, and one chain of them waits for itself.
static constexpr unsigned kMaximumChains = 4;

namespace {

/// Carries one accumulator for each result through the loops, and of maxima a
/// few.
class ReduceLowering {
public:
  ReduceLowering(tile::ReduceOp op, const CpuDescription &cpu)
      : op(op), cpu(cpu), loc(op.getLoc()), body(*op.getBody()),
        iv(body.getArgument(0)) {
    for (auto kind : op.getCombine().getAsRange<tile::CombineAttr>())
      kinds.push_back(kind.getValue());
  }

  void lower();

private:
  SmallVector<Value> identities(OpBuilder &b, function_ref<Type(Type)> shape) {
    SmallVector<Value> values;
    for (auto [kind, type] : llvm::zip(kinds, op.getResultTypes()))
      values.push_back(identity(b, loc, kind, shape(type)));
    return values;
  }
  SmallVector<Value> combineAll(OpBuilder &b, ValueRange x, ValueRange y) {
    SmallVector<Value> values;
    for (auto [kind, left, right] : llvm::zip(kinds, x, y))
      values.push_back(combine(b, loc, kind, left, right));
    return values;
  }
  SmallVector<Value> scalarLoop(OpBuilder &b, Value lower);
  std::pair<Value, SmallVector<Value>>
  maximumChains(OpBuilder &b, BodyWidener &widener, const VectorRange &range,
                const IRMapping &shared, unsigned lanes, ValueRange start);
  SmallVector<Value> wideLoop(OpBuilder &b, BodyWidener &widener,
                              const VectorRange &range, const IRMapping &shared,
                              unsigned lanes);

  tile::ReduceOp op;
  const CpuDescription &cpu;
  Location loc;
  Block &body;
  Value iv;
  SmallVector<tile::Combine> kinds;
};

} // namespace

SmallVector<Value> ReduceLowering::scalarLoop(OpBuilder &b, Value lower) {
  SmallVector<Value> start = identities(b, [](Type type) { return type; });
  auto loop = scf::ForOp::create(
      b, loc, lower, op.getBound(), arith::ConstantIndexOp::create(b, loc, 1),
      start, [&](OpBuilder &b, Location loc, Value j, ValueRange sums) {
        IRMapping mapping;
        mapping.map(iv, j);
        cloneBody(b, body, mapping);
        SmallVector<Value> values;
        for (Value value : body.getTerminator()->getOperands())
          values.push_back(mapping.lookupOrDefault(value));
        scf::YieldOp::create(b, loc, combineAll(b, sums, values));
      });
  return loop.getResults();
}

/// The loop over as many vectors as chains take; returns where it ends, and the
/// maxima until there.
std::pair<Value, SmallVector<Value>>
ReduceLowering::maximumChains(OpBuilder &b, BodyWidener &widener,
                              const VectorRange &range, const IRMapping &shared,
                              unsigned lanes, ValueRange start) {
  Value step = arith::ConstantIndexOp::create(b, loc, kMaximumChains * lanes);
  Value rest = arith::RemUIOp::create(b, loc, range.whole, step);
  Value end = arith::SubIOp::create(b, loc, range.whole, rest);
  SmallVector<Value> starts;
  for (unsigned chain = 0; chain < kMaximumChains; ++chain)
    llvm::append_range(starts, start);
  auto ofChain = [&](ValueRange values, unsigned chain) {
    return values.slice(chain * kinds.size(), kinds.size());
  };
  auto loop = scf::ForOp::create(
      b, loc, range.zero, end, step, starts,
      [&](OpBuilder &b, Location loc, Value j, ValueRange maxima) {
        SmallVector<Value> next;
        for (unsigned chain = 0; chain < kMaximumChains; ++chain) {
          Value lane = arith::ConstantIndexOp::create(b, loc, chain * lanes);
          Value at = arith::AddIOp::create(b, loc, j, lane);
          next.append(combineAll(b, ofChain(maxima, chain),
                                 widener.emitWide(b, shared, at, {})));
        }
        scf::YieldOp::create(b, loc, next);
      });
  SmallVector<Value> joined(start);
  for (unsigned chain = 0; chain < kMaximumChains; ++chain)
    joined = combineAll(b, joined, ofChain(loop.getResults(), chain));
  return {end, joined};
}

SmallVector<Value> ReduceLowering::wideLoop(OpBuilder &b, BodyWidener &widener,
                                            const VectorRange &range,
                                            const IRMapping &shared,
                                            unsigned lanes) {
  SmallVector<Value> start =
      identities(b, [&](Type type) { return VectorType::get(lanes, type); });
  auto [from, joined] = std::pair(range.zero, start);
  if (llvm::all_equal(kinds) && kinds.front() == tile::Combine::max)
    std::tie(from, joined) =
        maximumChains(b, widener, range, shared, lanes, start);
  auto loop = scf::ForOp::create(
      b, loc, from, range.whole, range.step, joined,
      [&](OpBuilder &b, Location loc, Value j, ValueRange sums) {
        SmallVector<Value> values = widener.emitWide(b, shared, j, {});
        scf::YieldOp::create(b, loc, combineAll(b, sums, values));
      });
  SmallVector<Value> sums(loop.getResults());
  if (!range.hasRest || !cpu.maskedMemory)
    return sums;
  Value mask = restMask(b, loc, range, lanes);
  SmallVector<Value> values = widener.emitWide(b, shared, range.whole, mask);
  for (auto [value, none] : llvm::zip(values, start))
    value = arith::SelectOp::create(b, loc, mask, value, none);
  return combineAll(b, sums, values);
}

void ReduceLowering::lower() {
  OpBuilder b(op);
  LaneAnalysis analysis(body, iv);
  SmallVector<Value> results;
  if (!analysis.canWiden()) {
    results = scalarLoop(b, arith::ConstantIndexOp::create(b, loc, 0));
  } else {
    unsigned lanes = cpu.lanes(analysis.elementBits());
    BodyWidener widener(body, iv, analysis, lanes);
    VectorRange range = cutRange(b, loc, op.getBound(), lanes);
    IRMapping shared;
    widener.emitUniform(b, shared);
    for (auto [kind, sum] :
         llvm::zip(kinds, wideLoop(b, widener, range, shared, lanes)))
      results.push_back(joinLanes(b, loc, kind, sum));
    if (range.hasRest && !cpu.maskedMemory)
      results = combineAll(b, results, scalarLoop(b, range.whole));
  }
  op.replaceAllUsesWith(results);
  op.erase();
}

void hone::lowerReduce(tile::ReduceOp op, const CpuDescription &cpu) {
  ReduceLowering(op, cpu).lower();
}
