//===- SplitParts.cpp - hone-split-parts ----------------------------------===//
//
// A cut changes nothing but who calls: each longest run of calls of one part
// becomes an entry, and what crosses becomes its boundary. So a model that is
// cut computes the same bits, and a cut needs no derivation of its own.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/Schedule.h"
#include "passes/parts/LayerParts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SPLITPARTS
#include "passes/Passes.h.inc"

namespace {

/// Ops of one part that stand together in an entry.
struct Segment {
  StringRef part;
  SmallVector<Operation *> ops;
  /// Values from before, and values that are read after it or returned.
  llvm::SetVector<Value> arguments, results;
  EntryOp entry;
};

struct SplitParts : impl::SplitPartsBase<SplitParts> {
  using SplitPartsBase::SplitPartsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (after < 0)
      return;
    FailureOr<EntryOp> loss = findLossEntry(module);
    if (failed(loss))
      return signalPassFailure();
    FailureOr<LayerParts> cut = LayerParts::cut(*loss, after);
    if (failed(cut))
      return signalPassFailure();
    parts = std::move(*cut);
    for (EntryOp entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
      if (!entry.getBody().getOps<CallOp>().empty() && failed(split(entry)))
        return signalPassFailure();
  }

private:
  /// The part of an op that stands in an entry; "" if it has none of its own,
  /// or is null.
  StringRef partOf(Operation *op) const;
  LogicalResult checkPools(EntryOp entry) const;
  FailureOr<std::vector<Segment>> segmentsOf(EntryOp entry) const;
  LogicalResult split(EntryOp entry);
  void createEntry(EntryOp whole, Segment &segment, Phase phase);
  LogicalResult replaceRuns(EntryOp whole,
                            const std::vector<Segment> &segments);

  LayerParts parts;
};

} // namespace

StringRef SplitParts::partOf(Operation *op) const {
  if (!op)
    return {};
  if (auto call = dyn_cast<CallOp>(op))
    return parts.partOf(call.getPrefix());
  if (auto gradient = dyn_cast<LayerGradientOp>(op))
    return parts.partOf(gradient.getPrefix());
  if (auto fold = dyn_cast<FoldGradientOp>(op))
    return partOf(fold.getLayerGradient());
  if (auto update = dyn_cast<UpdateOpInterface>(op))
    if (Value gradient = update.getLayerGradient())
      return partOf(gradient.getDefiningOp());
  // A pool is of the part whose layers read it, and so is what is kept in it.
  if (auto keep = dyn_cast<KeepOp>(op))
    return partOf(keep.getPool().getDefiningOp());
  if (isa<PoolOp, KeptOp>(op))
    for (Operation *user : op->getUsers())
      if (isa<KeptOp, CallOp>(user))
        return partOf(user);
  return {};
}

/// What layers of one part keep stays there.
LogicalResult SplitParts::checkPools(EntryOp entry) const {
  for (KeptOp kept : entry.getBody().getOps<KeptOp>()) {
    StringRef part = partOf(kept.getPool().getDefiningOp());
    for (Operation *user : kept->getUsers()) {
      if (partOf(user) == part)
        continue;
      InFlightDiagnostic diag =
          kept.emitOpError("reads a pool of another part; give each part a "
                           "pool of its own");
      diag.attachNote(kept.getPool().getLoc()) << "the pool is here";
      return diag;
    }
  }
  return success();
}

FailureOr<std::vector<Segment>> SplitParts::segmentsOf(EntryOp entry) const {
  std::vector<Segment> segments;
  for (Operation &op : entry.getBodyBlock().without_terminator()) {
    StringRef part = partOf(&op);
    if (part.empty())
      return op.emitOpError("belongs to no part of the model");
    if (segments.empty() || segments.back().part != part)
      segments.push_back({part, {}, {}, {}, {}});
    segments.back().ops.push_back(&op);
  }
  llvm::DenseMap<Operation *, Segment *> owner;
  for (Segment &segment : segments)
    for (Operation *op : segment.ops)
      owner[op] = &segment;
  for (Segment &segment : segments)
    for (Operation *op : segment.ops) {
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (maker && owner.lookup(maker) == &segment)
          continue;
        segment.arguments.insert(operand);
        if (maker)
          owner.lookup(maker)->results.insert(operand);
      }
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [](Operation *user) { return isa<ReturnOp>(user); }))
          segment.results.insert(result);
    }
  return segments;
}

void SplitParts::createEntry(EntryOp whole, Segment &segment, Phase phase) {
  StringRef name = whole.getPhase() == Phase::Forward ? whole.getSymName()
                                                      : stringifyPhase(phase);
  OpBuilder builder(whole);
  auto typesOf = [](ArrayRef<Value> values) {
    return llvm::to_vector(ValueRange(values).getTypes());
  };
  ArrayRef<Value> arguments = segment.arguments.getArrayRef();
  ArrayRef<Value> results = segment.results.getArrayRef();
  std::string symbol = (segment.part + "." + name).str();
  // An entry of updates is split in the same phases as that of gradients.
  if (SymbolTable(getOperation()).lookup(symbol))
    symbol = (segment.part + "." + whole.getSymName() + "." + name).str();
  segment.entry = EntryOp::create(builder, whole.getLoc(), symbol, phase,
                                  typesOf(arguments), typesOf(results));
  segment.entry.setPartAttr(builder.getStringAttr(segment.part));
  mlir::Block &body = segment.entry.getBodyBlock();
  IRMapping mapping;
  mapping.map(arguments, body.getArguments());
  bool hasReturn = !body.empty();
  builder = hasReturn ? OpBuilder(body.getTerminator())
                      : OpBuilder::atBlockEnd(&body);
  for (Operation *op : segment.ops)
    builder.clone(*op, mapping);
  if (hasReturn)
    return;
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(mapping.lookup(result));
  ReturnOp::create(builder, whole.getLoc(), returned);
}

LogicalResult SplitParts::replaceRuns(EntryOp whole,
                                      const std::vector<Segment> &segments) {
  SmallVector<RunOp> runs;
  getOperation().walk([&](RunOp run) {
    if (run.getEntry() == whole.getSymName() ||
        run.getOtherwise() == whole.getSymName())
      runs.push_back(run);
  });
  for (RunOp run : runs) {
    if (run.getCondition())
      return run.emitOpError("cannot be cut: it is conditional");
    auto schedule = run->getParentOfType<ScheduleOp>();
    bool staged =
        pipelineEvaluation && schedule.getPurpose() == Purpose::Evaluate;
    IRMapping values;
    values.map(whole.getBodyBlock().getArguments(), run.getValues());
    OpBuilder builder(run);
    for (auto [index, segment] : llvm::enumerate(segments)) {
      SmallVector<Value> arguments;
      for (Value argument : segment.arguments)
        arguments.push_back(values.lookup(argument));
      auto piece = RunOp::create(
          builder, run.getLoc(), EntryOp(segment.entry).getResultTypes(),
          EntryOp(segment.entry).getSymName(), /*otherwise=*/nullptr, arguments,
          run.getBatch(), /*condition=*/Value());
      piece.setStage(run.getStage() + (staged ? index : 0));
      values.map(segment.results.getArrayRef(), piece.getResults());
    }
    for (auto [from, to] :
         llvm::zip_equal(run.getResults(),
                         whole.getBodyBlock().getTerminator()->getOperands()))
      from.replaceAllUsesWith(values.lookup(to));
    Operation *next = run->getNextNode();
    run.erase();
    // What reads a later stage is of it.
    for (; next; next = next->getNextNode()) {
      auto item = dyn_cast<ItemOpInterface>(next);
      for (Value operand : next->getOperands())
        if (auto maker =
                dyn_cast_or_null<ItemOpInterface>(operand.getDefiningOp());
            item && maker && maker->getBlock() == next->getBlock())
          item.setItemStage(
              std::max(item.getItemStage(), maker.getItemStage()));
    }
  }
  return success();
}

LogicalResult SplitParts::split(EntryOp entry) {
  if (failed(checkPools(entry)))
    return failure();
  // One that stands at the top would be a piece of its part by itself.
  for (PoolOp pool :
       llvm::make_early_inc_range(entry.getBody().getOps<PoolOp>())) {
    auto users = pool->getUsers();
    if (!users.empty())
      pool->moveBefore(
          *llvm::min_element(users, [](Operation *a, Operation *b) {
            return a->isBeforeInBlock(b);
          }));
  }
  FailureOr<std::vector<Segment>> segments = segmentsOf(entry);
  if (failed(segments))
    return failure();
  auto top = llvm::find_if(*segments, [](const Segment &segment) {
    return segment.part == LayerParts::upper;
  });
  for (auto segment = segments->begin(); segment != segments->end(); ++segment)
    createEntry(entry, *segment,
                entry.getPhase() == Phase::Forward || segment < top
                    ? Phase::Forward
                : segment == top ? entry.getPhase()
                                 : Phase::Backward);
  if (failed(replaceRuns(entry, *segments)))
    return failure();
  entry.erase();
  return success();
}

} // namespace hone
