//===- Sizes.cpp - Counts for the rules of costs and workspaces -----------===//

#include "dialects/Hone/Sizes.h"

#include "dialects/Hone/Numerics.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;

namespace hone {

Type computeType(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(computeType(shaped.getElementType()));
  return type.isBF16() ? Float32Type::get(type.getContext()) : type;
}

RankedTensorType scalarType(MLIRContext *context) {
  return RankedTensorType::get({}, Float64Type::get(context));
}

RankedTensorType integerType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 64));
}

RankedTensorType randomKeyType(MLIRContext *context) {
  return RankedTensorType::get(4, IntegerType::get(context, 32));
}

/// The attribute `name` of the module that `op` is or is in.
static std::optional<int64_t> moduleNumber(Operation *op, StringRef name) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto number =
      module ? module->getAttrOfType<IntegerAttr>(name) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

static void setModuleNumber(ModuleOp module, StringRef name, int64_t number,
                            int64_t otherwise) {
  if (number == otherwise)
    module->removeAttr(name);
  else
    module->setAttr(name, Builder(module).getI64IntegerAttr(number));
}

int64_t lossPartColumns(Operation *op) {
  return moduleNumber(op, kLossColumnsAttrName)
      .value_or(numerics::kLossColumns);
}

int64_t lossColumns(Operation *op) {
  int64_t part = lossPartColumns(op);
  int64_t rows = mostRows(op).value_or(kLossTileElements);
  if (part <= numerics::kLossColumns)
    return part;
  int64_t room = kLossTileElements / (std::max<int64_t>(rows, 1) * part);
  return part * std::clamp<int64_t>(room, 1, kLossParts);
}

void setLossColumns(ModuleOp module, int64_t columns) {
  setModuleNumber(module, kLossColumnsAttrName, columns,
                  numerics::kLossColumns);
}

int64_t attentionIterations(Operation *op) {
  return moduleNumber(op, kAttentionIterationsAttrName).value_or(0);
}

void setAttentionIterations(ModuleOp module, int64_t iterations) {
  setModuleNumber(module, kAttentionIterationsAttrName, iterations, 0);
}

int64_t attentionKeys(Operation *op) {
  return std::min(kAttentionKeys, mostRows(op).value_or(kAttentionKeys));
}

HeadParts headParts(int64_t heads, int64_t kvHeads, int64_t iterations) {
  int64_t group = heads / kvHeads;
  int64_t parts =
      std::clamp<int64_t>(llvm::divideCeil(iterations, kvHeads), 1, group);
  int64_t perPart = llvm::divideCeil(group, parts);
  return {perPart, static_cast<int64_t>(llvm::divideCeil(group, perPart))};
}

void setProductTiles(ModuleOp module, int64_t tiles) {
  setModuleNumber(module, kProductTilesAttrName, tiles, 0);
}

/// Whether `parameter` is one whose elements are random in part.
static bool isPerturbed(Value parameter) {
  Operation *op = parameter ? parameter.getDefiningOp() : nullptr;
  auto random = dyn_cast_or_null<RandomOpInterface>(op);
  return random && random.getRandomSource();
}

int64_t productParts(Operation *op, Value weight) {
  auto module = op->getParentOfType<ModuleOp>();
  int64_t atOnce = moduleNumber(op, kProductTilesAttrName).value_or(0);
  std::optional<int64_t> rows = mostRows(op);
  if (!atOnce || !rows ||
      !module->hasAttr(HoneDialect::getRoundedProductsAttrName()) ||
      isPerturbed(weight) || !computedType(op->getResult(0)).isF32())
    return 1;
  int64_t tiles = llvm::divideCeil(*rows, kPartRows) *
                  llvm::divideCeil(columns(op->getResult(0)), kPartColumns);
  int64_t terms = columns(op->getOperand(0));
  if (terms < kFewestTermsInParts)
    return 1;
  int64_t parts = llvm::bit_floor<uint64_t>(
      std::min(atOnce / tiles, terms / kFewestPartTerms));
  // Two parts cost as much as they spare.
  return parts < 4 ? 1 : parts;
}

SmallVector<MemRefType> productPartsType(Operation *op, Value weight,
                                         int64_t rows) {
  int64_t parts = productParts(op, weight);
  if (parts == 1)
    return {};
  Value result = op->getResult(0);
  return {
      MemRefType::get({rows, parts * columns(result)}, computedType(result))};
}

bool hasRows(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() > 0 && tensor.isDynamicDim(0);
}

bool isAmbient(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<Ambient>();
}

int64_t elementsAtRows(Type type, int64_t rows) {
  int64_t elements = 1;
  for (int64_t size : cast<ShapedType>(type).getShape())
    elements *= ShapedType::isDynamic(size) ? rows : size;
  return elements;
}

int64_t bytesAtRows(Type type, int64_t rows) {
  return elementsAtRows(type, rows) *
         (cast<ShapedType>(type).getElementTypeBitWidth() / 8);
}

int64_t operandAndResultBytes(Operation *op, int64_t rows) {
  int64_t bytes = 0;
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    bytes += bytesAtRows(type, rows);
  return bytes;
}

int64_t elements(Value value, int64_t rows) {
  return elementsAtRows(value.getType(), rows);
}

int64_t columns(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(1);
}

int64_t rowsOf(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(0);
}

Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Type computedType(Value value) { return computeType(elementType(value)); }

std::optional<int64_t> mostRows(Operation *op) {
  return moduleNumber(op, HoneDialect::getMaxRowsAttrName());
}

std::optional<int64_t> mostPositions(Operation *op) {
  return moduleNumber(op, HoneDialect::getMaxPositionsAttrName());
}

int64_t sequenceRows(Operation *op, int64_t rows) {
  return std::min(rows, mostPositions(op).value_or(rows));
}

int64_t productFlops(Value weight, int64_t rows) {
  return 2 * rows * elementsAtRows(weight.getType(), rows);
}

int64_t drawFlops(Value value, int64_t rows) {
  return 25 * elements(value, rows);
}

MemRefType perRow(MLIRContext *context, int64_t rows) {
  return MemRefType::get({rows}, Float64Type::get(context));
}

SmallVector<MemRefType> formedOnce(Value parameter, bool byElement) {
  auto plain = parameter ? parameter.getDefiningOp<ParameterOp>() : nullptr;
  bool isGrouped = plain && plain.getStored() && plain.getStored()->isGrouped();
  if (!isPerturbed(parameter) && !(byElement && isGrouped))
    return {};
  return {MemRefType::get({rowsOf(parameter), columns(parameter)},
                          computedType(parameter))};
}

} // namespace hone
