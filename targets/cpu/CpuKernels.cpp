//===- CpuKernels.cpp - Ops that a CPU computes in its own way ------------===//

#include "targets/cpu/CpuKernels.h"

#include "dialects/Hone/Sizes.h"
#include "passes/kernels/LossKernels.h"
#include "targets/cpu/CpuDialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

llvm::StringRef CpuKernels::dialect() const {
  return cpu::CpuDialect::getDialectNamespace();
}

bool CpuKernels::emit(Operation *op, KernelBuilder &k) const {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AttentionOp, AttentionAdjointOp>([&](auto attention) {
        if (!hone::attentionIterations(op))
          return false;
        emitTransposedAttention(attention, k);
        return true;
      })
      .Case<LinearCrossEntropyOp>([&](auto loss) {
        // Rounded once, and not by the product for each of its panels.
        return hasPairs && emitRoundedLoss(loss, k,
                                           {/*dxRows=*/0, /*dxColumns=*/0,
                                            /*copiesInMaximum=*/true});
      })
      .Default(false);
}
