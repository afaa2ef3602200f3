//===- Uniformity.cpp - Which threads have the same value -----------------===//
//
// See Uniformity.h. Scopes only grow, so that repeating the walk ends.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/Uniformity.h"

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

bool Uniformity::raise(Value value, Scope scope) {
  Scope &known = scopes[value];
  if (scope <= known)
    return false;
  known = scope;
  return true;
}

Scope Uniformity::ofControl(Operation *op) const {
  if (isa<scf::ExecuteRegionOp>(op))
    return Scope::Workgroup;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return of(branch.getCondition());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return std::max({of(loop.getLowerBound()), of(loop.getUpperBound()),
                     of(loop.getStep())});
  return Scope::Lane;
}

/// Whether results are the same wherever the operands are.
static bool followsOperands(Operation *op) {
  if (isa<mlir::gpu::BlockIdOp, mlir::gpu::BlockDimOp, mlir::gpu::GridDimOp,
          mlir::gpu::DynamicSharedMemoryOp, memref::LoadOp, simt::LoadWordsOp,
          LLVM::ExtractValueOp>(op))
    return true;
  return isMemoryEffectFree(op) &&
         isa_and_present<arith::ArithDialect, math::MathDialect,
                         memref::MemRefDialect, tile::TileDialect>(
             op->getDialect());
}

bool Uniformity::visit(Operation *op) {
  Scope scope = Scope::Workgroup;
  if (isa<mlir::gpu::SubgroupIdOp>(op))
    scope = Scope::Subgroup;
  else if (auto shuffle = dyn_cast<mlir::gpu::ShuffleOp>(op))
    // One lane's value, for all.
    scope = shuffle.getMode() == mlir::gpu::ShuffleMode::IDX &&
                    matchPattern(shuffle.getOffset(), m_Constant())
                ? std::min(Scope::Subgroup, of(shuffle.getValue()))
                : of(shuffle.getValue());
  else if (followsOperands(op))
    for (Value operand : op->getOperands())
      scope = std::max(scope, of(operand));
  else // a thread's number, its registers of a matrix, or nobody knows
    scope = Scope::Lane;

  bool changed = false;
  if (op->getNumRegions() > 0) {
    Scope control = ofControl(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      changed |= raise(loop.getInductionVar(), control);
      for (auto [result, carried, first, next] :
           llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs(),
                           loop.getInitArgs(), loop.getYieldedValues())) {
        Scope value = std::max(of(first), of(next));
        changed |= raise(carried, value);
        changed |= raise(result, std::max(value, control));
      }
      return changed;
    }
    if (isa<scf::IfOp, scf::ExecuteRegionOp>(op)) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (auto [result, value] : llvm::zip(
                   op->getResults(), block.getTerminator()->getOperands()))
            changed |= raise(result, std::max(of(value), control));
      return changed;
    }
    scope = Scope::Lane;
  }
  for (Value result : op->getResults())
    changed |= raise(result, scope);
  return changed;
}

Uniformity::Uniformity(Operation *kernel) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Region &region : kernel->getRegions())
      region.walk<WalkOrder::PreOrder>(
          [&](Operation *op) { changed |= visit(op); });
  }
}
