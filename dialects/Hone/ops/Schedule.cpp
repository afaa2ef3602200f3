//===- Schedule.cpp - The items of a step ---------------------------------===//

#include "dialects/Hone/HoneOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// ScheduleOp
//===----------------------------------------------------------------------===//

void ScheduleOp::build(OpBuilder &builder, OperationState &state,
                       Purpose purpose) {
  state.addAttribute(getPurposeAttrName(state.name),
                     PurposeAttr::get(builder.getContext(), purpose));
  state.addRegion()->emplaceBlock();
}

ParseResult ScheduleOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef keyword;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Purpose> purpose = symbolizePurpose(keyword);
  if (!purpose)
    return parser.emitError(place, "expects a purpose but got '")
           << keyword << "'";
  result.addAttribute(getPurposeAttrName(result.name),
                      PurposeAttr::get(parser.getContext(), *purpose));
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void ScheduleOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyPurpose(getPurpose());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getPurposeAttrName()});
  printer << " ";
  printer.printRegion(getBody());
}

LogicalResult ScheduleOp::verify() {
  // (C1)
  for (auto other :
       cast<ModuleOp>((*this)->getParentOp()).getOps<ScheduleOp>()) {
    if (other == *this)
      break;
    if (other.getPurpose() != getPurpose())
      continue;
    InFlightDiagnostic diag =
        emitOpError("expects one schedule for each purpose, but '")
        << stringifyPurpose(getPurpose()) << "' has two";
    diag.attachNote(other.getLoc()) << "the other one is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RunOp, ScalarOp
//===----------------------------------------------------------------------===//

static bool anyHasRows(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), hasRows) ||
         llvm::any_of(op->getResultTypes(), hasRows);
}

LogicalResult RunOp::verify() {
  // (C2)
  if (getOtherwise() && !getCondition())
    return emitOpError("expects 'else' only with 'when'");
  // (C3)
  if (getCondition() && !getOtherwise() && getNumResults() > 0)
    return emitOpError("expects no results of a run that may be skipped");
  // (C4)
  if (!getBatch() && anyHasRows(*this))
    return emitOpError("expects 'on' a batch, since its values have rows");
  // (C5)
  if (static_cast<int64_t>(getStage()) < 0 ||
      static_cast<int64_t>(getLane()) < 0)
    return emitOpError("expects a stage and a lane that are not negative");
  return success();
}

/// (C1) and (C2): `symbol` is an entry of the op's type.
static LogicalResult verifyEntry(RunOp op, FlatSymbolRefAttr symbol,
                                 SymbolTableCollection &symbols) {
  auto entry = symbols.lookupNearestSymbolFrom<EntryOp>(op, symbol);
  if (!entry)
    return op.emitOpError("expects '")
           << symbol.getValue() << "' to be a 'hone.entry'";
  auto type = FunctionType::get(op.getContext(), op.getValues().getTypes(),
                                op.getResultTypes());
  if (type == entry.getFunctionType())
    return success();
  InFlightDiagnostic diag = op.emitOpError("expects the type ")
                            << entry.getFunctionType() << " but got " << type;
  diag.attachNote(entry.getLoc()) << "entry declared here";
  return diag;
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyEntry(*this, getEntryAttr(), symbols)))
    return failure();
  if (FlatSymbolRefAttr other = getOtherwiseAttr())
    return verifyEntry(*this, other, symbols);
  return success();
}

LogicalResult ScalarOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // (C1)
  auto function =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getFunctionAttr());
  if (!function)
    return emitOpError("expects '") << getFunction() << "' to be a 'func.func'";
  SmallVector<Type> inputs, results;
  auto add = [](Type type, SmallVectorImpl<Type> &scalars,
                SmallVectorImpl<Type> &vectors) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0)
      scalars.push_back(tensor.getElementType());
    else
      vectors.push_back(
          MemRefType::get(tensor.getShape(), tensor.getElementType()));
  };
  for (Type type : getOperandTypes())
    add(type, inputs, inputs);
  for (Type type : getResultTypes())
    add(type, results, inputs);
  auto type = FunctionType::get(getContext(), inputs, results);
  if (type == function.getFunctionType())
    return success();
  InFlightDiagnostic diag = emitOpError("expects a function of the type ")
                            << type << " but got "
                            << function.getFunctionType();
  diag.attachNote(function.getLoc()) << "function declared here";
  return diag;
}

//===----------------------------------------------------------------------===//
// RepeatOp
//===----------------------------------------------------------------------===//

/// `%count expected N carry (%a = %b, ...) : types { ... }`
ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand count;
  SmallVector<OpAsmParser::UnresolvedOperand> carried;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> types;
  if (parser.parseOperand(count) ||
      parser.resolveOperand(count, integerType(builder.getContext()),
                            result.operands))
    return failure();
  int64_t expected = 1;
  if (succeeded(parser.parseOptionalKeyword("expected")) &&
      parser.parseInteger(expected))
    return failure();
  result.addAttribute(getExpectedAttrName(result.name),
                      builder.getI64IntegerAttr(expected));
  SMLoc place = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("carry"))) {
    if (parser.parseAssignmentList(arguments, carried) ||
        parser.parseColonTypeList(types) ||
        parser.resolveOperands(carried, types, place, result.operands))
      return failure();
    for (auto [argument, type] : llvm::zip_equal(arguments, types))
      argument.type = type;
  }
  result.addTypes(types);
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << " " << getCount();
  if (getExpected() != 1)
    printer << " expected " << int64_t(getExpected());
  mlir::Block &body = getBody().front();
  if (!getCarried().empty()) {
    printer << " carry (";
    llvm::interleaveComma(llvm::zip_equal(body.getArguments(), getCarried()),
                          printer, [&](auto pair) {
                            printer << std::get<0>(pair) << " = "
                                    << std::get<1>(pair);
                          });
    printer << ") : " << getCarried().getTypes();
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getExpectedAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getCarried().empty());
}

static int64_t stageOf(Operation *op) {
  auto item = dyn_cast<ItemOpInterface>(op);
  return item ? item.getItemStage() : 0;
}

int64_t RepeatOp::getNumStages() {
  int64_t last = 0;
  for (Operation &op : getBody().front())
    last = std::max(last, stageOf(&op));
  return last + 1;
}

LogicalResult RepeatOp::verifyRegions() {
  mlir::Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  // (C1)
  TypeRange types = getCarried().getTypes();
  if (!yield || types != TypeRange(body.getArgumentTypes()) ||
      types != yield.getOperandTypes() || types != getResultTypes())
    return emitOpError("expects its carried values, its body's arguments, its "
                       "yielded values and its results to have the same types");
  if (llvm::any_of(types, hasRows))
    return emitOpError("expects carried values without rows");
  // (C3)
  for (auto [argument, value] :
       llvm::zip_equal(body.getArguments(), yield.getOperands()))
    if (value != argument && llvm::is_contained(body.getArguments(), value))
      return yield.emitOpError("expects no carried value in the place of "
                               "another");
  // (C2): a repeat inside reads values at its own stage.
  for (Operation &op : body.without_terminator()) {
    int64_t stage = stageOf(&op);
    if (stage < 0)
      return op.emitOpError("expects a stage that is not negative but got ")
             << stage;
    SmallVector<Value> reads;
    op.walk([&](Operation *inner) {
      llvm::append_range(reads, inner->getOperands());
    });
    for (Value operand : reads) {
      Operation *maker = operand.getDefiningOp();
      if (maker && maker->getBlock() == &body && stageOf(maker) > stage) {
        InFlightDiagnostic diag = op.emitOpError("reads at stage ")
                                  << stage << " a value that is made at stage "
                                  << stageOf(maker);
        diag.attachNote(maker->getLoc()) << "made here";
        return diag;
      }
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || argument.getOwner() != &body)
        continue;
      Operation *next =
          yield.getOperand(argument.getArgNumber()).getDefiningOp();
      if (next && next->getBlock() == &body && stageOf(next) != stage)
        return op.emitOpError("reads a carried value at stage ")
               << stage << ", but it is yielded at stage " << stageOf(next);
    }
  }
  return success();
}

LogicalResult LateOp::verify() {
  // (C1)
  if (getLates().getTypes() == getValues().getTypes())
    return success();
  return emitOpError("expects late values of the types of those of this step");
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

template <typename OpTy> static LogicalResult verifyExchange(OpTy op) {
  const int64_t steps = op.getBehind();
  // (C3)
  if (steps < 0 || (steps > 0 && isa<BatchType>(op.getValue().getType())))
    return op.emitOpError("expects a value of this step or of one before, but "
                          "'behind' is ")
           << steps;
  // (C1)
  if (op.getPeer().empty() || op.getChannel().empty())
    return op.emitOpError("expects a peer and a channel that are not empty");
  // (C2)
  const bool isBatch = isa<BatchType>(op.getValue().getType());
  if (isBatch != op.getInputs().has_value())
    return op.emitOpError("expects inputs of a batch, and of nothing else");
  if (isBatch && op.getBatch())
    return op.emitOpError("expects a batch to travel on none");
  return success();
}

LogicalResult SendOp::verify() { return verifyExchange(*this); }

LogicalResult ReceiveOp::verify() { return verifyExchange(*this); }

LogicalResult WaitOp::verify() {
  // (C1)
  auto isExchange = [&](Operation *op) {
    return isa_and_nonnull<SendOp, ReceiveOp>(op) &&
           op->getBlock() == (*this)->getBlock() && op->isBeforeInBlock(*this);
  };
  if (isExchange(getValue().getDefiningOp()) ||
      llvm::any_of(getValue().getUsers(), isExchange))
    return success();
  return emitOpError("expects a value that is sent or received before it");
}

} // namespace hone
