//===- MemoryPlaces.cpp - Which buffers are the same memory ---------------===//
//
// Arena, batch, working set and weights are apart from each other: an entry's
// working set holds nothing that outlives it, and the batch comes from outside.
// Values that an entry is called with may be anything but its working set.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/MemoryPlaces.h"

#include "dialects/Tile/PlacedMemory.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::simt;

static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// `combine` in each placement. Lists of different programs are not compared:
/// the result is everything.
template <typename Combine>
static ByteRanges combined(const ByteRanges &a, const ByteRanges &b,
                           Combine combine) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
    return {{0, kEnd}};
  ByteRanges all;
  for (size_t i = 0, count = std::max(a.size(), b.size()); i < count; ++i)
    all.push_back(combine(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return all;
}

/// Whether `holds` for both in any placement.
template <typename Predicate>
static bool inAnyPlacement(const ByteRanges &a, const ByteRanges &b,
                           Predicate holds) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
    return true;
  for (size_t i = 0, count = std::max(a.size(), b.size()); i < count; ++i)
    if (holds(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]))
      return true;
  return false;
}

static bool meet(const ByteRanges &a, const ByteRanges &b) {
  return inAnyPlacement(a, b, [](ByteRange x, ByteRange y) {
    return x.begin < y.end && y.begin < x.end;
  });
}

bool MemoryPlace::covers(const MemoryPlace &other) const {
  return root == other.root &&
         !inAnyPlacement(ranges, other.ranges, [](ByteRange x, ByteRange y) {
           return x.begin > y.begin || x.end < y.end;
         });
}

/// `inner`, which counts from the start of `outer`, from where `outer` does.
static ByteRanges within(const ByteRanges &outer, const ByteRanges &inner) {
  return combined(outer, inner, [](ByteRange out, ByteRange in) {
    return ByteRange{out.begin + in.begin,
                     in.end == kEnd ? out.end
                                    : std::min(out.end, out.begin + in.end)};
  });
}

/// `ranges`, if their base is at one of `offsets`.
static ByteRanges shifted(const ByteRanges &offsets, const ByteRanges &ranges) {
  return combined(offsets, ranges, [](ByteRange offset, ByteRange range) {
    return ByteRange{offset.begin + range.begin,
                     range.end == kEnd ? kEnd : offset.end + range.end};
  });
}

/// All bytes of a buffer; memory has no end but that of its placement.
static ByteRanges wholeOf(Value memory) {
  auto buffer = dyn_cast<MemRefType>(memory.getType());
  int64_t end =
      buffer ? llvm::divideCeil(
                   buffer.getNumElements() * buffer.getElementTypeBitWidth(), 8)
             : kEnd;
  Operation *view = memory.getDefiningOp<tile::ViewOp>();
  auto placed =
      view ? view->getAttrOfType<DenseI64ArrayAttr>(tile::kPlacedBytesAttrName)
           : DenseI64ArrayAttr();
  if (!placed || placed.empty())
    return {{0, end}};
  ByteRanges ranges;
  for (int64_t bytes : placed.asArrayRef())
    ranges.push_back({0, std::min(end, bytes)});
  return ranges;
}

/// The least and the largest that `offset` can be in each placement, if that is
/// known.
static std::optional<ByteRanges> offsetsOf(Value offset) {
  APInt constant;
  if (matchPattern(offset, m_ConstantInt(&constant)))
    return ByteRanges{{constant.getSExtValue(), constant.getSExtValue()}};
  Operation *op = offset.getDefiningOp();
  if (isa_and_present<tile::OffsetOp>(op)) {
    auto placed =
        op->getAttrOfType<DenseI64ArrayAttr>(tile::kPlacedOffsetsAttrName);
    if (!placed || placed.empty())
      return std::nullopt;
    ByteRanges offsets;
    for (int64_t bytes : placed.asArrayRef())
      offsets.push_back({bytes, bytes});
    return offsets;
  }
  if (!isa_and_present<arith::AddIOp, arith::SelectOp>(op))
    return std::nullopt;
  auto a = offsetsOf(op->getOperand(op->getNumOperands() - 2)),
       b = offsetsOf(op->getOperand(op->getNumOperands() - 1));
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return shifted(*a, *b);
  return combined(*a, *b, [](ByteRange x, ByteRange y) {
    return ByteRange{std::min(x.begin, y.begin), std::max(x.end, y.end)};
  });
}

static bool isOne(const ByteRanges &offsets) {
  return llvm::all_of(
      offsets, [](ByteRange offset) { return offset.begin == offset.end; });
}

MemoryPlaces::MemoryPlaces(ModuleOp module) {
  SymbolTable symbols(module);
  module.walk([&](func::CallOp call) {
    if (Operation *callee = symbols.lookup(call.getCallee()))
      callsOf[callee].push_back(call);
  });
}

MemoryPlace MemoryPlaces::of(Value memory) {
  auto view = memory.getDefiningOp<tile::ViewOp>();
  auto offsets = view ? offsetsOf(view.getByteOffset()) : std::nullopt;
  if (!offsets || !isOne(*offsets))
    return {memory, wholeOf(memory)};
  MemoryPlace base = of(view.getBase());
  return {base.root, within(base.ranges, shifted(*offsets, wholeOf(memory)))};
}

std::optional<MemoryPlace> MemoryPlaces::around(const MemoryPlace &place) {
  auto view = place.root.getDefiningOp<tile::ViewOp>();
  if (!view)
    return std::nullopt;
  MemoryPlace base = of(view.getBase());
  if (auto offsets = offsetsOf(view.getByteOffset()))
    base.ranges = within(base.ranges, shifted(*offsets, place.ranges));
  return base;
}

/// Whether two places of an entry may have a byte in common.
static bool mayOverlapInEntry(const MemoryPlace &a, const MemoryPlace &b) {
  if (a.root == b.root)
    return meet(a.ranges, b.ranges);
  if (auto outer = MemoryPlaces::around(a))
    return mayOverlapInEntry(*outer, b);
  if (auto outer = MemoryPlaces::around(b))
    return mayOverlapInEntry(a, *outer);
  Operation *x = a.root.getDefiningOp(), *y = b.root.getDefiningOp();
  if (!x || !y)
    return true;
  if (x->getName() != y->getName())
    return false;
  if (auto base = dyn_cast<tile::BaseOp>(x))
    return base.getBase() == cast<tile::BaseOp>(y).getBase() &&
           meet(a.ranges, b.ranges);
  return isa<tile::ArgumentOp>(x) ||
         (isa<tile::WeightOp, memref::GetGlobalOp>(x)
              ? x->getAttrs() == y->getAttrs()
              : true);
}

bool MemoryPlaces::mayOverlap(const MemoryPlace &a,
                              const MemoryPlace &b) const {
  if (a.root == b.root)
    return mayOverlapInEntry(a, b);
  if (auto outer = around(a))
    return mayOverlap(*outer, b);
  if (auto outer = around(b))
    return mayOverlap(a, *outer);
  auto argumentOf = [](const MemoryPlace &place) {
    auto argument = dyn_cast<BlockArgument>(place.root);
    return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())
               ? argument
               : BlockArgument();
  };
  BlockArgument first = argumentOf(a), second = argumentOf(b);
  if (!first && !second)
    return mayOverlapInEntry(a, b);
  Operation *function = (first ? first : second).getOwner()->getParentOp();
  auto calls = callsOf.find(function);
  if (calls == callsOf.end())
    return true;
  return llvm::any_of(calls->second, [&](func::CallOp call) {
    auto inCaller = [&](const MemoryPlace &place, BlockArgument argument) {
      if (!argument)
        return place;
      MemoryPlace given = of(call.getOperand(argument.getArgNumber()));
      given.ranges = within(given.ranges, place.ranges);
      return given;
    };
    return mayOverlapInEntry(inCaller(a, first), inCaller(b, second));
  });
}
