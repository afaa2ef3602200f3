//===- StreamWeights.cpp - hone-stream-weights ----------------------------===//
//
// While a layer runs, the next one is read ahead; when it has run, its pages
// go. The head alone is larger than many layers: its op lets it go tile by
// tile. Two calls in a row that share a weight (a tied head and its embedding
// in a model without layers, a recomputed layer) keep it between them.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_STREAMWEIGHTS
#include "passes/Passes.h.inc"

/// Names of the frozen parameters that `call` reads.
static llvm::StringSet<> frozenParameters(CallOp call, SymbolTable &symbols) {
  llvm::StringSet<> names;
  auto block = symbols.lookup<BlockOp>(call.getBlock());
  for (ParameterOp parameter : block.getBody().getOps<ParameterOp>())
    if (!parameter.getTrainable())
      names.insert((call.getPrefix() + parameter.getName()).str());
  return names;
}

static bool intersect(const llvm::StringSet<> &a, const llvm::StringSet<> &b) {
  return llvm::any_of(a.keys(),
                      [&](StringRef name) { return b.contains(name); });
}

static void streamEntry(EntryOp entry, SymbolTable &symbols) {
  SmallVector<CallOp> calls(entry.getBody().getOps<CallOp>());
  SmallVector<llvm::StringSet<>> reads;
  for (CallOp call : calls)
    reads.push_back(frozenParameters(call, symbols));

  OpBuilder builder(entry.getContext());
  for (auto [i, call] : llvm::enumerate(calls)) {
    bool isLast = i + 1 == calls.size();
    bool sharesNext = !isLast && intersect(reads[i], reads[i + 1]);
    if (!isLast && !sharesNext && !reads[i + 1].empty()) {
      CallOp next = calls[i + 1];
      builder.setInsertionPoint(call);
      PrefetchOp::create(builder, next.getLoc(), next.getBlockAttr(),
                         next.getPrefixAttr());
    }
    if (sharesNext || reads[i].empty())
      continue;
    builder.setInsertionPointAfter(call);
    ReleaseOp::create(builder, call.getLoc(), call.getBlockAttr(),
                      call.getPrefixAttr());
  }
}

namespace {

struct StreamWeights : impl::StreamWeightsBase<StreamWeights> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([](StreamOpInterface op) { op.setStreamed(true); });
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      streamEntry(entry, symbols);
  }
};

} // namespace
} // namespace hone
