//===- Rematerialize.cpp - hone-rematerialize -----------------------------===//
//
// A value that element-wise ops compute from values in memory need not be in
// memory itself between two uses that lie far apart. The norm before attention
// is the case that matters: it is read by the first projections and again by
// their adjoints, with the whole MLP between.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/place/Lifetimes.h"
#include "passes/plan/CostEstimate.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/Passes.h.inc"

/// With so many ops between two uses the second computes the value again.
static constexpr int64_t farApart = 8;

/// Whether `op` is cheap and reads only values that live as long as the block
/// runs.
static bool isCheapFromArguments(Operation &op) {
  if (op.getNumResults() != 1 || !hasRows(op.getResult(0).getType()) ||
      !isCheap(&op))
    return false;
  return llvm::all_of(op.getOperands(), [](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return !producer || producer->hasTrait<Ambient>();
  });
}

/// Ops of `body` that compute, by position; ambient ops and sinks take no time.
static llvm::DenseMap<Operation *, int64_t> positionsOf(mlir::Block &body) {
  llvm::DenseMap<Operation *, int64_t> positions;
  int64_t next = 0;
  for (Operation &op : body) {
    positions[&op] = next;
    if (!op.hasTrait<Ambient>() && !isa<GradientOp>(op))
      ++next;
  }
  return positions;
}

static void rematerialize(mlir::Block &body) {
  llvm::DenseMap<Operation *, int64_t> positions = positionsOf(body);
  SmallVector<Operation *> cheap;
  for (Operation &op : body)
    if (isCheapFromArguments(op))
      cheap.push_back(&op);
  for (Operation *op : cheap) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getResult(0).getUses())
      uses.push_back(&use);
    llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
      return positions.lookup(a->getOwner()) < positions.lookup(b->getOwner());
    });
    Value current = op->getResult(0);
    int64_t last = positions.lookup(op);
    for (OpOperand *use : uses) {
      Operation *user = use->getOwner();
      int64_t at = positions.lookup(user);
      if (at - last >= farApart && !isa<ReturnOp>(user))
        current = OpBuilder(user).clone(*op)->getResult(0);
      use->set(current);
      last = at;
    }
  }
}

namespace {

struct Rematerialize : impl::RematerializeBase<Rematerialize> {
  void runOnOperation() override {
    for (BlockOp block : getOperation().getOps<BlockOp>())
      rematerialize(block.getBody().front());
  }
};

} // namespace
} // namespace hone
