//===- CommonItems.cpp - Items that all parts of a late step run ----------===//

#include "passes/parts/CommonItems.h"

using namespace mlir;

namespace hone {

/// Whether `op` is there for its effect, and not for its results.
static bool isRoot(Operation *op) {
  return !isa<ScalarOp, SettingOp, YieldOp, LateOp>(op);
}

/// A repeat's operand, body argument, yielded value and result at `index`.
static std::array<Value, 4> carriedAt(RepeatOp repeat, unsigned index) {
  mlir::Block &body = repeat.getBody().front();
  return {repeat.getCarried()[index], body.getArgument(index),
          body.getTerminator()->getOperand(index), repeat.getResult(index)};
}

void CommonItems::add(Value value) {
  if (!values.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = cast<RepeatOp>(argument.getOwner()->getParentOp());
    for (Value each : carriedAt(repeat, argument.getArgNumber()))
      add(each);
  } else if (auto repeat = value.getDefiningOp<RepeatOp>()) {
    for (Value each :
         carriedAt(repeat, cast<OpResult>(value).getResultNumber()))
      add(each);
  } else if (auto scalar = value.getDefiningOp<ScalarOp>()) {
    for (Value operand : scalar.getOperands())
      add(operand);
  }
}

CommonItems CommonItems::of(ScheduleOp schedule) {
  CommonItems common;
  schedule.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      common.add(repeat.getCount());
    else if (isRoot(op))
      for (Value operand : op->getOperands())
        common.add(operand);
  });
  return common;
}

bool CommonItems::reads(Operation *user, Value value) const {
  if (auto yield = dyn_cast<YieldOp>(user)) {
    ResultRange carried = yield->getParentOp()->getResults();
    return llvm::any_of(yield->getOpOperands(), [&](OpOperand &operand) {
      return operand.get() == value &&
             values.contains(carried[operand.getOperandNumber()]);
    });
  }
  if (auto repeat = dyn_cast<RepeatOp>(user)) {
    return repeat.getCount() == value ||
           llvm::any_of(
               llvm::zip_equal(repeat.getCarried(), repeat.getResults()),
               [&](auto pair) {
                 auto [begin, result] = pair;
                 return begin == value && values.contains(result);
               });
  }
  if (isa<ScalarOp>(user))
    return llvm::any_of(user->getResults(),
                        [&](Value result) { return values.contains(result); });
  return isRoot(user);
}

//===----------------------------------------------------------------------===//
// Erasing
//===----------------------------------------------------------------------===//

/// The same repeat, without the carried values in `unread`.
static void dropCarried(RepeatOp repeat, const llvm::BitVector &unread) {
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(repeat.getCarried()))
    if (!unread[index])
      kept.push_back(value);
  repeat.getBody().front().eraseArguments(unread);
  OpBuilder builder(repeat);
  auto slim =
      RepeatOp::create(builder, repeat.getLoc(), ValueRange(kept).getTypes(),
                       repeat.getCount(), kept, repeat.getExpected());
  slim.getBody().takeBody(repeat.getBody());
  unsigned next = 0;
  for (auto [index, result] : llvm::enumerate(repeat.getResults()))
    if (!unread[index])
      result.replaceAllUsesWith(slim.getResult(next++));
  repeat.erase();
}

void eraseUnreadItems(ScheduleOp schedule) {
  const CommonItems common = CommonItems::of(schedule);
  auto isUnread = [&](Value value) { return !common.has(value); };
  SmallVector<Operation *> unread;
  SmallVector<std::pair<RepeatOp, llvm::BitVector>> repeats; // inner ones first
  schedule.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (isa<ScalarOp>(op) && llvm::all_of(op->getResults(), isUnread))
      unread.push_back(op);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      repeats.push_back({repeat, llvm::BitVector(repeat.getNumResults())});
      for (OpResult result : repeat.getResults())
        repeats.back().second[result.getResultNumber()] = isUnread(result);
    }
  });
  for (auto &[repeat, which] : repeats)
    repeat.getBody().front().getTerminator()->eraseOperands(which);
  for (Operation *op : unread)
    op->dropAllReferences();
  for (auto &[repeat, which] : repeats)
    if (which.any())
      dropCarried(repeat, which);
  for (Operation *op : unread)
    op->erase();
}

} // namespace hone
