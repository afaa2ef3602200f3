//===- PlaceBarriers.cpp - Barriers between writes and reads of threads ---===//
//
// A walk over the code that threads run together, with their reads and writes
// since the last barrier. Code that they run apart is one access: a branch or a
// loop that depends on the thread, an op, an `scf.execute_region`.
//
// Loops are walked until the accesses that come around are known. Sets only
// grow until then, so the walk ends.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Uniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_PLACEBARRIERS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using simt::Scope;

namespace {

/// Accesses to memory, as bits. One thread keeps its own order.
enum Access : uint8_t {
  kRead = 1,
  kWrite = 2,
  kReadByFirst = 4,
  kWriteByFirst = 8,
};

} // namespace

/// Whether accesses to one memory must not meet those that are `after` them.
static bool conflict(uint8_t before, uint8_t after) {
  constexpr uint8_t others = kRead | kWrite, writes = kWrite | kWriteByFirst;
  if (!((before | after) & others))
    return false; // all by the first thread
  return (before && (after & writes)) || ((before & writes) && after);
}

namespace {
/// Accesses by memory: a shared buffer, or null for the device's.
class Accesses {
public:
  void add(Value memory, uint8_t access) { kinds[memory] |= access; }
  void addAnywhere(uint8_t access) { anywhere |= access; }
  void add(const Accesses &others) {
    for (auto [memory, access] : others.kinds)
      add(memory, access);
    addAnywhere(others.anywhere);
  }
  void clear() {
    kinds.clear();
    anywhere = 0;
  }
  bool operator==(const Accesses &other) const {
    return kinds == other.kinds && anywhere == other.anywhere;
  }
  /// Whether `later` must not begin before these have ended.
  bool conflictWith(const Accesses &later) const {
    return conflict(anywhere, later.anywhere) ||
           llvm::any_of(later.kinds,
                        [&](auto entry) {
                          uint8_t before = kinds.lookup(entry.first) | anywhere;
                          return conflict(before, entry.second);
                        }) ||
           llvm::any_of(kinds, [&](auto entry) {
             return conflict(entry.second, later.anywhere);
           });
  }

private:
  llvm::SmallDenseMap<Value, uint8_t, 4> kinds;
  uint8_t anywhere = 0; ///< to any memory
};

class BarrierPlacement {
public:
  explicit BarrierPlacement(mlir::gpu::GPUFuncOp kernel)
      : kernel(kernel), uniformity(kernel) {}

  void run();

private:
  using Barriers = llvm::DenseMap<Operation *, Scope>;

  /// The buffer that `place` is in, or null for the device's memory.
  Value memoryOf(Value place) const;
  /// Whether the branch is taken by the first thread of `scope` alone.
  bool isFirstAlone(Operation *op) const;
  Accesses accessesOf(Operation *op) const;
  /// Adds the accesses that threads of `scope` make together in `block` to
  /// `pending`, and the ops that need a barrier before them to `found`.
  void visit(Block &block, Scope scope, Accesses &pending, Barriers &found);
  void visit(scf::ForOp loop, Scope scope, Accesses &pending, Barriers &found);
  /// Whether the turns of the loop need none among themselves.
  bool isWithoutBarriers(scf::ForOp loop, Scope scope);
  void visit(scf::IfOp branch, Scope scope, Accesses &pending, Barriers &found);

  mlir::gpu::GPUFuncOp kernel;
  simt::Uniformity uniformity;
};

} // namespace

Value BarrierPlacement::memoryOf(Value place) const {
  while (true) {
    if (auto view = place.getDefiningOp<tile::ViewOp>())
      place = view.getBase();
    else if (auto view = place.getDefiningOp<memref::ViewOp>())
      place = view.getSource();
    else
      break;
  }
  auto type = dyn_cast<MemRefType>(place.getType());
  return type && type.getMemorySpace() ? place : Value();
}

bool BarrierPlacement::isFirstAlone(Operation *op) const {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch.elseBlock())
    return false;
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(compare.getRhs(), m_Zero()))
    return false;
  // A thread of the workgroup, or, in code of a subgroup, a lane.
  if (compare.getLhs().getDefiningOp<mlir::gpu::ThreadIdOp>())
    return true;
  if (!compare.getLhs().getDefiningOp<mlir::gpu::LaneIdOp>())
    return false;
  for (Operation *around = op->getParentOp(); around != kernel;
       around = around->getParentOp())
    if (uniformity.ofControl(around) == Scope::Subgroup)
      return true;
  return false;
}

/// Whether `op`, which declares no effects, waits or has registers alone.
static bool touchesNoMemory(Operation *op) {
  return isa<mlir::gpu::BarrierOp, NVVM::SyncWarpOp, NVVM::FenceProxyOp,
             NVVM::CpAsyncCommitGroupOp, NVVM::CpAsyncWaitGroupOp, NVVM::MmaOp,
             simt::FinishGroupsOp>(op);
}

Accesses BarrierPlacement::accessesOf(Operation *op) const {
  Accesses found;
  bool first = isFirstAlone(op);
  const uint8_t read = first ? kReadByFirst : kRead,
                write = first ? kWriteByFirst : kWrite;
  op->walk([&](Operation *inner) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects) {
      // Ops in it follow, or it may do anything.
      if (!inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
          !touchesNoMemory(inner))
        found.addAnywhere(read | write);
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances) {
      bool reads = isa<MemoryEffects::Read>(instance.getEffect());
      if (!reads && !isa<MemoryEffects::Write>(instance.getEffect()))
        continue;
      const uint8_t access = reads ? read : write;
      if (Value place = instance.getValue())
        found.add(memoryOf(place), access);
      else
        found.addAnywhere(access);
    }
  });
  return found;
}

bool BarrierPlacement::isWithoutBarriers(scf::ForOp loop, Scope scope) {
  Accesses turn;
  Barriers inside;
  // The second turn begins with the accesses of the first.
  for (int i = 0; i < 2; ++i)
    visit(*loop.getBody(), scope, turn, inside);
  return inside.empty();
}

void BarrierPlacement::visit(scf::ForOp loop, Scope scope, Accesses &pending,
                             Barriers &found) {
  // One before a loop that needs none itself is one, and not one a turn.
  Accesses whole = accessesOf(loop);
  if (pending.conflictWith(whole) && isWithoutBarriers(loop, scope)) {
    found[loop] = scope;
    pending.clear();
  }
  Accesses begin = pending;
  while (true) {
    Accesses end = begin;
    Barriers inside;
    visit(*loop.getBody(), scope, end, inside);
    Accesses around = begin;
    around.add(end);
    if (around == begin) {
      for (auto [op, barrier] : inside)
        found[op] = barrier;
      pending.add(end);
      return;
    }
    begin = around;
  }
}

void BarrierPlacement::visit(scf::IfOp branch, Scope scope, Accesses &pending,
                             Barriers &found) {
  Accesses otherwise = pending;
  visit(*branch.thenBlock(), scope, pending, found);
  if (branch.elseBlock())
    visit(*branch.elseBlock(), scope, otherwise, found);
  pending.add(otherwise);
}

void BarrierPlacement::visit(Block &block, Scope scope, Accesses &pending,
                             Barriers &found) {
  for (Operation &op : block) {
    bool isLoop = isa<scf::ForOp>(op), isBranch = isa<scf::IfOp>(op);
    if (isLoop || isBranch) {
      Scope control = uniformity.ofControl(&op);
      bool together = control <= scope;
      // Code of a subgroup is one access of the workgroup, with an order of its
      // own inside.
      Accesses own;
      Accesses &inside = together ? pending : own;
      Scope insideScope = together ? scope : control;
      if (together || control == Scope::Subgroup) {
        if (isLoop)
          visit(cast<scf::ForOp>(op), insideScope, inside, found);
        else
          visit(cast<scf::IfOp>(op), insideScope, inside, found);
      }
      if (together)
        continue;
    }
    Accesses accesses = accessesOf(&op);
    if (pending.conflictWith(accesses)) {
      found[&op] = scope;
      pending.clear();
    }
    pending.add(accesses);
  }
}

void BarrierPlacement::run() {
  Accesses pending;
  Barriers found;
  visit(kernel.getBody().front(), Scope::Workgroup, pending, found);
  for (auto [op, scope] : found) {
    OpBuilder b(op);
    if (scope == Scope::Workgroup) {
      mlir::gpu::BarrierOp::create(b, op->getLoc());
      continue;
    }
    Value all = arith::ConstantIntOp::create(b, op->getLoc(), -1, 32);
    NVVM::SyncWarpOp::create(b, op->getLoc(), all);
  }
  SmallVector<scf::ExecuteRegionOp> regions;
  kernel.walk([&](scf::ExecuteRegionOp op) { regions.push_back(op); });
  for (scf::ExecuteRegionOp region : regions) {
    Block &body = region.getRegion().front();
    Operation *yield = body.getTerminator();
    region->getBlock()->getOperations().splice(
        region->getIterator(), body.getOperations(), body.begin(),
        yield->getIterator());
    region.replaceAllUsesWith(yield->getOperands());
    region.erase();
  }
}

namespace {

struct PlaceBarriers : public hone::impl::PlaceBarriersBase<PlaceBarriers> {
  void runOnOperation() override { BarrierPlacement(getOperation()).run(); }
};

} // namespace
