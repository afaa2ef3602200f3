//===- Lifetimes.cpp - When values are in use -----------------------------===//

#include "passes/place/Lifetimes.h"

#include "dialects/Hone/SequenceTiles.h"

using namespace mlir;

namespace hone {

Lifetimes::Lifetimes(mlir::Block &body) {
  int64_t next = 0;
  for (Operation &op : body)
    numbered[&op] = numberOf(&op, next++);
}

Lifetimes::Numbered Lifetimes::numberOf(Operation *op, int64_t at) {
  return {at, op->hasTrait<Ambient>(), op->hasTrait<View>()};
}

static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<ReturnOp>(user); });
}

bool isAccumulation(Operation *op) {
  auto window = dyn_cast<LayerGradientOp>(op);
  return window && window.getCondition();
}

bool isOnlyAddedToGradient(Value value) {
  Operation *op = value.getDefiningOp();
  return op && value.hasOneUse() && isa<GradientOp>(*value.user_begin()) &&
         !hasRows(value.getType()) &&
         (op->hasTrait<RowWise>() || op->hasTrait<AddsToGradient>());
}

bool Lifetimes::needsMemory(OpResult value) const {
  const Numbered maker = find(value.getOwner());
  return !maker.isAmbient && !maker.isView && !isReturned(value) &&
         !isOnlyAddedToGradient(value);
}

int64_t Lifetimes::lastUse(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    const Numbered found = find(user);
    last = std::max(last, found.at);
    // A reader of a perturbed parameter, or of a direction, reads its key and
    // scale.
    if (found.isView || found.isAmbient)
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
}

Buffer Lifetimes::buffer(Value value, PlacedRows rows) const {
  int64_t first = position(value.getDefiningOp());
  return {bytesIn(value.getType(), rows), first,
          std::max(first, lastUse(value))};
}

Buffer Lifetimes::during(Operation *op, int64_t bytes) const {
  return {bytes, position(op), position(op)};
}

/// The lifetimes of a body that this one's ops run.
struct Lifetimes::Callee {
  explicit Callee(mlir::Block &body)
      : body(body), lifetimes(body), shared(body, lifetimes) {}

  /// Whether the body never reads its argument `argument` once it has begun to
  /// write the value that it returns as `result`.
  bool mayOverwrite(unsigned argument, unsigned result) const;

  mlir::Block &body;
  Lifetimes lifetimes;
  SharedMemory shared;
};

Lifetimes::~Lifetimes() = default;

bool Lifetimes::Callee::mayOverwrite(unsigned argument, unsigned result) const {
  auto returned = cast<OpResult>(body.getTerminator()->getOperand(result));
  OpResult written = shared.first(returned);
  int64_t begin = lifetimes.position(written.getOwner());
  Value read = body.getArgument(argument);
  for (Operation *user : read.getUsers()) {
    int64_t at = lifetimes.position(user);
    if (lifetimes.isAmbient(user) || at > begin ||
        (at == begin && !lifetimes.mayOverwrite(read, written)))
      return false;
  }
  return true;
}

bool Lifetimes::mayOverwriteIn(mlir::Block &body, unsigned argument,
                               unsigned result) const {
  auto [known, isNew] =
      overwrites.try_emplace({&body, argument, result}, false);
  if (!isNew)
    return known->second;
  std::unique_ptr<Callee> &callee = callees[&body];
  if (!callee)
    callee = std::make_unique<Callee>(body);
  return known->second = callee->mayOverwrite(argument, result);
}

/// The bodies that `op` may run with its first operands as arguments.
static SmallVector<mlir::Block *, 2> bodiesOf(Operation *op,
                                              SymbolTableCollection &symbols) {
  if (auto tiles = dyn_cast<RowTilesOp>(op))
    return {&tiles.getBody().front()};
  SmallVector<mlir::Block *, 2> bodies;
  if (auto call = dyn_cast<CallOp>(op))
    for (FlatSymbolRefAttr callee : call.getCallees())
      bodies.push_back(&symbols.lookupNearestSymbolFrom<BlockOp>(call, callee)
                            .getBody()
                            .front());
  return bodies;
}

bool Lifetimes::mayOverwrite(Value operand, OpResult result) const {
  Operation *op = result.getOwner();
  Operation *maker = operand.getDefiningOp();
  if (operand.getType() != result.getType() ||
      lastUse(operand) > position(op) || (maker && isView(maker)))
    return false;
  auto inPlace = dyn_cast<InPlaceOpInterface>(op);
  auto bodies = bodiesOf(op, symbols);
  for (OpOperand &use : op->getOpOperands()) {
    if (use.get() != operand)
      continue;
    unsigned from = use.getOperandNumber(), to = result.getResultNumber();
    bool may = bodies.empty() ? inPlace && inPlace.mayOverwrite(from, to)
                              : llvm::all_of(bodies, [&](mlir::Block *body) {
                                  return from < body->getNumArguments() &&
                                         mayOverwriteIn(*body, from, to);
                                });
    if (!may)
      return false;
  }
  return true;
}

SharedMemory::SharedMemory(mlir::Block &body, const Lifetimes &lifetimes) {
  // A result of the body that can be written over an argument is left to the
  // caller: an earlier value in its memory would forbid that.
  auto isForCaller = [&](OpResult result) {
    return isReturned(result) &&
           llvm::any_of(result.getOwner()->getOperands(), [&](Value operand) {
             return isa<BlockArgument>(operand) &&
                    lifetimes.mayOverwrite(operand, result);
           });
  };
  for (Operation &op : body) {
    if (lifetimes.isAmbient(&op))
      continue;
    for (OpResult result : op.getResults()) {
      if (isForCaller(result))
        continue;
      for (Value operand : op.getOperands()) {
        auto known = dyn_cast<OpResult>(operand);
        // Types first: few operands are of the result's.
        if (!known || known.getType() != result.getType() ||
            lifetimes.isAmbient(known.getOwner()) ||
            known.getOwner()->getBlock() != &body || after.contains(known) ||
            !lifetimes.mayOverwrite(operand, result))
          continue;
        before[result] = known;
        after[known] = result;
        break;
      }
    }
  }
  auto tiles = dyn_cast<RowTilesOp>(body.getParentOp());
  if (!tiles || longestSequence(tiles) == 0)
    return;
  // An earlier value in a result's memory would forbid that the result is
  // written over an argument. Of a tile that value is small, of a batch the
  // result is not.
  for (Value returned : body.getTerminator()->getOperands()) {
    OpResult earliest;
    for (auto value = cast<OpResult>(returned); value;
         value = before.lookup(value))
      for (Value operand : value.getOwner()->getOperands())
        if (isa<BlockArgument>(operand) &&
            lifetimes.mayOverwrite(operand, value))
          earliest = value;
    if (OpResult previous = earliest ? before.lookup(earliest) : earliest) {
      before.erase(earliest);
      after.erase(previous);
    }
  }
}

OpResult SharedMemory::first(OpResult value) const {
  while (OpResult previous = before.lookup(value))
    value = previous;
  return value;
}

OpResult SharedMemory::last(OpResult value) const {
  while (OpResult next = after.lookup(value))
    value = next;
  return value;
}

bool SharedMemory::mayWriteDuring(OpResult value, Operation *op) const {
  if (OpResult previous = before.lookup(value))
    return !llvm::is_contained(op->getOperands(), previous);
  // Memory of the caller: an argument may be there that is read no later
  // than by `op`.
  return isReturned(value) && llvm::none_of(op->getOperands(), [&](Value read) {
           return isa<BlockArgument>(read) && read.getType() == value.getType();
         });
}

FailureOr<int64_t> maxRows(Operation *module) {
  std::optional<int64_t> rows = mostRows(module);
  if (!rows)
    return module->emitError("expects the attribute '")
           << HoneDialect::getMaxRowsAttrName() << "'";
  return *rows;
}

int64_t scratchBytes(Operation *op, unsigned placement) {
  return placedNumber(op, HoneDialect::getScratchBytesAttrName(),
                      HoneDialect::getFewerScratchBytesAttrName(), placement);
}

int64_t scratchBytes(CallOp call, const SymbolTable &symbols,
                     unsigned placement) {
  int64_t bytes = 0;
  for (FlatSymbolRefAttr callee : call.getCallees())
    bytes = std::max(
        bytes, scratchBytes(symbols.lookup(callee.getValue()), placement));
  return bytes;
}

int64_t rowsOfTile(RowTilesOp tiles, int64_t rows) {
  return std::min<int64_t>(rows, tiles.getTileRows());
}

PlacedRows rowsOfTile(RowTilesOp tiles, PlacedRows rows) {
  const auto most = static_cast<int64_t>(tiles.getTileRows());
  // A sequence is as long in a batch of few.
  if (longestSequence(tiles) > 0)
    return {rowsOfTile(tiles, rows.rows), rowsOfTile(tiles, rows.most)};
  return {std::min(rows.rows, tileRowsIn(most, rows)),
          rowsOfTile(tiles, rows.most)};
}

std::string cacheRegion(CallOp call, CacheOp cache) {
  return ("cache." + call.getPrefix() + cache.getName()).str();
}

RegionOp findRegion(ModuleOp module, StringRef name) {
  for (RegionOp region : module.getOps<RegionOp>())
    if (region.getName() == name)
      return region;
  return {};
}

} // namespace hone
