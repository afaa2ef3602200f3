//===- MemoryPlaces.cpp - Which buffers are the same memory ---------------===//
//
// Arena, batch, working set and weights are apart from each other: an entry's
// working set holds nothing that outlives it, and the batch is what it is
// given. Values that an entry is called with may be anything but its working
// set.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/MemoryPlaces.h"

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

/// Of a buffer; memory has no end.
static int64_t bytesOf(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  return buffer
             ? llvm::divideCeil(
                   buffer.getNumElements() * buffer.getElementTypeBitWidth(), 8)
             : kEnd;
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
  APInt offset;
  if (!view || !matchPattern(view.getByteOffset(), m_ConstantInt(&offset)))
    return {memory, 0, bytesOf(memory.getType())};
  MemoryPlace place = of(view.getBase());
  int64_t begin = place.begin + offset.getSExtValue();
  int64_t bytes = bytesOf(memory.getType());
  return {place.root, begin,
          bytes == kEnd ? place.end : std::min(place.end, begin + bytes)};
}

/// The least and the largest that `offset` can be, if it is one of two.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(Value offset) {
  auto choice = offset.getDefiningOp<arith::SelectOp>();
  APInt a, b;
  if (!choice || !matchPattern(choice.getTrueValue(), m_ConstantInt(&a)) ||
      !matchPattern(choice.getFalseValue(), m_ConstantInt(&b)))
    return std::nullopt;
  return std::minmax({a.getSExtValue(), b.getSExtValue()});
}

std::optional<MemoryPlace> MemoryPlaces::around(const MemoryPlace &place) {
  auto view = place.root.getDefiningOp<tile::ViewOp>();
  if (!view)
    return std::nullopt;
  MemoryPlace base = of(view.getBase());
  auto range = rangeOf(view.getByteOffset());
  if (!range || place.end == kEnd)
    return base;
  return MemoryPlace{
      base.root, base.begin + range->first + place.begin,
      std::min(base.end, base.begin + range->second + place.end)};
}

/// Whether two places of an entry may have a byte in common.
static bool mayOverlapInEntry(const MemoryPlace &a, const MemoryPlace &b) {
  bool meet = a.begin < b.end && b.begin < a.end;
  if (a.root == b.root)
    return meet;
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
    return base.getBase() == cast<tile::BaseOp>(y).getBase() && meet;
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
      return MemoryPlace{given.root, given.begin + place.begin,
                         place.end == kEnd
                             ? given.end
                             : std::min(given.end, given.begin + place.end)};
    };
    return mayOverlapInEntry(inCaller(a, first), inCaller(b, second));
  });
}
