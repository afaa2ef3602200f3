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

namespace {
/// The frozen parameters that a call reads, whichever block it runs.
struct Reads {
  llvm::StringSet<> names;
  SmallVector<FlatSymbolRefAttr, 2> blocks; ///< that read some of them
};
} // namespace

static Reads frozenParameters(CallOp call, SymbolTable &symbols) {
  Reads reads;
  for (FlatSymbolRefAttr callee : call.getCallees()) {
    auto block = symbols.lookup<BlockOp>(callee.getValue());
    size_t known = reads.names.size();
    for (ParameterOp parameter : block.getBody().getOps<ParameterOp>())
      if (!parameter.getTrainable())
        reads.names.insert((call.getPrefix() + parameter.getName()).str());
    if (reads.names.size() > known)
      reads.blocks.push_back(callee);
  }
  return reads;
}

static bool intersect(const llvm::StringSet<> &a, const llvm::StringSet<> &b) {
  return llvm::any_of(a.keys(),
                      [&](StringRef name) { return b.contains(name); });
}

static void streamEntry(EntryOp entry, SymbolTable &symbols) {
  SmallVector<CallOp> calls(entry.getBody().getOps<CallOp>());
  SmallVector<Reads> reads;
  for (CallOp call : calls)
    reads.push_back(frozenParameters(call, symbols));

  OpBuilder builder(entry.getContext());
  for (auto [i, call] : llvm::enumerate(calls)) {
    bool isLast = i + 1 == calls.size();
    bool sharesNext = !isLast && intersect(reads[i].names, reads[i + 1].names);
    if (!isLast && !sharesNext) {
      CallOp next = calls[i + 1];
      builder.setInsertionPoint(call);
      for (FlatSymbolRefAttr block : reads[i + 1].blocks)
        PrefetchOp::create(builder, next.getLoc(), block, next.getPrefixAttr());
    }
    if (sharesNext)
      continue;
    builder.setInsertionPointAfter(call);
    for (FlatSymbolRefAttr block : reads[i].blocks)
      ReleaseOp::create(builder, call.getLoc(), block, call.getPrefixAttr());
  }
}

namespace {

struct StreamWeights : impl::StreamWeightsBase<StreamWeights> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // What trains is in no file.
    getOperation().walk([](StreamOpInterface op) {
      op.setStreamed(llvm::any_of(op->getOperands(), [](Value operand) {
        auto parameter = operand.getDefiningOp<ParameterOp>();
        return parameter && !parameter.getTrainable();
      }));
    });
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      streamEntry(entry, symbols);
  }
};

} // namespace
} // namespace hone
