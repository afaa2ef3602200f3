//===- MatrixPointers.cpp - From memrefs to the arguments of kernels ------===//
//
// See MatrixPointers.h.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/MatrixPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

Value hone::indexConstant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value hone::toWord(OpBuilder &b, Location loc, Value value) {
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
}

Value hone::elementPointer(OpBuilder &b, Location loc, Value buffer,
                           ValueRange indices) {
  auto type = cast<MemRefType>(buffer.getType());
  Value offset = indices[0];
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    if (dimension == 0)
      continue;
    Value size = indexConstant(b, loc, type.getDimSize(dimension));
    offset = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, offset, size), index);
  }
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer);
  start = LLVM::IntToPtrOp::create(b, loc, pointer, toWord(b, loc, start));
  return LLVM::GEPOp::create(b, loc, pointer, type.getElementType(), start,
                             ArrayRef<LLVM::GEPArg>{toWord(b, loc, offset)});
}

unsigned hone::panelLanes(const CpuDescription &cpu, Type element,
                          int64_t columns) {
  unsigned lanes = cpu.lanes(element.getIntOrFloatBitWidth());
  while (columns % lanes != 0)
    lanes /= 2;
  return lanes;
}

MemRefType hone::panelType(Type element, int64_t terms, int64_t columns,
                           bool pairs, bool mayBeNarrow) {
  constexpr int64_t lineBits = 512;
  int64_t bits = element.getIntOrFloatBitWidth();
  int64_t width = llvm::alignTo(columns, lineBits / bits);
  while (mayBeNarrow && width / 2 >= columns &&
         width / 2 * bits >= lineBits / 4)
    width /= 2;
  if (pairs)
    return MemRefType::get(
        {static_cast<int64_t>(llvm::alignTo(terms, CpuDescription::kUnitTerms)),
         width},
        BFloat16Type::get(element.getContext()));
  return MemRefType::get({terms, width}, element);
}
