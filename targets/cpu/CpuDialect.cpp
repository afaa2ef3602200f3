//===- CpuDialect.cpp - Panels and register tiles of a CPU ----------------===//
//
// Constraints are numbered as in CpuOps.td.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/CpuDialect.h"

#include "targets/cpu/CpuDescription.h"

using namespace mlir;
using namespace hone;
using namespace hone::cpu;

#include "targets/cpu/CpuDialect.cpp.inc"

void CpuDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "targets/cpu/CpuOps.cpp.inc"
      >();
}

int64_t FillOp::getGroup() {
  if (!getScales())
    return 0;
  return tile::groupSize(getSource().getType(), getScales().getType(),
                         *getBits())
      .value_or(0);
}

LogicalResult FillOp::verify() {
  // (C4)
  MemRefType panel = getPanel().getType();
  if (panel.getElementType().isBF16() &&
      panel.getDimSize(0) % CpuDescription::kUnitTerms != 0)
    return emitOpError("expects a panel of bf16 to have a multiple of ")
           << CpuDescription::kUnitTerms << " rows but got " << panel;
  // (C1) to (C3)
  return tile::verifyStorage(*this, getSource(), getScales(), getBiases(),
                             getBits());
}

/// The type of sums that a matrix of this type stores.
static Type sumTypeOf(MemRefType c) {
  Type element = c.getElementType();
  return element.isBF16() ? Float32Type::get(c.getContext()) : element;
}

Type ContractOp::getSumType() { return sumTypeOf(getC().getType()); }

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
  Type element = sumTypeOf(cast<MemRefType>(c.getType()));
  Type index = builder.getIndexType();
  Block *block =
      builder.createBlock(region, {}, {element, index, index},
                          {state.location, state.location, state.location});
  Value result = epilogueBuilder(builder, state.location, block->getArgument(0),
                                 block->getArgument(1), block->getArgument(2));
  YieldOp::create(builder, state.location, result);
}

//===----------------------------------------------------------------------===//
// DotsOp
//===----------------------------------------------------------------------===//

int64_t DotsOp::numbersOf(MemRefType w, std::optional<int64_t> bits) {
  return w.getDimSize(1) * (bits ? 8 / *bits : 1);
}

bool DotsOp::canRead(MemRefType w) {
  constexpr int64_t unitBits = 128;
  return w.getDimSize(1) * w.getElementTypeBitWidth() % unitBits == 0;
}

int64_t DotsOp::scratchNumbers(MemRefType w, std::optional<int64_t> bits) {
  constexpr int64_t vectorBits = 512, wordBits = 32;
  int64_t numberBits = bits.value_or(w.getElementTypeBitWidth());
  int64_t row = llvm::alignTo(numbersOf(w, bits), vectorBits / numberBits);
  return bits ? row + row * numberBits / wordBits : row;
}

int64_t DotsOp::getGroup() {
  if (!getScales())
    return 0;
  return tile::groupSize(getW().getType(), getScales().getType(), *getBits())
      .value_or(0);
}

LogicalResult DotsOp::verify() {
  // (C1) to (C3)
  if (failed(tile::verifyStorage(*this, getW(), getScales(), getBiases(),
                                 getBits())))
    return failure();
  // (C4)
  auto isF32 = [](Value matrix) {
    return cast<MemRefType>(matrix.getType()).getElementType().isF32();
  };
  Type a = getA().getType().getElementType();
  if (!isF32(getSums()) || !isF32(getScratch()) || a.isF64() ||
      getW().getType().getElementType().isF64())
    return emitOpError("expects f32 and a matrix of no more bits, but got ")
           << getSums().getType() << ", " << getA().getType() << ", "
           << getW().getType() << " and " << getScratch().getType();
  // (C5)
  if (!canRead(getW().getType()))
    return emitOpError("expects rows of whole units of 16 bytes but got ")
           << getW().getType();
  // (C6)
  int64_t numbers = scratchNumbers(getW().getType(), getBits());
  if (getScratch().getType().getNumElements() < numbers)
    return emitOpError("expects scratch of ")
           << numbers << " numbers but got " << getScratch().getType();
  return success();
}

static ParseResult parseEpilogue(OpAsmParser &parser, Region &region,
                                 Type matrix) {
  if (failed(parser.parseOptionalKeyword("epilogue")))
    return success();
  auto c = cast<MemRefType>(matrix);
  return tile::parseElementBody(parser, region, c.clone(sumTypeOf(c)));
}

static void printEpilogue(OpAsmPrinter &p, Operation *, Region &region, Type) {
  tile::printElementBody(p, "epilogue", region);
}

LogicalResult ContractOp::verify() {
  Type element = getSumType();
  // (C1)
  if (getAccumulate() && element != getC().getType().getElementType())
    return emitOpError("expects no 'accumulate' into a matrix of bf16");
  Type a = getA().getType().getElementType();
  Type panel = getPanel().getType().getElementType();
  auto fits = [&](Type type) {
    return type == element || (type.isBF16() && element.isF32());
  };
  if (!fits(a) || !fits(panel))
    return emitOpError("expects 'a' and 'panel' of the type of sums, or "
                       "of bf16 beside f32, but got ")
           << a << " and " << panel << " with " << element;
  if (getTransposeA() && panel.isBF16())
    return emitOpError("expects no 'transpose_a' with a panel of bf16");
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
  // (C2), (C3)
  return tile::verifyElementBody(*this, getEpilogue(), element, "the epilogue");
}

#define GET_OP_CLASSES
#include "targets/cpu/CpuOps.cpp.inc"
