//===- TransposeNetwork.cpp - Transposing squares in registers ------------===//
//
// See TransposeNetwork.h.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/TransposeNetwork.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

SmallVector<Value> TransposeNetwork::transpose(ArrayRef<Value> rows) {
  // inChunk[q][c]: column c of every chunk, for the q-th group of rows.
  SmallVector<SmallVector<Value>> inChunk;
  for (unsigned q = 0; q < lanes; q += perChunk)
    inChunk.push_back(unpackRows(rows.slice(q, perChunk), 1));
  SmallVector<Value> columns(lanes);
  for (unsigned c = 0; c < perChunk; ++c) {
    SmallVector<Value> chunks;
    for (SmallVector<Value> &group : inChunk)
      chunks.push_back(group[c]);
    for (auto [l, column] : llvm::enumerate(deal(chunks, perChunk)))
      columns[l * perChunk + c] = column;
  }
  return columns;
}

SmallVector<Value> TransposeNetwork::unpackRows(ArrayRef<Value> rows,
                                                unsigned unit) {
  if (unit == perChunk)
    return {rows[0]};
  // Rows that differ in the lowest bit still to be resolved are neighbours.
  SmallVector<Value> low, high;
  for (unsigned r = 0; r < rows.size(); r += 2) {
    low.push_back(unpack(rows[r], rows[r + 1], unit, /*high=*/false));
    high.push_back(unpack(rows[r], rows[r + 1], unit, /*high=*/true));
  }
  SmallVector<Value> columns = unpackRows(low, unit * 2);
  columns.append(unpackRows(high, unit * 2));
  return columns;
}

Value TransposeNetwork::unpack(Value x, Value y, unsigned unit, bool high) {
  SmallVector<int64_t> indices;
  for (unsigned chunk = 0; chunk < lanes; chunk += perChunk)
    for (unsigned i = 0; i < perChunk / 2; i += unit)
      for (unsigned source : {0u, lanes})
        for (unsigned e = 0; e < unit; ++e)
          indices.push_back(source + chunk + (high ? perChunk / 2 : 0) + i + e);
  return vector::ShuffleOp::create(b, loc, x, y, indices);
}

SmallVector<Value> TransposeNetwork::deal(ArrayRef<Value> operands,
                                          unsigned unit) {
  if (operands.size() == 1)
    return {operands[0]};
  SmallVector<Value> even, odd;
  for (unsigned i = 0; i < operands.size(); i += 2) {
    even.push_back(everySecond(operands[i], operands[i + 1], 0, unit));
    odd.push_back(everySecond(operands[i], operands[i + 1], 1, unit));
  }
  SmallVector<Value> result;
  for (auto [e, o] : llvm::zip_equal(deal(even, unit), deal(odd, unit))) {
    result.push_back(e);
    result.push_back(o);
  }
  return result;
}

Value TransposeNetwork::everySecond(Value x, Value y, unsigned first,
                                    unsigned unit) {
  SmallVector<int64_t> indices;
  for (unsigned place = first; place < 2 * lanes / unit; place += 2)
    for (unsigned e = 0; e < unit; ++e)
      indices.push_back(place * unit + e);
  return vector::ShuffleOp::create(b, loc, x, y, indices);
}
