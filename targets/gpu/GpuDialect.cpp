//===- GpuDialect.cpp - The dialect simt ----------------------------------===//

#include "targets/gpu/GpuDialect.h"

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

#define GET_OP_CLASSES
#include "targets/gpu/GpuOps.cpp.inc"
