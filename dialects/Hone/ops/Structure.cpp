//===- Structure.cpp - The ops that a model is written in -----------------===//

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/ShapeChecks.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;

namespace hone {

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

void BlockOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type input : type.getInputs())
    block.addArgument(input, state.location);
}

/// `@NAME(ARGUMENTS) -> RESULTS { ... }`
template <typename FunctionOp>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      FunctionOp::getFunctionTypeAttrName(result.name), buildType,
      FunctionOp::getArgAttrsAttrName(result.name),
      FunctionOp::getResAttrsAttrName(result.name));
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<BlockOp>(parser, result);
}

void BlockOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult BlockOp::verifyRegions() {
  // (C1)
  if (getBody().empty() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("expects a body ended by 'hone.return'");
  // (C2)
  llvm::StringMap<ParameterOp> seen;
  for (ParameterOp op : getBody().getOps<ParameterOp>()) {
    ParameterOp first = seen.try_emplace(op.getName(), op).first->second;
    if (first.getType() == op.getType() &&
        first.getTrainable() == op.getTrainable() &&
        first.getTransposed() == op.getTransposed() &&
        first.getStoredAttr() == op.getStoredAttr())
      continue;
    InFlightDiagnostic diag =
        op.emitOpError("expects parameters of one name to have one type and "
                       "storage, but '")
        << op.getName() << "' has two";
    diag.attachNote(first.getLoc()) << "the other one is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ReturnOp
//===----------------------------------------------------------------------===//

LogicalResult ReturnOp::verify() {
  Operation *parent = (*this)->getParentOp();
  // (C1)
  auto function = dyn_cast<FunctionOpInterface>(parent);
  TypeRange expected = function ? TypeRange(function.getResultTypes())
                                : TypeRange(parent->getResultTypes());
  if (expected != getOperandTypes())
    return emitOpError("expects operands of the types ")
           << expected << " that "
           << (function ? (isa<BlockOp>(parent) ? "block '" : "entry '") +
                              function.getName().str() + "'"
                        : "'hone.row_tiles'")
           << " declares, but got " << getOperandTypes();
  // (C2)
  llvm::SmallDenseSet<Value> seen;
  for (Value value : getOperands()) {
    Operation *op = value.getDefiningOp();
    if (!op || op->hasTrait<Ambient>() || op->hasTrait<View>() ||
        !seen.insert(value).second)
      return emitOpError("expects each operand to be a value that the body "
                         "computes and returns once");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// EntryOp
//===----------------------------------------------------------------------===//

void EntryOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    Phase phase, TypeRange inputs, TypeRange results) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getPhaseAttrName(state.name),
                     PhaseAttr::get(builder.getContext(), phase));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(inputs, results)));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type input : inputs)
    block.addArgument(input, state.location);
  if (results.empty())
    ensureTerminator(*body, builder, state.location);
}

/// `[PHASE] [of "PART"] @NAME(ARGUMENTS) -> RESULTS { ... }`
ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Phase phase = Phase::Forward;
  StringRef keyword;
  SMLoc place = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    bool isPart = keyword == "of";
    if (!isPart) {
      std::optional<Phase> known = symbolizePhase(keyword);
      if (!known)
        return parser.emitError(place, "expects a phase but got '")
               << keyword << "'";
      phase = *known;
      isPart = succeeded(parser.parseOptionalKeyword("of"));
    }
    StringAttr part;
    if (isPart) {
      if (parser.parseAttribute(part))
        return failure();
      result.addAttribute(getPartAttrName(result.name), part);
    }
  }
  result.addAttribute(getPhaseAttrName(result.name),
                      PhaseAttr::get(builder.getContext(), phase));
  if (parseFunction<EntryOp>(parser, result))
    return failure();
  ensureTerminator(*result.regions.front(), builder, result.location);
  return success();
}

void EntryOp::print(OpAsmPrinter &printer) {
  if (getPhase() != Phase::Forward)
    printer << " " << getPhase();
  if (getPart())
    printer << " of " << getPartAttr();
  printer << " ";
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(
      printer, *this, getArgumentTypes(), /*isVariadic=*/false,
      getResultTypes());
  function_interface_impl::printFunctionAttributes(
      printer, *this,
      {getFunctionTypeAttrName(), getPhaseAttrName(), getPartAttrName(),
       getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getResultTypes().empty() ||
                          llvm::hasSingleElement(getBodyBlock()));
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

BlockOp findBlock(Operation *op, FlatSymbolRefAttr name,
                  SymbolTableCollection &symbols) {
  auto block = symbols.lookupNearestSymbolFrom<BlockOp>(op, name);
  if (!block)
    op->emitOpError("expects '") << name.getValue() << "' to be a 'hone.block'";
  return block;
}

void CallOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   StringRef block, StringRef prefix, ValueRange values) {
  build(builder, state, results, block, prefix, values, /*mask=*/Value(),
        /*mask_index=*/IntegerAttr(), /*otherwise=*/FlatSymbolRefAttr());
}

LogicalResult CallOp::verify() {
  // (C3)
  if (getOtherwise() && !getMask())
    return emitOpError("expects 'else' only with 'when'");
  // (C4)
  if (getMask() && !getOtherwise() && getNumResults() > 0)
    return emitOpError("expects an 'else' that gives its results when the "
                       "condition does not hold");
  // (C5)
  return ShapeChecks(*this).isOfEntry("mask", getMask(), getMaskIndex());
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto type =
      FunctionType::get(getContext(), getValues().getTypes(), getResultTypes());
  for (FlatSymbolRefAttr callee : getCallees()) {
    // (C1, C3)
    BlockOp block = findBlock(*this, callee, symbols);
    if (!block)
      return failure();
    // (C2, C3)
    if (type == block.getFunctionType())
      continue;
    InFlightDiagnostic diag = emitOpError("expects the type ")
                              << block.getFunctionType() << " but got " << type;
    diag.attachNote(block.getLoc()) << "block declared here";
    return diag;
  }
  return success();
}

SmallVector<FlatSymbolRefAttr, 2> CallOp::getCallees() {
  SmallVector<FlatSymbolRefAttr, 2> callees = {getBlockAttr()};
  if (getOtherwise())
    callees.push_back(getOtherwiseAttr());
  return callees;
}

//===----------------------------------------------------------------------===//
// InputOp
//===----------------------------------------------------------------------===//

LogicalResult InputOp::verify() {
  // (C1)
  if (isa_and_nonnull<EntryOp>((*this)->getParentOp()))
    return emitOpError("expects a block; an entry takes values as arguments");
  return success();
}

//===----------------------------------------------------------------------===//
// ParameterOp
//===----------------------------------------------------------------------===//

StringRef moduleOf(StringRef parameter) {
  for (StringRef tensor : {".lora_A.weight", ".lora_B.weight",
                           ".lora_magnitude_vector", ".weight", ".bias"})
    if (parameter.consume_back(tensor))
      break;
  return parameter;
}

StringRef moduleOf(Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  return parameter ? moduleOf(parameter.getName()) : StringRef();
}

LogicalResult ParameterOp::verify() {
  // (C1)
  RankedTensorType type = getType();
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      (type.getRank() != 1 && type.getRank() != 2))
    return emitOpError("expects a vector or a matrix with a known number of "
                       "elements, at least one, but got ")
           << type;
  // (C2)
  if (getTrainable() != getInit().has_value())
    return emitOpError("expects 'init' exactly when 'trainable' is given");
  // (C4)
  if (getTransposed() && getType().getRank() != 2)
    return emitOpError("expects 'transposed' on a matrix only but got ")
           << getType();
  // (C5)
  if (getInit() == Init::RowLengths && getType().getRank() != 1)
    return emitOpError("expects 'init <row_lengths>' on a vector only but got ")
           << getType();
  // (C3)
  std::optional<StorageAttr> stored = getStored();
  if (!stored)
    return success();
  if (!isa<FloatType>(getType().getElementType()))
    return emitOpError("expects 'stored' on a float tensor only");
  if (getTrainable() && stored->isGrouped())
    return emitOpError("expects a trainable parameter to be stored as bfloat16 "
                       "or as its type but got ")
           << *stored;
  if (stored->isGrouped() && (getType().getRank() != 2 ||
                              getType().getDimSize(1) % stored->getGroup()))
    return emitOpError("expects a matrix whose columns are whole groups of ")
           << stored->getGroup() << " but got " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// PerturbedOp
//===----------------------------------------------------------------------===//

/// (C1)
static LogicalResult verifyIsTrainable(Operation *op, Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  if (parameter && parameter.getTrainable())
    return success();
  return op->emitOpError("expects 'parameter' to be the result of a trainable "
                         "'hone.parameter'");
}

/// (C1, C2)
template <typename Op> static LogicalResult verifyRandom(Op op) {
  if (failed(verifyIsTrainable(op, op.getParameter())))
    return failure();
  if (!isa<BlockArgument>(op.getKey()) ||
      !isa_and_present<BlockArgument>(op.getScale() ? op.getScale()
                                                    : op.getKey()))
    return op.emitOpError(
        "expects 'key' and 'scale' to be arguments of the block");
  return success();
}

static RandomSource directionOf(Value parameter) {
  return {rt::RandomPurpose::Perturb,
          parameter.getDefiningOp<ParameterOp>().getName()};
}

LogicalResult PerturbedOp::verify() { return verifyRandom(*this); }

std::optional<RandomSource> PerturbedOp::getRandomSource() {
  return directionOf(getParameter());
}

//===----------------------------------------------------------------------===//
// DirectionOp
//===----------------------------------------------------------------------===//

LogicalResult DirectionOp::verify() { return verifyRandom(*this); }

std::optional<RandomSource> DirectionOp::getRandomSource() {
  return directionOf(getParameter());
}

} // namespace hone
