//===- GpuDialect.cpp - The dialect simt ----------------------------------===//

#include "targets/gpu/GpuDialect.h"

#include "targets/gpu/StagedSide.h"
#include "targets/gpu/TileShape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

#include "targets/gpu/GpuDialect.cpp.inc"

void SimtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "targets/gpu/GpuOps.cpp.inc"
      >();
}

bool ChainOp::holds(tile::ProductOp product) {
  return SumPlace::of(product) ==
         SumPlace{getC(), getRow(), getColumn(), getM(), getN()};
}

SmallVector<tile::ProductOp> ChainOp::getProducts() {
  SmallVector<tile::ProductOp> products;
  getBody().walk([&](tile::ProductOp product) {
    if (holds(product))
      products.push_back(product);
  });
  return products;
}

//===----------------------------------------------------------------------===//
// 16 bytes at a time
//===----------------------------------------------------------------------===//

/// The gpu dialect may not be loaded, where nothing is shared.
static bool isShared(MemRefType type) {
  auto space =
      dyn_cast_or_null<mlir::gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space &&
         space.getValue() == mlir::gpu::GPUDialect::getWorkgroupAddressSpace();
}

/// As far as can be seen, `indices` of operand `name` are at a multiple of
/// `unit` bytes.
static LogicalResult verifyPlace(Operation *op, StringRef name, MemRefType type,
                                 OperandRange indices,
                                 int64_t unit = kChunkBytes) {
  if (int64_t(indices.size()) != type.getRank())
    return op->emitOpError("expects ")
           << type.getRank() << " indices of '" << name << "' but got "
           << indices.size();
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isKnown = succeeded(type.getStridesAndOffset(strides, offset));
  const int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto isMultiple = [&](int64_t elements) {
    return !ShapedType::isDynamic(elements) && elements * bytes % unit == 0;
  };
  if (!isKnown || strides.empty() || strides.back() != 1 ||
      !isMultiple(offset) ||
      !llvm::all_of(ArrayRef(strides).drop_back(), isMultiple))
    return op->emitOpError("expects rows of '")
           << name << "' to begin at multiples of " << unit
           << " bytes, and neighbours in them, but its type is " << type;
  std::optional<int64_t> last = getConstantIntValue(indices.back());
  if (last && !isMultiple(*last))
    return op->emitOpError("expects a multiple of ")
           << unit / bytes << " as the last index of '" << name << "' but got "
           << *last;
  return success();
}

LogicalResult CopyOp::verify() {
  MemRefType from = cast<MemRefType>(getFrom().getType()),
             to = cast<MemRefType>(getTo().getType());
  Type element = from.getElementType();
  // (C1)
  if (element != to.getElementType())
    return emitOpError("expects one element type but got ")
           << element << " and " << to.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0 ||
      kChunkBytes * 8 % element.getIntOrFloatBitWidth() != 0)
    return emitOpError("expects elements of which ")
           << kChunkBytes << " bytes hold a whole number but got " << element;
  // (C2)
  if (from.getMemorySpace() || !isShared(to))
    return emitOpError("expects to copy from the device's memory to shared "
                       "memory but got ")
           << from << " and " << to;
  // (C3)
  if (failed(verifyPlace(*this, "from", from, getFromAt())))
    return failure();
  return verifyPlace(*this, "to", to, getToAt());
}

LogicalResult LoadMatricesOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  // (C3)
  if (!isShared(type))
    return emitOpError("expects shared memory but got ") << type;
  // (C4)
  return verifyPlace(*this, "memory", type, getIndices());
}

LogicalResult MultiplyGroupOp::verify() {
  // (C1)
  for (Value memory : {getLeft(), getRight()}) {
    auto type = cast<MemRefType>(memory.getType());
    if (!isShared(type) || type.getRank() != 3 || type.getDimSize(2) != kRow)
      return emitOpError("expects shared memory with stages of rows of ")
             << kRow << " elements but got " << type;
  }
  // (C2)
  int64_t places = cast<MemRefType>(getRight().getType()).getDimSize(1);
  if (static_cast<int64_t>(getSums().size()) * 2 != places)
    return emitOpError("expects ")
           << places / 2 << " sums but got " << getSums().size();
  return success();
}

bool simt::hasGroups(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<MultiplyGroupOp, GroupDotsOp, GroupAddOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// (C1) of products of groups.
static LogicalResult verifyRows(Operation *op, Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  if (isShared(type) && type.getRank() == 1)
    return success();
  return op->emitOpError("expects shared memory of one dimension but got ")
         << type;
}

LogicalResult GroupDotsOp::verify() {
  if (failed(verifyRows(*this, getMemory())))
    return failure();
  // (C3)
  if (getLefts().size() != getRights().size() || getLefts().empty())
    return emitOpError("expects as many places on the left as on the right but "
                       "got ")
           << getLefts().size() << " and " << getRights().size();
  auto columns = static_cast<int64_t>(getColumns());
  if (columns <= 0 || columns > kMostPlaces || columns % kMatrixColumns != 0)
    return emitOpError("expects a multiple of ")
           << kMatrixColumns << " columns up to " << kMostPlaces << " but got "
           << columns;
  auto features = static_cast<int64_t>(getFeatures());
  if (features <= 0 || features % MultiplyGroupOp::kRow != 0)
    return emitOpError("expects a multiple of ")
           << MultiplyGroupOp::kRow << " features but got " << features;
  auto wanted = static_cast<int64_t>(getLefts().size()) * columns / 2;
  if (static_cast<int64_t>(getNumResults()) != wanted)
    return emitOpError("expects ")
           << wanted << " results but got " << getNumResults();
  return success();
}

LogicalResult GroupAddOp::verify() {
  if (failed(verifyRows(*this, getMemory())))
    return failure();
  // (C3)
  size_t places = getPlaces().size();
  constexpr size_t kWords = 4, kPanelSums = MultiplyGroupOp::kRow / 2;
  if (places == 0 || getWeights().empty() ||
      getWeights().size() % (places * kWords) != 0)
    return emitOpError("expects ")
           << kWords << " words of whole terms for each place but got "
           << getWeights().size();
  if (getSums().empty() || getSums().size() % (places * kPanelSums) != 0 ||
      getSums().size() / places > kMostPlaces / 2)
    return emitOpError("expects ")
           << kPanelSums
           << " sums of a panel, or of two, for each place but got "
           << getSums().size();
  if (getNumResults() != getSums().size())
    return emitOpError("expects as many results as sums but got ")
           << getNumResults() << " and " << getSums().size();
  return success();
}

LogicalResult LoadWordsOp::verify() {
  // (C2)
  return verifyPlace(*this, "memory", cast<MemRefType>(getMemory().getType()),
                     getIndices());
}

LogicalResult StoreWordsOp::verify() {
  // (C2)
  return verifyPlace(*this, "memory", cast<MemRefType>(getMemory().getType()),
                     getIndices());
}

LogicalResult StoreNumbersOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  // (C1)
  for (Value number : getNumbers())
    if (number.getType() != type.getElementType())
      return emitOpError("expects numbers of type ")
             << type.getElementType() << " but got " << number.getType();
  Type element = type.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitOpError("expects numbers of whole bytes but got ") << element;
  int64_t count = getNumbers().size();
  int64_t bytes = count * type.getElementTypeBitWidth() / 8;
  if (bytes < 2 || bytes > kChunkBytes || !llvm::isPowerOf2_64(bytes))
    return emitOpError("expects 2, 4, 8 or ")
           << kChunkBytes << " bytes of numbers but got " << bytes;
  // (C2)
  return verifyPlace(*this, "memory", type, getIndices(), bytes);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

template <typename Attention>
static LogicalResult verifyAttention(Attention op, ValueRange likeKeys) {
  // (C1)
  int64_t headDim = op.getHeadDim();
  if (headDim != 64 && headDim != 128)
    return op.emitOpError("expects heads of 64 or 128 features but got ")
           << headDim;
  for (Value matrix : likeKeys)
    if (!cast<MemRefType>(matrix.getType()).getElementType().isBF16())
      return op.emitOpError("expects elements of bfloat16 but got ")
             << matrix.getType();
  // (C2)
  std::optional<int64_t> first = getConstantIntValue(op.getFirst());
  if (first && *first % kMatrixRows != 0)
    return op.emitOpError("expects the first row to be a multiple of ")
           << kMatrixRows << " but got " << *first;
  // (C3)
  if (double scale = op.getScale().convertToDouble(); !(scale > 0))
    return op.emitOpError("expects a positive scale but got ") << scale;
  return success();
}

LogicalResult simt::AttentionOp::verify() {
  return verifyAttention(*this, {getQ(), getK(), getV(), getY()});
}

LogicalResult AttentionQueryAdjointOp::verify() {
  return verifyAttention(*this,
                         {getQ(), getK(), getV(), getY(), getDy(), getDq()});
}

LogicalResult AttentionKeyAdjointOp::verify() {
  // (C4)
  int64_t rows = getRows();
  if (getByGroups() && rows != kGroupRows)
    return emitOpError("expects ")
           << kGroupRows << " rows of groups but got " << rows;
  if (rows != 16 && rows != 32 && rows != 64)
    return emitOpError("expects 16, 32 or 64 rows but got ") << rows;
  return verifyAttention(*this,
                         {getQ(), getK(), getV(), getDy(), getDk(), getDv()});
}

#define GET_OP_CLASSES
#include "targets/gpu/GpuOps.cpp.inc"
