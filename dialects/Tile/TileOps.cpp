//===- TileOps.cpp - Verifiers, builders and assembly of tile ops ---------===//
//
// Constraints are numbered as in TileOps.td. Offsets and sizes are run-time
// values and stay unchecked: a wrong one is a bug of the conversion above.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace hone::tile;

//===----------------------------------------------------------------------===//
// Shared pieces of assembly and verification
//===----------------------------------------------------------------------===//

/// Parses `(%i, %j) in (%m, %n)`.
static ParseResult parseDomain(OpAsmParser &parser, OperationState &result,
                               SmallVectorImpl<OpAsmParser::Argument> &ivs) {
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(ivs, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(bounds, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(bounds, index, result.operands))
    return failure();
  for (OpAsmParser::Argument &iv : ivs)
    iv.type = index;
  return success();
}

static void printDomain(OpAsmPrinter &p, ValueRange ivs, ValueRange bounds) {
  p << " (";
  p.printOperands(ivs);
  p << ") in (";
  p.printOperands(bounds);
  p << ")";
}

/// Checks the values of `body`'s terminator against `expected`.
static LogicalResult verifyYield(Operation *op, Block &body, TypeRange expected,
                                 StringRef what) {
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return op->emitOpError() << "expects " << what << " to end in 'tile.yield'";
  if (yield.getOperandTypes() == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expects " << what << " to yield (" << expected
                            << ") but got (" << yield.getOperandTypes() << ")";
  return diag;
}

static LogicalResult verifyArguments(Operation *op, Block &body,
                                     TypeRange expected, StringRef what) {
  if (body.getArgumentTypes() == expected)
    return success();
  return op->emitOpError() << "expects " << what << " to take (" << expected
                           << ") but got (" << body.getArgumentTypes() << ")";
}

//===----------------------------------------------------------------------===//
// ParallelOp
//===----------------------------------------------------------------------===//

void ParallelOp::build(
    OpBuilder &builder, OperationState &state, Value count,
    ArrayRef<MemRefType> privateTypes,
    function_ref<void(OpBuilder &, Location, Value, ValueRange)> bodyBuilder) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(count);
  Region *region = state.addRegion();
  Block *block = builder.createBlock(region);
  block->addArgument(builder.getIndexType(), state.location);
  for (MemRefType type : privateTypes)
    block->addArgument(type, state.location);
  bodyBuilder(builder, state.location, block->getArgument(0),
              block->getArguments().drop_front());
  ensureTerminator(*region, builder, state.location);
}

ParseResult ParallelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseDomain(parser, result, arguments))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("private"))) {
    SmallVector<OpAsmParser::Argument> buffers;
    if (parser.parseArgumentList(buffers, OpAsmParser::Delimiter::Paren,
                                 /*allowType=*/true))
      return failure();
    arguments.append(buffers);
  }
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void ParallelOp::print(OpAsmPrinter &p) {
  printDomain(p, getIndex(), getCount());
  if (!getPrivateBuffers().empty()) {
    p << " private(";
    llvm::interleaveComma(getPrivateBuffers(), p, [&](BlockArgument buffer) {
      p << buffer << " : " << buffer.getType();
    });
    p << ")";
  }
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << " ";
  p.printRegion(getRegion(), /*printEntryBlockArgs=*/false,
                /*printBlockTerminators=*/false);
}

LogicalResult ParallelOp::verify() {
  // (C1)
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function || function.getNumArguments() == 0 ||
      !isa<LLVM::LLVMPointerType>(function.getArgument(0).getType()))
    return emitOpError("expects the enclosing function's first argument to be "
                       "the frame, '!llvm.ptr'");
  // (C2)
  if ((*this)->getParentOfType<ParallelOp>())
    return emitOpError("expects not to be nested in another 'tile.parallel'");
  // (C3)
  Block &body = *getBody();
  if (body.getNumArguments() == 0 || !body.getArgument(0).getType().isIndex())
    return emitOpError("expects the first region argument to be the index");
  for (BlockArgument buffer : getPrivateBuffers()) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type)
      return emitOpError("expects private buffers to be memrefs but got ")
             << buffer.getType();
    // (C4)
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return emitOpError("expects private buffers to have static shape and "
                         "identity layout but got ")
             << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// FillOp
//===----------------------------------------------------------------------===//

int64_t FillOp::getGroup() {
  if (!getScales())
    return 0;
  int64_t numbers = getSource().getType().getDimSize(1) * 8 / *getBits();
  int64_t groups = getScales().getType().getDimSize(1);
  return groups && numbers % groups == 0 ? numbers / groups : 0;
}

LogicalResult FillOp::verify() {
  bool isPacked = getSource().getType().getElementType().isInteger(8);
  // (C1)
  if (isPacked != bool(getScales()) || isPacked != bool(getBiases()) ||
      isPacked != getBits().has_value())
    return emitOpError("expects scales, biases and bits exactly for a source "
                       "of i8");
  if (!isPacked)
    return success();
  // (C2)
  if (*getBits() != 4 && *getBits() != 8)
    return emitOpError("expects 4 or 8 bits but got ") << *getBits();
  // (C3)
  MemRefType scales = getScales().getType();
  if (scales != getBiases().getType() ||
      scales.getDimSize(0) != getSource().getType().getDimSize(0))
    return emitOpError("expects scales and biases of one type with the rows "
                       "of the source but got ")
           << scales << " and " << getBiases().getType();
  if (getGroup() == 0 || getGroup() % 32 != 0)
    return emitOpError("expects groups of a multiple of 32 numbers but got ")
           << getSource().getType() << " with scales " << scales;
  return success();
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

void ContractOp::build(
    OpBuilder &builder, OperationState &state, Value c, Value cRow,
    Value cColumn, Value a, Value aRow, Value aK, Value panel,
    ValueRange panelAt, Value m, Value n, Value k, bool accumulate,
    bool transposeA,
    function_ref<Value(OpBuilder &, Location, Value, Value, Value)>
        epilogueBuilder,
    Value ahead, ValueRange aheadPiece, Value sums, ValueRange sumsAt) {
  OpBuilder::InsertionGuard guard(builder);
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::fill(properties.operandSegmentSizes, 1);
  state.addOperands({c, cRow, cColumn, a, aRow, aK, panel});
  state.addOperands(panelAt);
  properties.operandSegmentSizes[7] = panelAt.size();
  state.addOperands({m, n, k});
  auto addMatrix = [&](unsigned segment, Value matrix, ValueRange indices) {
    if (matrix)
      state.addOperands(matrix);
    else
      properties.operandSegmentSizes[segment] = 0;
    state.addOperands(indices);
    properties.operandSegmentSizes[segment + 1] = indices.size();
  };
  addMatrix(11, sums, sumsAt);
  addMatrix(13, ahead, aheadPiece);
  if (accumulate)
    properties.accumulate = builder.getUnitAttr();
  if (transposeA)
    properties.transposeA = builder.getUnitAttr();
  Region *region = state.addRegion();
  if (!epilogueBuilder)
    return;
  Type element = cast<MemRefType>(c.getType()).getElementType();
  Type index = builder.getIndexType();
  Block *block =
      builder.createBlock(region, {}, {element, index, index},
                          {state.location, state.location, state.location});
  Value result = epilogueBuilder(builder, state.location, block->getArgument(0),
                                 block->getArgument(1), block->getArgument(2));
  YieldOp::create(builder, state.location, result);
}

/// Parses `epilogue (%acc, %i, %j) { ... }` or nothing.
static ParseResult parseEpilogue(OpAsmParser &parser, Region &region,
                                 Type matrix) {
  if (failed(parser.parseOptionalKeyword("epilogue")))
    return success();
  SmallVector<OpAsmParser::Argument> arguments;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != 3)
    return parser.emitError(loc, "expects three names: value, row and column");
  arguments[0].type = cast<MemRefType>(matrix).getElementType();
  arguments[1].type = arguments[2].type = parser.getBuilder().getIndexType();
  return parser.parseRegion(region, arguments);
}

static void printEpilogue(OpAsmPrinter &p, Operation *, Region &region, Type) {
  if (region.empty())
    return;
  p << "epilogue (";
  p.printOperands(region.getArguments());
  p << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false);
}

LogicalResult ContractOp::verify() {
  Type element = getC().getType().getElementType();
  // (C1)
  Type panel = getPanel().getType().getElementType();
  bool rounds = panel.isBF16() && element.isF32() && !getTransposeA();
  if (getA().getType().getElementType() != element ||
      (panel != element && !rounds))
    return emitOpError("expects 'c', 'a' and 'panel' to share an element type "
                       "but got ")
           << element << ", " << getA().getType().getElementType() << " and "
           << getPanel().getType().getElementType();
  // (C4)
  unsigned expected = getAhead() ? 4 : 0;
  if (getAheadPiece().size() != expected)
    return emitOpError("expects ")
           << expected << " indices of the piece ahead but got "
           << getAheadPiece().size();
  // (C5)
  unsigned indices = getPanelAt().size();
  if (indices != 0 && (indices != 2 || panel.isBF16()))
    return emitOpError("expects a panel of ")
           << panel << " to have " << (panel.isBF16() ? "no" : "two")
           << " indices of a position but got " << indices;
  // (C6)
  if (getSums() && (getSums().getType().getElementType() != element ||
                    getSumsAt().size() != 2))
    return emitOpError("expects sums of ")
           << element << " at two indices but got "
           << getSums().getType().getElementType() << " at "
           << getSumsAt().size();
  if (getEpilogue().empty())
    return success();
  Block &body = getEpilogue().front();
  Type index = IndexType::get(getContext());
  // (C2)
  if (failed(verifyArguments(*this, body, {element, index, index},
                             "the epilogue")))
    return failure();
  // (C3)
  return verifyYield(*this, body, element, "the epilogue");
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

void MapOp::build(
    OpBuilder &builder, OperationState &state, ValueRange bounds,
    function_ref<void(OpBuilder &, Location, ValueRange)> bodyBuilder) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(bounds);
  Region *region = state.addRegion();
  Block *block = builder.createBlock(region);
  for (size_t i = 0; i < bounds.size(); ++i)
    block->addArgument(builder.getIndexType(), state.location);
  bodyBuilder(builder, state.location, block->getArguments());
  ensureTerminator(*region, builder, state.location);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ivs;
  Region *body = result.addRegion();
  if (parseDomain(parser, result, ivs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, ivs))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void MapOp::print(OpAsmPrinter &p) {
  printDomain(p, getBody()->getArguments(), getBounds());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << " ";
  p.printRegion(getRegion(), /*printEntryBlockArgs=*/false,
                /*printBlockTerminators=*/false);
}

LogicalResult MapOp::verify() {
  // (C1)
  if (getBounds().empty() || getBounds().size() > 2)
    return emitOpError("expects one or two bounds but got ")
           << getBounds().size();
  if (failed(verifyArguments(*this, *getBody(), getBounds().getTypes(),
                             "the body")))
    return failure();
  // (C2)
  return verifyYield(*this, *getBody(), {}, "the body");
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

void ReduceOp::build(
    OpBuilder &builder, OperationState &state, Value bound,
    ArrayRef<Combine> combine, TypeRange types,
    function_ref<SmallVector<Value>(OpBuilder &, Location, Value)>
        bodyBuilder) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(bound);
  state.addTypes(types);
  SmallVector<Attribute> kinds;
  for (Combine kind : combine)
    kinds.push_back(CombineAttr::get(builder.getContext(), kind));
  state.getOrAddProperties<Properties>().combine = builder.getArrayAttr(kinds);
  Region *region = state.addRegion();
  Block *block =
      builder.createBlock(region, {}, builder.getIndexType(), state.location);
  SmallVector<Value> values =
      bodyBuilder(builder, state.location, block->getArgument(0));
  YieldOp::create(builder, state.location, values);
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ivs;
  SmallVector<Attribute> kinds;
  auto parseKind = [&]() -> ParseResult {
    StringRef keyword;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Combine> kind = symbolizeCombine(keyword);
    if (!kind)
      return parser.emitError(loc, "expects 'add' or 'max' but got '")
             << keyword << "'";
    kinds.push_back(CombineAttr::get(parser.getContext(), *kind));
    return success();
  };
  Region *body = result.addRegion();
  if (parseDomain(parser, result, ivs) || parser.parseKeyword("combine") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseKind) ||
      parser.parseColonTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, ivs))
    return failure();
  result.getOrAddProperties<Properties>().combine =
      parser.getBuilder().getArrayAttr(kinds);
  return success();
}

void ReduceOp::print(OpAsmPrinter &p) {
  printDomain(p, getBody()->getArguments(), getBound());
  p << " combine [";
  llvm::interleaveComma(
      getCombine().getAsRange<CombineAttr>(), p,
      [&](CombineAttr kind) { p << stringifyCombine(kind.getValue()); });
  p << "] : " << getResultTypes();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     getCombineAttrName().getValue());
  p << " ";
  p.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

LogicalResult ReduceOp::verify() {
  // (C1)
  if (getNumResults() == 0 || getCombine().size() != getNumResults())
    return emitOpError("expects one combination for each result but got ")
           << getCombine().size() << " for " << getNumResults();
  // (C2)
  if (failed(verifyArguments(*this, *getBody(), IndexType::get(getContext()),
                             "the body")))
    return failure();
  // (C3)
  if (failed(verifyYield(*this, *getBody(), getResultTypes(), "the body")))
    return failure();
  // (C4)
  for (Type type : getResultTypes())
    if (!type.isF32() && !type.isF64())
      return emitOpError("expects results to be f32 or f64 but got ") << type;
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"
