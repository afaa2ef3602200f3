//===- StreamWeights.cpp - hone-stream-weights ----------------------------===//
//
// While a layer runs, the next one is read ahead; when it has run, its pages
// go. The head alone is larger than many layers: its op lets it go tile by
// tile. Two calls in a row that share a weight (a tied head and its embedding
// in a model without layers, a recomputed layer) keep it between them.
//
// A table of which steps read only some rows is not mapped where that costs
// next to nothing: to read a row from the file takes a microsecond.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"

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

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// A table below this size is hardly worth a thought.
static constexpr int64_t kLargeTable = 1 << 20;
/// Multiply-adds, for each row, that take a hundred times as long as to read
/// the row from a file instead of where it is mapped.
static constexpr int64_t kWorkOfRow = 4 << 20;

namespace {
/// The reads of one frozen parameter, by the calls of all entries.
struct Reading {
  SmallVector<StreamOpInterface, 1> ofRows; ///< ops that read a few rows
  bool isWhole = false;                     ///< another op reads it
  int64_t elements = 0;
  int64_t bytes = 0;
};
} // namespace

static llvm::StringMap<Reading> readingsOf(ModuleOp module,
                                           SymbolTable &symbols) {
  llvm::StringMap<Reading> readings;
  auto read = [&](StringRef prefix, ParameterOp parameter) {
    Reading &reading = readings[(prefix + parameter.getName()).str()];
    if (reading.bytes == 0)
      for (const StoredTensor &stored : storedTensors(parameter))
        reading.bytes += bytesAtRows(stored.type, 0);
    reading.elements = parameter.getType().getNumElements();
    for (Operation *user : parameter.getResult().getUsers()) {
      auto op = dyn_cast<StreamOpInterface>(user);
      if (op && op.readsNamedRows())
        reading.ofRows.push_back(op);
      else
        reading.isWhole = true;
    }
  };
  for (EntryOp entry : module.getOps<EntryOp>())
    (void)forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
      for (ParameterOp parameter : block.getBody().getOps<ParameterOp>())
        if (!parameter.getTrainable())
          read(call.getPrefix(), parameter);
    });
  return readings;
}

static void streamTables(ModuleOp module, SymbolTable &symbols) {
  llvm::StringMap<Reading> readings = readingsOf(module, symbols);
  int64_t workOfRow = 0;
  for (const Reading &reading : llvm::make_second_range(readings))
    workOfRow += reading.isWhole ? reading.elements : 0;
  if (workOfRow < kWorkOfRow)
    return;
  for (Reading &reading : llvm::make_second_range(readings))
    if (!reading.isWhole && reading.bytes >= kLargeTable)
      for (StreamOpInterface op : reading.ofRows)
        op.setStreamed(true);
}

namespace {

struct StreamWeights : impl::StreamWeightsBase<StreamWeights> {
  using StreamWeightsBase::StreamWeightsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    if (tables)
      return streamTables(getOperation(), symbols);
    // Trainable parameters are in no file.
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
