//===- DistributeTiles.cpp - Tile ops spread over threads -----------------===//
//
// Ops that are no tile ops are run by all threads alike; each branch and loop
// around tile ops goes the same way in all of them, since scalars are the same.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/StoredMatrix.h"
#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/AttentionLowering.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Neighbours.h"
#include "targets/gpu/ProductLowering.h"
#include "targets/gpu/TeamBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace hone {
#define GEN_PASS_DEF_DISTRIBUTETILES
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using simt::NeighbourBody;
using simt::Team;
using simt::TeamBuilder;

/// Calls body with the coordinates of point `i` of the box.
static void atPoint(TeamBuilder &b, ValueRange bounds, Value i,
                    function_ref<void(ValueRange)> body) {
  if (bounds.size() == 1)
    return body(i);
  body({b.div(i, bounds[1]), b.rem(i, bounds[1])});
}

static Value pointsOf(TeamBuilder &b, ValueRange bounds) {
  return bounds.size() == 1 ? bounds[0] : b.mul(bounds[0], bounds[1]);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static void distribute(tile::ReadRowOp op, const Team &team) {
  TeamBuilder b(op, team);
  Type element = op.getTo().getType().getElementType();
  b.deal(op.getCount(), [&](Value j) {
    Value value =
        loadStored(b, op, element, op.getRow(), b.add(op.getColumn(), j));
    b.store(value, op.getTo(), {b.index(0), j});
  });
}

/// Elements that a thread loads before it stores the first of them, at most.
/// One after another, each would wait for its own loads. A subgroup that has a
/// row to itself has more of them.
static int64_t mostAtOnce(const Team &team) { return team.isSubgroup ? 8 : 4; }

/// How many elements of [0, count) each thread may have at once: of fewer than
/// a whole turn of them there is nothing to gain.
static int64_t elementsAtOnce(Value count, const Team &team) {
  std::optional<int64_t> most = simt::upperBound(count);
  return most ? std::min(*most / team.size(), mostAtOnce(team)) : 1;
}

/// Whether `body` has no branch, touches memory by loads and stores alone, and
/// reads nothing after it has written.
static bool loadsFirst(Block &body) {
  bool hasStored = false;
  for (Operation &op : body) {
    const bool loads = isa<memref::LoadOp>(op),
               stores = isa<memref::StoreOp>(op);
    if (op.getNumRegions() || (hasStored && loads) ||
        !(loads || stores || isMemoryEffectFree(&op)))
      return false;
    hasStored |= stores;
  }
  return true;
}

/// Copies of `body` for each of `points`, whose stores come last.
static void inlineTogether(TeamBuilder &b, Block &body,
                           ArrayRef<SmallVector<Value>> points) {
  SmallVector<IRMapping> mappings(points.size());
  for (auto [mapping, point] : llvm::zip_equal(mappings, points))
    mapping.map(body.getArguments(), point);
  for (bool stores : {false, true})
    for (IRMapping &mapping : mappings)
      for (Operation &op : body.without_terminator())
        if (isa<memref::StoreOp>(op) == stores)
          b.clone(op, mapping);
}

/// Neighbours that each thread has at once of `count` points in all, of which
/// those of a row are `columns`, so that most threads have some. One: they
/// would not lie side by side.
static int64_t neighboursOf(const NeighbourBody &body, int64_t count,
                            int64_t columns, const Team &team) {
  // Only devices with copies of 16 bytes can be asked where memory begins.
  if (!team.state.device.copiesInFlight || !body.isWide())
    return 1;
  int64_t neighbours = simt::kAccessBytes / body.narrowest();
  while (neighbours > 1 &&
         (count < neighbours * team.size() * 3 / 4 || columns % neighbours))
    neighbours /= 2;
  return neighbours;
}

static int64_t neighboursOf(tile::MapOp op, const NeighbourBody &body,
                            const Team &team) {
  ValueRange bounds = op.getBounds();
  std::optional<int64_t> columns = simt::upperBound(bounds.back());
  if (bounds.size() == 1)
    return columns ? neighboursOf(body, *columns, /*columns=*/0, team) : 1;
  // Groups do not go on in the next row.
  columns = getConstantIntValue(bounds.back());
  int64_t rows = simt::upperBound(bounds.front()).value_or(1);
  return columns ? neighboursOf(body, rows * *columns, *columns, team) : 1;
}

/// Deals out groups of points in turn, several at a time.
static SmallVector<Value>
foldGroups(TeamBuilder &b, Value groups, ValueRange values,
           function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  int64_t size = b.team.size();
  auto fold = [&](Value from, Value to, int64_t atOnce, ValueRange values) {
    return b.fold(from, to, atOnce * size, values,
                  [&](Value i, ValueRange before) {
                    SmallVector<Value> some;
                    for (int64_t n = 0; n < atOnce; ++n)
                      some.push_back(b.add(i, b.index(n * size)));
                    return body(some, before);
                  });
  };
  Value from = b.index(0);
  SmallVector<Value> folded(values);
  int64_t atOnce = std::min(simt::upperBound(groups).value_or(0) / size,
                            mostAtOnce(b.team) / 2);
  if (atOnce > 1) {
    Value turn = b.index(atOnce * size);
    Value whole = b.mul(b.div(groups, turn), turn);
    folded = fold(b.team.member(), whole, atOnce, folded);
    from = whole;
  }
  return fold(b.add(from, b.team.member()), groups, 1, folded);
}

/// Deals out points in groups of `neighbours`. Returns the first point that is
/// in none.
static Value mapNeighbours(TeamBuilder &b, tile::MapOp op, NeighbourBody &body,
                           int64_t neighbours) {
  Value many = b.index(neighbours);
  Value groups = b.div(pointsOf(b, op.getBounds()), many);
  foldGroups(b, groups, {}, [&](ArrayRef<Value> some, ValueRange) {
    SmallVector<SmallVector<Value>> points;
    for (Value group : some)
      atPoint(b, op.getBounds(), b.mul(group, many), [&](ValueRange point) {
        for (int64_t k = 0; k < neighbours; ++k) {
          points.emplace_back(point);
          points.back().back() = b.add(point.back(), b.index(k));
        }
      });
    body.inlined(b, points, neighbours);
    return SmallVector<Value>();
  });
  return b.mul(groups, many);
}

static void distribute(tile::MapOp op, const Team &team) {
  TeamBuilder b(op, team);
  Block &body = *op.getBody();
  auto deal = [&](Value from) {
    b.loop(b.add(from, team.member()), pointsOf(b, op.getBounds()), team.size(),
           [&](Value i) {
             atPoint(b, op.getBounds(), i,
                     [&](ValueRange point) { b.inlined(body, point); });
           });
  };
  NeighbourBody beside(body, body.getArguments().back());
  int64_t neighbours = neighboursOf(op, beside, team);
  if (neighbours > 1 && loadsFirst(body))
    if (Value begins = beside.beginsAccesses(b, b.index(0), neighbours)) {
      b.when(
          begins, [&] { deal(mapNeighbours(b, op, beside, neighbours)); },
          [&] { deal(b.index(0)); });
      return;
    }
  Value count = pointsOf(b, op.getBounds()), from = b.index(0);
  int64_t atOnce = elementsAtOnce(count, team);
  if (atOnce > 1 && loadsFirst(body)) {
    int64_t turn = atOnce * team.size();
    Value whole = b.mul(b.div(count, b.index(turn)), b.index(turn));
    b.loop(team.member(), whole, turn, [&](Value i) {
      SmallVector<SmallVector<Value>> points;
      for (int64_t n = 0; n < atOnce; ++n)
        atPoint(b, op.getBounds(), b.add(i, b.index(n * team.size())),
                [&](ValueRange point) { points.emplace_back(point); });
      inlineTogether(b, body, points);
    });
    from = whole;
  }
  deal(from);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Value join(TeamBuilder &b, tile::Combine combine, Value x, Value y) {
  if (combine == tile::Combine::add)
    return b.add(x, y);
  return arith::MaximumFOp::create(b, x, y);
}

/// Joins the subgroups' values, in their order.
static Value joinSubgroups(TeamBuilder &b, tile::Combine combine, Value value,
                           unsigned number) {
  Value parts = b.team.state.scratch(
      MemRefType::get(simt::kSubgroups, value.getType()), number);
  b.when(b.isEqual(b.team.state.lane, b.index(0)),
         [&] { b.store(value, parts, b.team.state.subgroup); });
  Value joined = b.load(parts, b.index(0));
  for (int64_t i = 1; i < simt::kSubgroups; ++i)
    joined = join(b, combine, joined, b.load(parts, b.index(i)));
  return joined;
}

namespace {

/// Neighbours that a thread has at once, if `begins` is true.
struct Neighbours {
  int64_t count;
  Value begins;
};

} // namespace

/// Of terms; none: they would not lie side by side. Follows from the number of
/// terms and their types alone, since the order of a sum does.
static std::optional<Neighbours>
neighboursOf(tile::ReduceOp op, NeighbourBody &body, const Team &team) {
  std::optional<int64_t> bound = getConstantIntValue(op.getBound());
  if (!bound || !loadsFirst(*op.getBody()) ||
      !op.getBody()->getOps<memref::StoreOp>().empty())
    return std::nullopt;
  int64_t count = neighboursOf(body, *bound, /*columns=*/0, team);
  if (count == 1)
    return std::nullopt;
  TeamBuilder b(op, team);
  Value begins = body.beginsAccesses(b, b.index(0), count);
  if (!begins)
    return std::nullopt;
  return Neighbours{count, begins};
}

namespace {

/// A tile.reduce in code of a team.
class Reduction {
public:
  Reduction(tile::ReduceOp op, const Team &team);

  /// Returns the op's results.
  SmallVector<Value> lower();

private:
  SmallVector<Value> joinedWith(ValueRange before, ArrayRef<Value> values);
  // Each joins terms to `joined` and returns the first that it leaves.
  Value foldNeighbours(NeighbourBody &body, const Neighbours &some);
  Value foldTogether(int64_t atOnce);

  tile::ReduceOp op;
  const Team &team;
  TeamBuilder b;
  SmallVector<tile::Combine> kinds;
  SmallVector<Value> joined; ///< of this thread, so far
};

} // namespace

Reduction::Reduction(tile::ReduceOp op, const Team &team)
    : op(op), team(team), b(op, team) {
  for (auto [kind, type] :
       llvm::zip_equal(op.getCombine().getAsRange<tile::CombineAttr>(),
                       op.getResultTypes())) {
    kinds.push_back(kind.getValue());
    joined.push_back(
        b.real(type, kinds.back() == tile::Combine::add ? 0.0 : -HUGE_VAL));
  }
}

SmallVector<Value> Reduction::joinedWith(ValueRange before,
                                         ArrayRef<Value> values) {
  SmallVector<Value> after;
  for (auto [kind, old, value] : llvm::zip_equal(kinds, before, values))
    after.push_back(join(b, kind, old, value));
  return after;
}

Value Reduction::foldNeighbours(NeighbourBody &body, const Neighbours &some) {
  Value many = b.index(some.count);
  Value groups = b.div(op.getBound(), many);
  // The order is the same where loads go one by one.
  auto terms = [&](ArrayRef<Value> at, ValueRange before, bool isWide) {
    SmallVector<SmallVector<Value>> points;
    for (Value group : at)
      for (int64_t k = 0; k < some.count; ++k)
        points.push_back({b.add(b.mul(group, many), b.index(k))});
    SmallVector<Value> after(before);
    for (ArrayRef<Value> next :
         body.inlined(b, points, isWide ? some.count : 1))
      after = joinedWith(after, next);
    return after;
  };
  auto branch = [&](bool isWide) {
    return [&, isWide](OpBuilder &, Location) {
      scf::YieldOp::create(
          b, foldGroups(b, groups, joined,
                        [&](ArrayRef<Value> at, ValueRange before) {
                          return terms(at, before, isWide);
                        }));
    };
  };
  joined = llvm::to_vector_of<Value>(
      scf::IfOp::create(b, some.begins, branch(true), branch(false))
          .getResults());
  return b.mul(groups, many);
}

Value Reduction::foldTogether(int64_t atOnce) {
  int64_t turn = atOnce * team.size();
  Value whole = b.mul(b.div(op.getBound(), b.index(turn)), b.index(turn));
  joined = b.fold(
      team.member(), whole, turn, joined, [&](Value i, ValueRange before) {
        SmallVector<SmallVector<Value>> values;
        for (int64_t n = 0; n < atOnce; ++n)
          values.push_back(
              b.inlined(*op.getBody(), b.add(i, b.index(n * team.size()))));
        // In the order that they have one by one.
        SmallVector<Value> after(before);
        for (ArrayRef<Value> next : values)
          after = joinedWith(after, next);
        return after;
      });
  return whole;
}

SmallVector<Value> Reduction::lower() {
  Block &body = *op.getBody();
  Value from = b.index(0);
  int64_t atOnce = elementsAtOnce(op.getBound(), team);
  NeighbourBody beside(body, body.getArgument(0));
  if (std::optional<Neighbours> some = neighboursOf(op, beside, team))
    from = foldNeighbours(beside, *some);
  else if (atOnce > 1 && !body.getOps<memref::LoadOp>().empty() &&
           body.getOps<memref::StoreOp>().empty())
    from = foldTogether(atOnce);
  joined = b.fold(b.add(from, team.member()), op.getBound(), team.size(),
                  joined, [&](Value j, ValueRange before) {
                    return joinedWith(before, b.inlined(body, j));
                  });
  // Both lanes of a pair add the same two numbers, so all lanes agree.
  for (int32_t distance = simt::kLanes / 2; distance > 0; distance /= 2)
    for (auto [kind, value] : llvm::zip_equal(kinds, joined))
      value = join(b, kind, value, b.exchange(value, distance));
  for (auto [number, value] : llvm::enumerate(joined))
    value = team.isSubgroup ? b.fromFirstLane(value)
                            : joinSubgroups(b, kinds[number], value, number);
  return joined;
}

static void distribute(tile::ReduceOp op, const Team &team) {
  op.replaceAllUsesWith(Reduction(op, team).lower());
}

//===----------------------------------------------------------------------===//
// Ops around tile ops
//===----------------------------------------------------------------------===//

static LogicalResult distribute(Block &block, const Team &team);

/// A store of a scalar, which all threads have.
static void distribute(memref::StoreOp op, const Team &team) {
  TeamBuilder b(op, team);
  b.once([&] { b.clone(*op); });
}

/// Iterations are dealt out to subgroups; the lanes of one run its body.
static LogicalResult distribute(tile::EachOp op, const Team &team) {
  TeamBuilder b(op, team);
  auto loop =
      scf::ForOp::create(b, team.state.subgroup, pointsOf(b, op.getBounds()),
                         b.index(simt::kSubgroups), ValueRange(),
                         [&](OpBuilder &, Location, Value i, ValueRange) {
                           atPoint(b, op.getBounds(), i, [&](ValueRange point) {
                             b.inlined(*op.getBody(), point);
                           });
                           scf::YieldOp::create(b);
                         });
  op.erase();
  return distribute(*loop.getBody(), {team.state, /*isSubgroup=*/true});
}

static LogicalResult distribute(Operation *op, const Team &team) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::ReadRowOp, tile::MapOp, tile::ReduceOp, memref::StoreOp>(
          [&](auto spread) {
            distribute(spread, team);
            spread.erase();
            return success();
          })
      .Case([&](tile::ProductOp product) -> LogicalResult {
        simt::lowerProduct(product, team);
        product.erase();
        return success();
      })
      .Case<simt::AttentionOp, simt::AttentionQueryAdjointOp,
            simt::AttentionKeyAdjointOp>([&](auto attention) {
        simt::lowerAttention(attention, team);
        attention.erase();
        return success();
      })
      .Case([&](simt::ChainOp chain) {
        return simt::lowerChain(chain, team, [&](Operation *inner) {
          return distribute(inner, team);
        });
      })
      .Case([&](tile::EachOp each) { return distribute(each, team); })
      .Case<scf::ForOp, scf::IfOp>([&](Operation *around) -> LogicalResult {
        for (Region &region : around->getRegions())
          for (Block &block : region)
            if (failed(distribute(block, team)))
              return failure();
        return success();
      })
      .Case<tile::ViewOp, mlir::gpu::ReturnOp>([](auto) { return success(); })
      .Default([](Operation *other) -> LogicalResult {
        if (other->getNumRegions() == 0 &&
            !isa_and_present<tile::TileDialect>(other->getDialect()))
          return success();
        return other->emitOpError("has no code for a GPU yet");
      });
}

static LogicalResult distribute(Block &block, const Team &team) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(distribute(&op, team)))
      return failure();
  return success();
}

namespace {

struct DistributeTiles
    : public hone::impl::DistributeTilesBase<DistributeTiles> {
  using DistributeTilesBase::DistributeTilesBase;

  void runOnOperation() override {
    Block &body = getOperation().getBody().front();
    // The ops that give a thread its numbers come first and are no part of
    // this.
    SmallVector<Operation *> ops;
    for (Operation &op : body)
      ops.push_back(&op);
    simt::DeviceFeatures device;
    device.sharedBytes = sharedBytes;
    device.copiesInFlight = copiesInFlight;
    device.matrixUnits = matrixUnits;
    device.groupMatrixUnits = groupMatrixUnits;
    device.spillsWideKeys = spillsWideKeys;
    device.multiprocessorBytes = multiprocessorBytes;
    if (int64_t count = simt::workgroupsAtOnce(getOperation(), device);
        count != 2)
      getOperation()->setAttr(
          simt::kWorkgroupsAttrName,
          OpBuilder(&body, body.begin()).getI64IntegerAttr(count));
    simt::KernelState state(getOperation(), device);
    Team workgroup{state, /*isSubgroup=*/false};
    for (Operation *op : ops)
      if (failed(distribute(op, workgroup)))
        return signalPassFailure();
  }
};

} // namespace
