//===- MergeLoops.cpp - Independent loops become one launch ---------------===//
//
// Loops that stand in one block, with nothing but numbers between them, are one
// sequence. Which of them share a launch is decided in LaunchGroups; all are
// built anew at the sequence's end, where all numbers are known.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/ScalarBuilder.h"
#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/LaunchGroups.h"
#include "targets/gpu/MemoryPlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_MERGELOOPS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using simt::MemoryPlace;
using simt::MemoryPlaces;

namespace {

/// A loop's accesses to memory that others see.
struct Accesses {
  SmallVector<MemoryPlace> reads, writes;
};

class LoopMerger {
public:
  LoopMerger(ModuleOp module, int64_t mostShared)
      : places(module), mostShared(mostShared) {}

  void merge(Block &block);

private:
  void merge(ArrayRef<tile::ParallelOp> loops, Operation *end);
  bool conflict(const std::optional<Accesses> &earlier,
                const std::optional<Accesses> &later) const;

  MemoryPlaces places;
  int64_t mostShared;
};

} // namespace

/// None: an op of `loop` does not say what it accesses.
static std::optional<Accesses> accessesOf(tile::ParallelOp loop) {
  auto effects = getEffectsRecursively(loop);
  if (!effects)
    return std::nullopt;
  Accesses found;
  auto note = [&](SmallVectorImpl<MemoryPlace> &list, Value memory) {
    auto isInside = [&](const MemoryPlace &place) {
      return loop.getRegion().isAncestor(Value(place.root).getParentRegion());
    };
    MemoryPlace place = MemoryPlaces::of(memory);
    while (isInside(place)) {
      auto outer = MemoryPlaces::around(place);
      if (!outer)
        return; // a private buffer
      place = *outer;
    }
    bool isKnown = llvm::any_of(
        list, [&](const MemoryPlace &other) { return other.covers(place); });
    if (!isKnown)
      list.push_back(place);
  };
  for (const MemoryEffects::EffectInstance &effect : *effects) {
    Value memory = effect.getValue();
    if (!memory)
      return std::nullopt;
    note(isa<MemoryEffects::Write>(effect.getEffect()) ? found.writes
                                                       : found.reads,
         memory);
  }
  return found;
}

bool LoopMerger::conflict(const std::optional<Accesses> &earlier,
                          const std::optional<Accesses> &later) const {
  if (!earlier || !later)
    return true;
  auto meet = [&](ArrayRef<MemoryPlace> some, ArrayRef<MemoryPlace> others) {
    return llvm::any_of(some, [&](const MemoryPlace &a) {
      return llvm::any_of(others, [&](const MemoryPlace &b) {
        return places.mayOverlap(a, b);
      });
    });
  };
  return meet(earlier->writes, later->writes) ||
         meet(earlier->writes, later->reads) ||
         meet(earlier->reads, later->writes);
}

static int64_t privateBytes(tile::ParallelOp loop) {
  int64_t bytes = 0;
  for (BlockArgument buffer : loop.getPrivateBuffers()) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// For each private buffer of each loop its place in `types`. Only one of the
/// loops runs in an iteration, so buffers of one type are one.
static SmallVector<SmallVector<unsigned>>
sharePrivate(ArrayRef<tile::ParallelOp> loops,
             SmallVectorImpl<MemRefType> &types) {
  SmallVector<SmallVector<unsigned>> shared;
  for (tile::ParallelOp loop : loops) {
    SmallVector<unsigned> &numbers = shared.emplace_back();
    for (BlockArgument buffer : loop.getPrivateBuffers()) {
      unsigned at = 0;
      while (at < types.size() &&
             (types[at] != buffer.getType() || llvm::is_contained(numbers, at)))
        ++at;
      if (at == types.size())
        types.push_back(cast<MemRefType>(buffer.getType()));
      numbers.push_back(at);
    }
  }
  return shared;
}

/// The product that is all `loop` does, if that is so, and nobody else in it
/// looks at the result.
static tile::ProductOp onlyProductOf(tile::ParallelOp loop) {
  tile::ProductOp product;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isMemoryEffectFree(&op))
      continue;
    if (product || !isa<tile::ProductOp>(op))
      return {};
    product = cast<tile::ProductOp>(op);
  }
  if (!product || product.getAccumulate() || product.getInto() ||
      !loop.getPrivateBuffers().empty())
    return {};
  auto isInLoop = [&](Operation *user) { return loop->isAncestor(user); };
  bool isOnlyWritten = llvm::count_if(product.getC().getUsers(), isInLoop) == 1;
  return isOnlyWritten ? product : tile::ProductOp();
}

/// Whether `a` and `b` are the same product, with a result each, as the
/// cotangent of an adapter's h is for its gradients and for its input.
static bool computeTheSame(tile::ParallelOp a, tile::ParallelOp b) {
  tile::ProductOp product = onlyProductOf(a), other = onlyProductOf(b);
  if (!product || !other || a.getCount() != b.getCount())
    return false;
  DenseMap<Value, Value> equal = {{product.getC(), other.getC()}};
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getRegion(), &b.getRegion(),
      [&](Value mine, Value others) {
        auto known = equal.find(mine);
        return success((known == equal.end() ? mine : known->second) == others);
      },
      [&](Value mine, Value others) { equal[mine] = others; },
      OperationEquivalence::IgnoreLocations);
}

/// A loop of a launch.
struct Member {
  tile::ParallelOp loop;
  /// Of loops that compute the same, which get it from here.
  SmallVector<Value, 1> otherResults;
};

/// Copies the result of `product`, a copy, to `to`.
static void copyResult(tile::ProductOp product, Value to, ScalarBuilder &b) {
  tile::MapOp::create(b, ValueRange{product.getM(), product.getN()},
                      [&](OpBuilder &at, Location loc, ValueRange point) {
                        ScalarBuilder body(loc, at);
                        SmallVector<Value> place = {
                            body.add(product.getCRow(), point[0]),
                            body.add(product.getCColumn(), point[1])};
                        body.store(body.load(product.getC(), place), to, place);
                      });
}

/// One loop that runs all iterations of `members`, those of the first first.
static void buildMerged(ArrayRef<Member> members, OpBuilder &builder) {
  SmallVector<tile::ParallelOp> loops;
  for (const Member &member : members)
    loops.push_back(member.loop);
  SmallVector<Location> locations;
  for (tile::ParallelOp loop : loops)
    locations.push_back(loop.getLoc());
  Location loc = locations.front();
  if (loops.size() > 1)
    loc = builder.getFusedLoc(locations);
  ScalarBuilder b(loc, builder);
  SmallVector<Value> ends;
  for (tile::ParallelOp loop : loops)
    ends.push_back(ends.empty() ? loop.getCount()
                                : b.add(ends.back(), loop.getCount()));
  SmallVector<MemRefType> types;
  auto shared = sharePrivate(loops, types);
  tile::ParallelOp::create(
      b, ends.back(), types,
      [&](OpBuilder &inner, Location, Value i, ValueRange own) {
        std::function<void(OpBuilder &, size_t)> buildFrom =
            [&](OpBuilder &at, size_t number) {
              auto copy = [&](OpBuilder &to) {
                tile::ParallelOp loop = loops[number];
                ScalarBuilder body(loop.getLoc(), to);
                IRMapping mapping;
                mapping.map(loop.getIndex(),
                            number ? body.sub(i, ends[number - 1]) : i);
                for (auto [buffer, place] :
                     llvm::zip_equal(loop.getPrivateBuffers(), shared[number]))
                  mapping.map(buffer, own[place]);
                for (Operation &op : loop.getBody()->without_terminator()) {
                  Operation *copied = to.clone(op, mapping);
                  if (auto product = dyn_cast<tile::ProductOp>(copied))
                    for (Value result : members[number].otherResults)
                      copyResult(product, result, body);
                }
              };
              if (number + 1 == loops.size())
                return copy(at);
              Value isIn = arith::CmpIOp::create(
                  at, loc, arith::CmpIPredicate::ult, i, ends[number]);
              scf::IfOp::create(
                  at, loc, isIn,
                  [&](OpBuilder &then, Location) {
                    copy(then);
                    scf::YieldOp::create(then, loc);
                  },
                  [&](OpBuilder &otherwise, Location) {
                    buildFrom(otherwise, number + 1);
                    scf::YieldOp::create(otherwise, loc);
                  });
            };
        buildFrom(inner, 0);
        tile::YieldOp::create(inner, loc);
      });
}

void LoopMerger::merge(ArrayRef<tile::ParallelOp> loops, Operation *end) {
  std::vector<simt::LoopSummary> summaries;
  SmallVector<std::optional<Accesses>> accesses;
  for (tile::ParallelOp loop : loops) {
    summaries.push_back({privateBytes(loop)});
    accesses.push_back(accessesOf(loop));
  }
  auto groups = simt::groupLaunches(
      summaries, mostShared, [&](unsigned later, unsigned earlier) {
        return conflict(accesses[earlier], accesses[later]);
      });
  if (groups.size() == loops.size())
    return;
  OpBuilder b(end);
  for (const std::vector<unsigned> &group : groups) {
    SmallVector<Member> members;
    for (unsigned number : group) {
      tile::ParallelOp loop = loops[number];
      auto same = llvm::find_if(members, [&](const Member &member) {
        return computeTheSame(member.loop, loop);
      });
      if (same == members.end())
        members.push_back({loop, {}});
      else
        same->otherResults.push_back(onlyProductOf(loop).getC());
    }
    buildMerged(members, b);
  }
  for (tile::ParallelOp loop : loops)
    loop.erase();
}

void LoopMerger::merge(Block &block) {
  SmallVector<tile::ParallelOp> loops;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<tile::ParallelOp>(op)) {
      loops.push_back(loop);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        merge(inner);
    // An op that reads no memory can stand before any loop.
    if (!op.hasTrait<OpTrait::IsTerminator>() &&
        (isMemoryEffectFree(&op) || isa<tile::NumberOp>(op)))
      continue;
    merge(loops, &op);
    loops.clear();
  }
}

namespace {

struct MergeLoops : public hone::impl::MergeLoopsBase<MergeLoops> {
  using MergeLoopsBase::MergeLoopsBase;

  void runOnOperation() override {
    LoopMerger merger(getOperation(), mostShared);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        merger.merge(block);
  }
};

} // namespace
