//===- PlacedRows.cpp - The rows that a placement is made for -------------===//

#include "passes/place/PlacedRows.h"

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/Sizes.h"
#include "passes/place/ArenaPlan.h"

using namespace mlir;

namespace hone {

std::vector<int64_t> halvedRows(int64_t rows, int64_t halvings) {
  constexpr int64_t fewest = 2;
  std::vector<int64_t> fewer;
  for (int64_t i = 0; i < halvings; ++i) {
    const int64_t half = llvm::divideCeil(rows, int64_t(2));
    if (half < fewest || half >= rows)
      break;
    fewer.push_back(rows = half);
  }
  return fewer;
}

SmallVector<PlacedRows> placedRows(Operation *module) {
  const int64_t most = mostRows(module).value_or(1);
  auto fewer = module->getAttrOfType<DenseI64ArrayAttr>(
      HoneDialect::getFewerRowsAttrName());
  SmallVector<PlacedRows> all = {{most, most}};
  for (int64_t rows : fewer ? fewer.asArrayRef() : ArrayRef<int64_t>())
    all.push_back({rows, most});
  return all;
}

int64_t tileRowsIn(int64_t tileRows, PlacedRows rows) {
  constexpr int64_t unit = numerics::kGradientRows;
  return std::min(
      tileRows, static_cast<int64_t>(llvm::alignTo(
                    llvm::divideCeil(tileRows * rows.rows, rows.most), unit)));
}

/// Whether rows are the second dimension, as in a pool.
static bool isPool(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() > 1 && !tensor.isDynamicDim(0) &&
         tensor.isDynamicDim(1);
}

int64_t bytesIn(Type type, PlacedRows rows) {
  if (isPool(type))
    return cast<RankedTensorType>(type).getDimSize(0) * poolStride(type, rows);
  return bytesAtRows(type, hasRows(type) ? rows.rows : rows.most);
}

int64_t bytesIn(MemRefType whole, MemRefType fewer) {
  ArrayRef<int64_t> a = whole.getShape(), b = fewer.getShape();
  bool isOutermost =
      !a.empty() && a.size() == b.size() && a.drop_front() == b.drop_front();
  return bytesAtRows(isOutermost ? fewer : whole, 0);
}

int64_t poolStride(Type pool, PlacedRows rows) {
  return ArenaPlan::align(bytesAtRows(PoolOp::slotType(pool), 1)) * rows.rows;
}

int64_t placedNumber(Operation *op, StringRef whole, StringRef fewer,
                     unsigned placement) {
  auto others = op->getAttrOfType<DenseI64ArrayAttr>(fewer);
  return placement > 0 && others && placement <= others.size()
             ? others[placement - 1]
             : op->getAttrOfType<IntegerAttr>(whole).getInt();
}

void setPlacedNumber(Operation *op, StringRef whole, StringRef fewer,
                     ArrayRef<int64_t> numbers) {
  Builder builder(op);
  op->setAttr(whole, builder.getI64IntegerAttr(numbers.front()));
  if (numbers.size() > 1)
    op->setAttr(fewer, builder.getDenseI64ArrayAttr(numbers.drop_front()));
  else
    op->removeAttr(fewer);
}

} // namespace hone
