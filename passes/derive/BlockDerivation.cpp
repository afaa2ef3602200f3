//===- BlockDerivation.cpp - The backward of one block --------------------===//
//
// 1. Find which values are active.
// 2. For each active op choose an alternative; the values it reads are needed.
// 3. Write forward values: all of them (fused), or those that needed ones are
//    recomputed from (split).
// 4. Walk the ops in reverse and let each build its adjoint.
// Gradients of parameters end in hone.gradient as soon as they exist, so none
// outlives the op that makes it; sinks accumulate, so a parameter used twice
// needs no sum.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/BlockDerivation.h"

#include "passes/plan/CostEstimate.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hone {
namespace {

/// The values that adjoints read, for one block and one choice of alternatives.
class ResidualDemand {
public:
  static FailureOr<ResidualDemand>
  analyse(BlockOp block, const ActivityAnalysis &activity,
          llvm::function_ref<unsigned(unsigned count, bool trains)> choose);

  unsigned alternativeOf(Operation *op) const { return chosen.lookup(op); }
  /// Values of the block, arguments included, ambient ones not.
  ArrayRef<Value> values() const { return needed.getArrayRef(); }
  /// Ops whose auxiliary result is read.
  bool wantsAuxiliary(Operation *op) const { return auxiliary.contains(op); }
  ArrayRef<Operation *> auxiliaries() const { return auxiliary.getArrayRef(); }

private:
  llvm::DenseMap<Operation *, unsigned> chosen;
  llvm::SetVector<Value> needed;
  llvm::SetVector<Operation *> auxiliary;
};

/// Writes ops into a new block, mapping values of the original to values of
/// the new one.
class BlockWriter {
public:
  BlockWriter(BlockOp original, const Twine &suffix, ArrayRef<Type> inputs)
      : original(original), builder(original.getContext()) {
    builder.setInsertionPointAfter(original);
    std::string name = (original.getName().str() + suffix).str();
    // Result types are set when they are known.
    target = BlockOp::create(builder, original.getLoc(), name,
                             builder.getFunctionType(inputs, {}));
    builder.setInsertionPointToEnd(&target.getBody().front());
  }

  Block &body() { return target.getBody().front(); }
  void map(Value from, Value to) { mapping.map(from, to); }
  /// `rounded` is `from` in a smaller type; it is converted back where it is
  /// first read, so the wide value lives as briefly as can be.
  void mapRounded(Value from, Value rounded) { roundedOf[from] = rounded; }
  void mapAuxiliary(Operation *op, Value to) { auxiliaryOf[op] = to; }
  bool has(Value value) const {
    return mapping.contains(value) || roundedOf.contains(value);
  }

  /// Clones `op`, with its auxiliary result if asked for.
  void clone(Operation *op, bool withAuxiliary);
  /// `value` in bfloat16.
  Value round(Value value);
  /// The new value of `value`; ambient ops are cloned when first read.
  Value read(Value value);
  Value readAuxiliary(Operation *op) { return auxiliaryOf.lookup(op); }

  /// Builds adjoints of all active ops in reverse order. `cotangents` maps
  /// active values of the original block and is extended.
  LogicalResult writeAdjoints(const ActivityAnalysis &activity,
                              const ResidualDemand &demand,
                              llvm::DenseMap<Value, Value> &cotangents);

  BlockOp finish(ArrayRef<Value> results);
  OpBuilder &getBuilder() { return builder; }

private:
  void addCotangent(Value value, Value cotangent,
                    llvm::DenseMap<Value, Value> &cotangents);

  BlockOp original, target;
  OpBuilder builder;
  IRMapping mapping;
  llvm::DenseMap<Value, Value> roundedOf;
  llvm::DenseMap<Operation *, Value> auxiliaryOf;
};

} // namespace

/// Whether a trainable parameter is an operand of `op`.
static bool trains(Operation *op, const ActivityAnalysis &activity) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isAmbient(operand) && activity.isActive(operand);
  });
}

FailureOr<ResidualDemand>
ResidualDemand::analyse(BlockOp block, const ActivityAnalysis &activity,
                        llvm::function_ref<unsigned(unsigned, bool)> choose) {
  ResidualDemand demand;
  for (Operation &op : block.getBody().front().without_terminator()) {
    llvm::BitVector active = activity.activeOperands(&op);
    if (active.none())
      continue;
    auto adjoint = dyn_cast<AdjointOpInterface>(op);
    if (!adjoint)
      return op.emitOpError("has no derivative rule (AdjointOpInterface), but "
                            "a trainable parameter reaches it");
    auto alternatives = adjoint.getResidualAlternatives(active);
    unsigned choice = choose(alternatives.size(), trains(&op, activity));
    demand.chosen[&op] = choice;
    for (const Residual &residual : alternatives[choice].reads) {
      if (residual.kind == Residual::Kind::Auxiliary) {
        demand.auxiliary.insert(&op);
        continue;
      }
      Value value = residual.kind == Residual::Kind::Operand
                        ? op.getOperand(residual.index)
                        : op.getResult(residual.index);
      if (!isAmbient(value))
        demand.needed.insert(value);
    }
  }
  return demand;
}

Operation *cloneWithAuxiliary(OpBuilder &builder, Operation *op,
                              IRMapping &mapping, bool withAuxiliary) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(mapping.lookup(operand));
  auto adjoint = dyn_cast<AdjointOpInterface>(op);
  Type auxiliaryType =
      withAuxiliary && adjoint ? adjoint.getAuxiliaryType() : Type();
  // The auxiliary result is the last: an op that has it already has it here.
  SmallVector<Type> types(op->getResultTypes());
  if (auxiliaryType && types.size() == 1)
    types.push_back(auxiliaryType);
  OperationState state(op->getLoc(), op->getName(), operands, types,
                       op->getAttrDictionary().getValue());
  Operation *copy = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    mapping.map(from, to);
  return copy;
}

void BlockWriter::clone(Operation *op, bool withAuxiliary) {
  for (Value operand : op->getOperands())
    read(operand);
  Operation *copy = cloneWithAuxiliary(builder, op, mapping, withAuxiliary);
  if (withAuxiliary)
    auxiliaryOf[op] = copy->getResults().back();
}

Value BlockWriter::read(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (Value rounded = roundedOf.lookup(value)) {
    mapping.map(value, ConvertOp::create(builder, value.getLoc(),
                                         value.getType(), rounded));
    return mapping.lookup(value);
  }
  assert(isAmbient(value) && "a residual that is neither kept nor recomputed");
  builder.clone(*value.getDefiningOp(), mapping);
  return mapping.lookup(value);
}

Value BlockWriter::round(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return ConvertOp::create(builder, value.getLoc(),
                           type.clone(builder.getBF16Type()), read(value));
}

void BlockWriter::addCotangent(Value value, Value cotangent,
                               llvm::DenseMap<Value, Value> &cotangents) {
  if (auto parameter = value.getDefiningOp<ParameterOp>()) {
    GradientOp::create(builder, parameter.getLoc(), cotangent,
                       parameter.getNameAttr());
    return;
  }
  Value &sum = cotangents[value];
  sum =
      sum ? AddOp::create(builder, value.getLoc(), sum, cotangent) : cotangent;
}

LogicalResult
BlockWriter::writeAdjoints(const ActivityAnalysis &activity,
                           const ResidualDemand &demand,
                           llvm::DenseMap<Value, Value> &cotangents) {
  for (Operation &op :
       llvm::reverse(original.getBody().front().without_terminator())) {
    llvm::BitVector active = activity.activeOperands(&op);
    if (active.none())
      continue;
    SmallVector<Value> ofResults;
    for (Value result : op.getResults())
      ofResults.push_back(cotangents.lookup(result));
    // An active op that nothing active reads has no say in the loss.
    if (llvm::none_of(ofResults, [](Value v) { return bool(v); }))
      continue;
    // A cotangent that buildAdjoint does not read would be dropped in silence.
    if (op.getNumResults() > 1 && ofResults.back() &&
        cast<AdjointOpInterface>(op).getAuxiliaryType())
      return op.emitOpError("has no adjoint with respect to its auxiliary "
                            "result, but the loss depends on it");
    auto read = [&](Residual residual) {
      switch (residual.kind) {
      case Residual::Kind::Operand:
        return this->read(op.getOperand(residual.index));
      case Residual::Kind::Result:
        return this->read(op.getResult(residual.index));
      case Residual::Kind::Auxiliary:
        return readAuxiliary(&op);
      }
      llvm_unreachable("all kinds are handled");
    };
    AdjointRequest request{active, ofResults, demand.alternativeOf(&op), read};
    auto ofOperands =
        cast<AdjointOpInterface>(op).buildAdjoint(builder, request);
    if (failed(ofOperands))
      return failure();
    for (auto [operand, cotangent] : llvm::zip(op.getOperands(), *ofOperands))
      if (cotangent && activity.isActive(operand))
        addCotangent(operand, cotangent, cotangents);
  }
  return success();
}

BlockOp BlockWriter::finish(ArrayRef<Value> results) {
  ReturnOp::create(builder, original.getLoc(), results);
  target.setFunctionTypeAttr(TypeAttr::get(builder.getFunctionType(
      body().getArgumentTypes(), ValueRange(results).getTypes())));
  return target;
}

/// The returned values of `block`.
static OperandRange returned(BlockOp block) {
  return block.getBody().front().getTerminator()->getOperands();
}

static SmallVector<unsigned> setBits(const llvm::BitVector &bits) {
  return llvm::to_vector_of<unsigned>(bits.set_bits());
}

/// Collects the cotangents of the active arguments; each must exist and be a
/// value that a block can return.
static LogicalResult
collectArgumentCotangents(BlockOp block, ArrayRef<unsigned> activeArguments,
                          const llvm::DenseMap<Value, Value> &cotangents,
                          SmallVectorImpl<Value> &results) {
  for (unsigned index : activeArguments) {
    Value cotangent = cotangents.lookup(block.getBody().getArgument(index));
    if (!cotangent)
      return block.emitOpError("expects its results to depend on argument #")
             << index << ", which a trainable parameter reaches";
    if (isa<BlockArgument>(cotangent) || llvm::is_contained(results, cotangent))
      return block.emitOpError("passes argument #")
             << index
             << " on unchanged; let the layer that follows read it instead";
    results.push_back(cotangent);
  }
  return success();
}

/// Ops of `block` from which `values` and `auxiliaries` are recomputed, given
/// the values that `writer` already has; in program order.
static SmallVector<Operation *>
recomputation(BlockOp block, const BlockWriter &writer, ArrayRef<Value> values,
              ArrayRef<Operation *> auxiliaries) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> work(values);
  for (Operation *op : auxiliaries)
    work.push_back(op->getResult(0));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || writer.has(value) || isAmbient(value) || !slice.insert(op))
      continue;
    llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : block.getBody().front())
    if (slice.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

/// Whether `policy` keeps `value` in bfloat16.
static bool isRounded(Value value, const ResidualPolicy &policy) {
  auto type = cast<RankedTensorType>(value.getType());
  return policy.roundsInnerValues() && type.getRank() == 2 &&
         type.getElementType().isF32();
}

/// Clones `block` with the kept values as additional results.
static BlockOp writeForward(BlockOp block, StringRef variant,
                            const ResidualPolicy &policy,
                            ArrayRef<Value> keptValues,
                            ArrayRef<Operation *> keptAuxiliaries) {
  BlockWriter writer(block, ".forward" + variant, block.getArgumentTypes());
  for (auto [from, to] :
       llvm::zip(block.getBody().getArguments(), writer.body().getArguments()))
    writer.map(from, to);
  llvm::DenseMap<Value, Value> rounded;
  for (Operation &op : block.getBody().front().without_terminator()) {
    if (op.hasTrait<Ambient>())
      continue;
    writer.clone(&op, llvm::is_contained(keptAuxiliaries, &op));
    // At once, so that the value itself need not outlive its last reader.
    for (Value value : op.getResults())
      if (llvm::is_contained(keptValues, value) && isRounded(value, policy))
        rounded[value] = writer.round(value);
  }
  SmallVector<Value> results;
  for (Value value : returned(block))
    results.push_back(writer.read(value));
  for (Value value : keptValues)
    results.push_back(rounded.contains(value) ? rounded[value]
                                              : writer.read(value));
  for (Operation *op : keptAuxiliaries)
    results.push_back(writer.readAuxiliary(op));
  return writer.finish(results);
}

namespace {
/// The values that a backward gets from the forward, and those that it
/// recomputes.
struct Residuals {
  SmallVector<Value> kept;
  SmallVector<Operation *> keptAuxiliaries, recomputedAuxiliaries;

  bool any() const { return !kept.empty() || !keptAuxiliaries.empty(); }
};
} // namespace

/// Chooses among the values that adjoints read. The caller has the arguments
/// and the results of the block, so they are not kept.
static FailureOr<Residuals> chooseResiduals(BlockOp block,
                                            const ActivityAnalysis &activity,
                                            const ResidualDemand &demand,
                                            const ResidualPolicy &policy) {
  Residuals residuals;
  bool callerHasSome = false;
  int64_t widest = 0;
  for (BlockArgument argument : block.getBody().getArguments())
    widest = std::max(widest, elementsAtRows(argument.getType(), 1));
  auto isNarrow = [&](Type type) { return elementsAtRows(type, 1) <= widest; };
  // Values that are kept, or that cheap ops make of those, of arguments and of
  // ambient values. In the order of the block each is decided once.
  llvm::DenseSet<Value> atHand;
  auto isAtHand = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->hasTrait<Ambient>() || atHand.contains(value);
  };
  for (Operation &op : block.getBody().front()) {
    const bool isMadeCheaply = op.getNumResults() > 0 && isCheap(&op) &&
                               llvm::all_of(op.getOperands(), isAtHand);
    for (Value value : op.getResults()) {
      if (isMadeCheaply)
        atHand.insert(value);
      if (!llvm::is_contained(demand.values(), value) ||
          !policy.keepsInnerValue(isNarrow(value.getType()), isMadeCheaply))
        continue;
      atHand.insert(value);
      if (llvm::is_contained(returned(block), value))
        callerHasSome = true;
      else
        residuals.kept.push_back(value);
    }
  }
  if (callerHasSome)
    return block.emitOpError("returns a value that its own adjoint reads; "
                             "'full' cannot keep it twice");
  for (Operation *op : demand.auxiliaries()) {
    Type type = cast<AdjointOpInterface>(op).getAuxiliaryType();
    // An op whose result is kept does not run again, however wide this is.
    bool runsOnce = llvm::is_contained(residuals.kept, op->getResult(0));
    (runsOnce || policy.keepsAuxiliary(trains(op, activity), isNarrow(type))
         ? residuals.keptAuxiliaries
         : residuals.recomputedAuxiliaries)
        .push_back(op);
  }
  return residuals;
}

/// Writes the backward of `block`, given `residuals`, and notes in `result`
/// which arguments it reads.
static LogicalResult writeBackward(BlockOp block, StringRef variant,
                                   const ActivityAnalysis &activity,
                                   const ResidualDemand &demand,
                                   const ResidualPolicy &policy,
                                   const Residuals &residuals,
                                   SplitDerivation &result) {
  SmallVector<Type> inputs(block.getArgumentTypes());
  llvm::append_range(inputs,
                     result.forward.getResultTypes().take_back(result.numKept));
  for (unsigned index : result.activeResults)
    inputs.push_back(block.getResultTypes()[index]);

  BlockWriter writer(block, ".backward" + variant, inputs);
  unsigned next = 0;
  for (BlockArgument argument : block.getBody().getArguments())
    writer.map(argument, writer.body().getArgument(next++));
  for (Value value : residuals.kept) {
    Value argument = writer.body().getArgument(next++);
    if (isRounded(value, policy))
      writer.mapRounded(value, argument);
    else
      writer.map(value, argument);
  }
  for (Operation *op : residuals.keptAuxiliaries)
    writer.mapAuxiliary(op, writer.body().getArgument(next++));
  SmallVector<Value> recomputed(demand.values());
  if (policy.recomputesWholeBlock())
    llvm::append_range(recomputed, returned(block));
  for (Operation *op : recomputation(block, writer, recomputed,
                                     residuals.recomputedAuxiliaries))
    writer.clone(op, llvm::is_contained(residuals.recomputedAuxiliaries, op));
  llvm::DenseMap<Value, Value> cotangents;
  for (unsigned index : result.activeResults)
    cotangents[returned(block)[index]] = writer.body().getArgument(next++);

  SmallVector<Value> results;
  if (failed(writer.writeAdjoints(activity, demand, cotangents)) ||
      failed(collectArgumentCotangents(block, result.activeArguments,
                                       cotangents, results)))
    return failure();

  // Arguments that nothing reads need not be kept by the caller.
  unsigned numArguments = block.getArgumentTypes().size();
  llvm::BitVector unread(inputs.size());
  for (unsigned index = 0; index < numArguments; ++index)
    if (writer.body().getArgument(index).use_empty())
      unread.set(index);
    else
      result.arguments.push_back(index);
  writer.body().eraseArguments(unread);
  result.backward = writer.finish(results);
  return success();
}

FailureOr<SplitDerivation> deriveSplit(BlockOp block,
                                       const ActiveInputs &active,
                                       const ResidualPolicy &policy,
                                       StringRef variant) {
  ActivityAnalysis activity(block, active);
  auto demand = ResidualDemand::analyse(
      block, activity, [&](unsigned count, bool trains) {
        return policy.chooseAlternative(count, trains);
      });
  if (failed(demand))
    return failure();
  FailureOr<Residuals> residuals =
      chooseResiduals(block, activity, *demand, policy);
  if (failed(residuals))
    return failure();

  SplitDerivation result;
  result.forward = block;
  result.activeArguments = setBits(active.arguments);
  result.activeResults = setBits(activity.activeResults());
  if (residuals->any())
    result.forward = writeForward(block, variant, policy, residuals->kept,
                                  residuals->keptAuxiliaries);
  result.numKept =
      result.forward.getResultTypes().size() - block.getResultTypes().size();
  if (failed(writeBackward(block, variant, activity, *demand, policy,
                           *residuals, result)))
    return failure();
  return result;
}

FailureOr<FusedDerivation> deriveFused(BlockOp block,
                                       const ActiveInputs &active) {
  ActivityAnalysis activity(block, active);
  auto demand = ResidualDemand::analyse(block, activity,
                                        [](unsigned, bool) { return 0; });
  if (failed(demand))
    return failure();

  FusedDerivation result;
  result.activeArguments = setBits(active.arguments);
  result.activeResults = setBits(activity.activeResults());
  SmallVector<Type> inputs(block.getArgumentTypes());
  for (unsigned index : result.activeResults)
    inputs.push_back(block.getResultTypes()[index]);

  BlockWriter writer(block, ".gradient", inputs);
  unsigned next = 0;
  for (BlockArgument argument : block.getBody().getArguments())
    writer.map(argument, writer.body().getArgument(next++));
  for (Operation &op : block.getBody().front().without_terminator())
    if (!op.hasTrait<Ambient>())
      writer.clone(&op, demand->wantsAuxiliary(&op));
  SmallVector<Value> results;
  for (Value value : returned(block))
    results.push_back(writer.read(value));
  llvm::DenseMap<Value, Value> cotangents;
  for (unsigned index : result.activeResults)
    cotangents[returned(block)[index]] = writer.body().getArgument(next++);
  if (failed(writer.writeAdjoints(activity, *demand, cotangents)) ||
      failed(collectArgumentCotangents(block, result.activeArguments,
                                       cotangents, results)))
    return failure();
  result.gradient = writer.finish(results);
  return result;
}

} // namespace hone
