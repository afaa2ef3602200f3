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

bool hone::tile::callsRuntime(Operation *op) {
  return isa<PrefetchOp, ReleaseOp, OffloadOp, ReloadOp, AwaitOp>(op);
}

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
  Operation *yield = body.getTerminator();
  if (!yield->hasTrait<OpTrait::ReturnLike>())
    return op->emitOpError() << "expects " << what << " to end in a yield";
  if (yield->getOperandTypes() == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expects " << what << " to yield (" << expected
                            << ") but got (" << yield->getOperandTypes() << ")";
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
// Bodies that run for every point of a box
//===----------------------------------------------------------------------===//

template <typename BoxOp>
static void
buildBox(OpBuilder &builder, OperationState &state, ValueRange bounds,
         function_ref<void(OpBuilder &, Location, ValueRange)> bodyBuilder) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(bounds);
  Region *region = state.addRegion();
  Block *block = builder.createBlock(region);
  for (size_t i = 0; i < bounds.size(); ++i)
    block->addArgument(builder.getIndexType(), state.location);
  bodyBuilder(builder, state.location, block->getArguments());
  BoxOp::ensureTerminator(*region, builder, state.location);
}

template <typename BoxOp>
static ParseResult parseBox(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ivs;
  Region *body = result.addRegion();
  if (parseDomain(parser, result, ivs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, ivs))
    return failure();
  BoxOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

template <typename BoxOp> static void printBox(OpAsmPrinter &p, BoxOp op) {
  printDomain(p, op.getBody()->getArguments(), op.getBounds());
  p.printOptionalAttrDictWithKeyword(op->getAttrs());
  p << " ";
  p.printRegion(op.getRegion(), /*printEntryBlockArgs=*/false,
                /*printBlockTerminators=*/false);
}

/// One or two bounds, as many variables, and nothing yielded.
template <typename BoxOp> static LogicalResult verifyBox(BoxOp op) {
  if (op.getBounds().empty() || op.getBounds().size() > 2)
    return op.emitOpError("expects one or two bounds but got ")
           << op.getBounds().size();
  if (failed(verifyArguments(op, *op.getBody(), op.getBounds().getTypes(),
                             "the body")))
    return failure();
  return verifyYield(op, *op.getBody(), {}, "the body");
}

//===----------------------------------------------------------------------===//
// The operands of an entry
//===----------------------------------------------------------------------===//

static LogicalResult verifyInEntry(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (function && function->hasAttr(TileDialect::kEntryAttrName))
    return success();
  return op->emitOpError("expects the enclosing function to have the "
                         "attribute '")
         << TileDialect::kEntryAttrName << "'";
}

static LogicalResult verifyNumber(Operation *op, int64_t index) {
  if (index >= 0)
    return success();
  return op->emitOpError("expects a number from 0 on but got ") << index;
}

LogicalResult BaseOp::verify() { return verifyInEntry(*this); }

LogicalResult RowsOp::verify() { return verifyInEntry(*this); }

LogicalResult OffsetOp::verify() {
  // (C1)
  if ((*this)->getParentOfType<ParallelOp>())
    return emitOpError("expects to stand outside of 'tile.parallel'");
  // (C2)
  return verifyNumber(*this, getIndex());
}

LogicalResult WeightOp::verify() {
  // (C1)
  if (failed(verifyInEntry(*this)))
    return failure();
  // (C2)
  return verifyNumber(*this, getIndex());
}

LogicalResult ArgumentOp::verify() {
  // (C1)
  if (failed(verifyInEntry(*this)))
    return failure();
  // (C2)
  return verifyNumber(*this, getIndex());
}

LogicalResult NumberOp::verify() {
  // (C1)
  if (!getBuffer().getDefiningOp<ArgumentOp>())
    return emitOpError("expects the result of 'tile.argument'");
  // (C2)
  int64_t rank = cast<MemRefType>(getBuffer().getType()).getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("expects ")
           << rank << " indices but got " << getIndices().size();
  return success();
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
  if ((*this)->getParentOfType<ParallelOp>())
    return emitOpError("expects not to be nested in another 'tile.parallel'");
  // (C2)
  Block &body = *getBody();
  if (body.getNumArguments() == 0 || !body.getArgument(0).getType().isIndex())
    return emitOpError("expects the first region argument to be the index");
  for (BlockArgument buffer : getPrivateBuffers()) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type)
      return emitOpError("expects private buffers to be memrefs but got ")
             << buffer.getType();
    // (C3)
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return emitOpError("expects private buffers to have static shape and "
                         "identity layout but got ")
             << type;
  }
  // (C4)
  return verifyYield(*this, body, {}, "the body");
}

//===----------------------------------------------------------------------===//
// EachOp
//===----------------------------------------------------------------------===//

void EachOp::build(
    OpBuilder &builder, OperationState &state, ValueRange bounds,
    function_ref<void(OpBuilder &, Location, ValueRange)> bodyBuilder) {
  buildBox<EachOp>(builder, state, bounds, bodyBuilder);
}

ParseResult EachOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseBox<EachOp>(parser, result);
}

void EachOp::print(OpAsmPrinter &p) { printBox(p, *this); }

LogicalResult EachOp::verify() {
  // (C1), (C4)
  if (failed(verifyBox(*this)))
    return failure();
  // (C2)
  for (Operation *op = (*this)->getParentOp(); op; op = op->getParentOp())
    if (isa<EachOp, MapOp, ReduceOp, ProductOp>(op)) {
      InFlightDiagnostic diag = emitOpError("expects not to stand in '")
                                << op->getName() << "'";
      diag.attachNote(op->getLoc()) << "it stands in this op";
      return diag;
    }
  // (C3)
  WalkResult walked = getRegion().walk([&](Operation *op) {
    if (!isa<ProductOp, ParallelOp>(op))
      return WalkResult::advance();
    InFlightDiagnostic diag = emitOpError("expects no '")
                              << op->getName() << "' in its body";
    diag.attachNote(op->getLoc()) << "it is here";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Stored matrices
//===----------------------------------------------------------------------===//

std::optional<int64_t> hone::tile::groupSize(MemRefType packed,
                                             MemRefType scales, int64_t bits) {
  int64_t numbers = packed.getDimSize(1) * 8 / bits;
  int64_t groups = scales.getDimSize(1);
  if (groups == 0 || numbers % groups != 0)
    return std::nullopt;
  return numbers / groups;
}

/// (C1) to (C3) of ops that read stored matrices.
template <typename StoredOp> static LogicalResult verifyStorage(StoredOp op) {
  return hone::tile::verifyStorage(op, op.getW(), op.getScales(),
                                   op.getBiases(), op.getBits());
}

LogicalResult hone::tile::verifyStorage(Operation *op, Value matrix,
                                        Value scales, Value biases,
                                        std::optional<int64_t> bits) {
  auto stored = cast<MemRefType>(matrix.getType());
  bool isPacked = stored.getElementType().isInteger(8);
  // (C1)
  if (isPacked != bool(scales) || isPacked != bool(biases) ||
      isPacked != bits.has_value())
    return op->emitOpError("expects scales, biases and bits exactly for a "
                           "matrix of i8");
  if (!isPacked)
    return success();
  // (C2)
  if (*bits != 4 && *bits != 8)
    return op->emitOpError("expects 4 or 8 bits but got ") << *bits;
  // (C3)
  auto type = cast<MemRefType>(scales.getType());
  if (type != biases.getType() || type.getDimSize(0) != stored.getDimSize(0))
    return op->emitOpError("expects scales and biases of one type with the "
                           "rows of the matrix but got ")
           << type << " and " << biases.getType();
  if (groupSize(stored, type, *bits).value_or(1) % 32 != 0)
    return op->emitOpError("expects groups of a multiple of 32 numbers but "
                           "got ")
           << stored << " with scales " << type;
  return success();
}

LogicalResult FetchOp::verify() {
  auto to = cast<MemRefType>(getTo().getType());
  auto from = cast<MemRefType>(getW().getType());
  // (C1)
  if (from.getRank() != 2 ||
      to.getShape() != ArrayRef<int64_t>{1, from.getDimSize(1)} ||
      to.getElementType() != from.getElementType())
    return emitOpError("expects a row of ") << from << " but got " << to;
  return success();
}

LogicalResult ReadRowOp::verify() {
  if (failed(::verifyStorage(*this)))
    return failure();
  // (C4)
  if (getTo().getType().getDimSize(0) != 1)
    return emitOpError("expects a buffer of one row but got ")
           << getTo().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ProductOp
//===----------------------------------------------------------------------===//

ParseResult hone::tile::parseElementBody(OpAsmParser &parser, Region &region,
                                         Type matrix) {
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

void hone::tile::printElementBody(OpAsmPrinter &p, StringRef keyword,
                                  Region &region) {
  if (region.empty())
    return;
  p << keyword << " (";
  p.printOperands(region.getArguments());
  p << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false);
}

LogicalResult hone::tile::verifyElementBody(Operation *op, Region &region,
                                            Type element, StringRef what) {
  if (region.empty())
    return success();
  Block &body = region.front();
  Type index = IndexType::get(op->getContext());
  if (failed(verifyArguments(op, body, {element, index, index}, what)))
    return failure();
  return verifyYield(op, body, element, what);
}

/// `prologue (...) {...} epilogue (...) {...}`, either of which may be missing.
static ParseResult parseBodies(OpAsmParser &parser, Region &prologue,
                               Region &epilogue, Type matrix) {
  if (succeeded(parser.parseOptionalKeyword("prologue")) &&
      parseElementBody(parser, prologue, matrix))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("epilogue")))
    return parseElementBody(parser, epilogue, matrix);
  return success();
}

static void printBodies(OpAsmPrinter &p, Operation *, Region &prologue,
                        Region &epilogue, Type) {
  printElementBody(p, "prologue", prologue);
  if (!prologue.empty() && !epilogue.empty())
    p << " ";
  printElementBody(p, "epilogue", epilogue);
}

LogicalResult ProductOp::verify() {
  if (failed(::verifyStorage(*this)))
    return failure();
  // (C4)
  Type element = getC().getType().getElementType();
  for (auto [name, matrix] :
       {std::pair("a", Value(getA())), std::pair("into", Value(getInto()))}) {
    if (!matrix)
      continue;
    Type type = cast<MemRefType>(matrix.getType()).getElementType();
    if (type != element && !(type.isBF16() && element.isF32()))
      return emitOpError("expects '")
             << name
             << "' to have the element type of 'c', or bf16 beside f32, but "
                "got "
             << type << " and " << element;
  }
  if (getIntoAt().size() != (getInto() ? 2u : 0u))
    return emitOpError("expects two indices with 'into' and none without but "
                       "got ")
           << getIntoAt().size();
  // (C5)
  if (getRounded() && (!element.isF32() || getTransposeA()))
    return emitOpError("expects 'rounded' with f32 alone and without "
                       "'transpose_a'");
  // (C6)
  if (getTerms() < 1 || getColumns() < 1)
    return emitOpError("expects blocks of at least 1 by 1 but got ")
           << getTerms() << " by " << getColumns();
  // (C7)
  if (failed(verifyElementBody(*this, getPrologue(), element, "the prologue")))
    return failure();
  return verifyElementBody(*this, getEpilogue(), element, "the epilogue");
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

void MapOp::build(
    OpBuilder &builder, OperationState &state, ValueRange bounds,
    function_ref<void(OpBuilder &, Location, ValueRange)> bodyBuilder) {
  buildBox<MapOp>(builder, state, bounds, bodyBuilder);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseBox<MapOp>(parser, result);
}

void MapOp::print(OpAsmPrinter &p) { printBox(p, *this); }

// (C1), (C2)
LogicalResult MapOp::verify() { return verifyBox(*this); }

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
