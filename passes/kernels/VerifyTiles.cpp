//===- VerifyTiles.cpp - hone-verify-tiles --------------------------------===//
//
// Targets rely on these rules: they may run the bodies of parallel loops
// elsewhere, and everything around them before the first of them has ended.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Tile/TileDialect.h"
#include "passes/kernels/SequenceLoop.h"
#include "passes/kernels/TargetKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYTILES
#include "passes/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static bool isKnownDialect(StringRef name) {
  static constexpr StringLiteral known[] = {"builtin", "tile", "arith", "math",
                                            "memref",  "scf",  "func"};
  return llvm::is_contained(known, name);
}

/// Kernels of a target's own compute inside of loops.
static bool isOfOwnKernel(Operation *op, StringRef own) {
  return op->getName().getDialectNamespace() == own &&
         op->getParentOfType<tile::ParallelOp>();
}

/// Whether the op itself, without its regions, reads or writes memory.
static bool touchesMemory(Operation *op) {
  if (isa<tile::NumberOp, func::CallOp>(op) || tile::callsRuntime(op) ||
      (isa<memref::LoadOp>(op) && op->hasAttr(kReadAtLaunchAttrName)))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return !instances.empty();
}

/// Whether two points of `each` can give `value` two values. An op with the
/// same operands gives the same result, loads included: an iteration reads
/// nothing that another one writes.
static bool varies(tile::EachOp each, Value value, DenseSet<Value> &seen) {
  if (!each.getRegion().isAncestor(value.getParentRegion()) ||
      !seen.insert(value).second)
    return false;
  auto hasVaryingOperand = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return varies(each, operand, seen);
    });
  };
  Operation *op = value.getDefiningOp();
  if (!op) {
    op = value.getParentBlock()->getParentOp();
    if (op == each)
      return true;
    // A loop that carries nothing has variables alone.
    if (op->getNumResults() == 0)
      return hasVaryingOperand(op);
  }
  bool found = false;
  op->walk([&](Operation *inner) { found |= hasVaryingOperand(inner); });
  return found;
}

/// Where `op` writes, as the buffer and its indices; none if it does not.
static SmallVector<Value> writtenPlace(Operation *op) {
  SmallVector<Value> place;
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    place.push_back(store.getMemRef());
    llvm::append_range(place, store.getIndices());
  } else if (auto read = dyn_cast<tile::ReadRowOp>(op)) {
    place.push_back(read.getTo());
  }
  return place;
}

static LogicalResult verifyEach(tile::EachOp each) {
  WalkResult walked = each.getRegion().walk([&](Operation *op) {
    SmallVector<Value> place = writtenPlace(op);
    if (place.empty() || llvm::any_of(place, [&](Value part) {
          DenseSet<Value> seen;
          return varies(each, part, seen);
        }))
      return WalkResult::advance();
    InFlightDiagnostic diag =
        op->emitOpError("expects a place that depends on the variables of the "
                        "'tile.each' around it: its iterations run together");
    diag.attachNote(each.getLoc()) << "it is here";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

static LogicalResult verifyOp(Operation *op, bool float64, StringRef own) {
  // 1
  if (!isKnownDialect(op->getName().getDialectNamespace()) &&
      !isOfOwnKernel(op, own)) {
    InFlightDiagnostic diag =
        op->emitOpError("expects to be of a dialect that every target knows");
    if (!own.empty())
      diag << ", or of '" << own << "' inside of 'tile.parallel'";
    return diag;
  }
  for (Type type : op->getResultTypes())
    if (!isKnownDialect(type.getDialect().getNamespace()) ||
        isa<VectorType>(type))
      return op->emitOpError("expects results that every target knows but "
                             "got ")
             << type;
  bool isInside = op->getParentOfType<tile::ParallelOp>() != nullptr;
  // 2
  if (!isInside && touchesMemory(op))
    return op->emitOpError("expects to stand in 'tile.parallel': an entry's "
                           "calls must not depend on memory");
  // 3
  if (isInside && tile::callsRuntime(op))
    return op->emitOpError("expects to stand outside of 'tile.parallel'");
  // 4
  if (!float64 && isInside && llvm::any_of(op->getResultTypes(), [](Type type) {
        return type.isF64();
      }))
    return op->emitOpError("needs f64, which the target does not have");
  // 5
  auto each = dyn_cast<tile::EachOp>(op);
  if (!each)
    return success();
  if (!isInside)
    return op->emitOpError("expects to stand in 'tile.parallel'");
  return verifyEach(each);
}

namespace {

struct VerifyTiles : public hone::impl::VerifyTilesBase<VerifyTiles> {
  using VerifyTilesBase::VerifyTilesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(tile::TileDialect::kHostAttrName))
        continue;
      WalkResult walked = function.walk([&](Operation *op) {
        return failed(verifyOp(op, float64, own)) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> hone::createVerifyTiles(bool hasFloat64,
                                              const TargetKernels *kernels) {
  return createVerifyTiles(
      {hasFloat64, kernels ? kernels->dialect().str() : ""});
}
