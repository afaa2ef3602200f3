//===- OffloadInputs.cpp - hone-offload-inputs ----------------------------===//
//
// A value is written while the call runs that reads it last in the forward, and
// read while the one before its backward runs: with a file that keeps up no
// call waits, and memory has the values of one layer more than are in use.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/OffloadInputs.h"

#include "dialects/Hone/Sizes.h"
#include "passes/Passes.h"
#include "passes/module/Schedule.h"
#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_OFFLOADINPUTS
#include "passes/Passes.h.inc"

namespace {
/// A value, and the calls between which nothing reads it, by their numbers.
struct Rest {
  OpResult value;
  size_t begin; ///< the last call that uses it before, or that is beside it
  size_t end;   ///< the first one after
};
} // namespace

/// The fewest calls from `begin` to `end` of a rest: one between the call that
/// waits for the write and the call that the read runs beside.
static constexpr size_t shortestRest = 3;

/// A value narrower than such a part of its block's first result is not worth a
/// request: h of an adapter, or a log-sum-exp.
static constexpr int64_t widestShare = 16;

static int64_t rowBytes(Value value) { return bytesAtRows(value.getType(), 1); }

/// Where `result` rests, if calls alone read it.
static std::optional<Rest>
findRest(OpResult result, const llvm::DenseMap<Operation *, size_t> &numbers) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !hasRows(type) || type.getNumDynamicDims() != 1 ||
      rowBytes(result) * widestShare <
          rowBytes(result.getOwner()->getResult(0)))
    return std::nullopt;
  const size_t made = numbers.lookup(result.getOwner());
  SmallVector<size_t> uses = {made};
  for (Operation *user : result.getUsers()) {
    auto found = numbers.find(user);
    if (found == numbers.end())
      return std::nullopt;
    uses.push_back(found->second);
  }
  llvm::sort(uses);
  size_t longest = 0;
  for (size_t i = 1; i + 1 < uses.size(); ++i)
    if (uses[i + 1] - uses[i] > uses[longest + 1] - uses[longest])
      longest = i;
  if (uses.size() < 2)
    return std::nullopt;
  // It is written beside the call after the one that made it, at the least.
  Rest rest{result, std::max(uses[longest], made + 1), uses[longest + 1]};
  if (rest.end < rest.begin + shortestRest)
    return std::nullopt;
  return rest;
}

int64_t offloadInputs(EntryOp entry, int64_t most, int64_t rows) {
  SmallVector<CallOp> calls(entry.getBody().getOps<CallOp>());
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [i, call] : llvm::enumerate(calls))
    numbers[call] = i;
  OpBuilder builder(entry.getContext());
  int64_t count = 0, offset = 0;
  Operation *last = nullptr; ///< after which the next begins
  auto offload = [&](const Rest &rest) {
    Value value = rest.value;
    CallOp before = calls[rest.begin], after = calls[rest.end];
    builder.setInsertionPointAfter(last);
    last = OffloadOp::create(builder, last->getLoc(), value, offset);
    builder.setInsertionPointAfter(before);
    AwaitOp::create(builder, before.getLoc(), value);
    builder.setInsertionPoint(calls[rest.end - 1]);
    Value read = ReloadOp::create(builder, after.getLoc(), value.getType(),
                                  builder.getI64IntegerAttr(offset));
    builder.setInsertionPoint(after);
    AwaitOp::create(builder, after.getLoc(), read);
    value.replaceUsesWithIf(read, [&](OpOperand &use) {
      auto found = numbers.find(use.getOwner());
      return found != numbers.end() && found->second >= rest.end;
    });
    offset +=
        llvm::alignTo(bytesAtRows(value.getType(), rows), OffloadOp::alignment);
  };
  for (CallOp call : calls) {
    if (count == most)
      break;
    last = call;
    for (OpResult result : call->getResults())
      if (std::optional<Rest> rest = findRest(result, numbers))
        offload(*rest);
    count += last != call;
  }
  return count;
}

OffloadedBytes OffloadedBytes::of(ModuleOp module) {
  OffloadedBytes bytes;
  std::optional<int64_t> rows = mostRows(module);
  if (!rows)
    return bytes;
  for (EntryOp entry : module.getOps<EntryOp>())
    for (OffloadOp offload : entry.getBody().getOps<OffloadOp>())
      bytes.file = std::max<int64_t>(
          bytes.file,
          offload.getOffset() +
              llvm::alignTo(offload.getBytes(*rows), OffloadOp::alignment));
  // An entry that runs for the first batch and again for the others counts
  // once.
  llvm::SetVector<EntryOp> entries;
  entries.insert_range(entriesOfStep(module));
  for (EntryOp entry : entries)
    for (OffloadOp offload : entry.getBody().getOps<OffloadOp>()) {
      bytes.perBatch += offload.getBytes(*rows);
      ++bytes.values;
    }
  return bytes;
}

namespace {
struct OffloadInputs : impl::OffloadInputsBase<OffloadInputs> {
  using OffloadInputsBase::OffloadInputsBase;

  void runOnOperation() override {
    auto rows = maxRows(getOperation());
    if (failed(rows))
      return signalPassFailure();
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      offloadInputs(entry, inputs, *rows);
  }
};
} // namespace

} // namespace hone
