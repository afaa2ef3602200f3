//===- BFloat16.cpp - Operands of pairs -----------------------------------===//

#include "targets/cpu/BFloat16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t kNumbers = 16;

Value hone::roundToBFloat16(OpBuilder &b, Location loc, Value numbers) {
  if (getElementTypeOrSelf(numbers).isBF16())
    return numbers;
  return LLVM::CallIntrinsicOp::create(
             b, loc, VectorType::get(kNumbers, b.getBF16Type()),
             b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"),
             ValueRange{numbers})
      .getResult(0);
}

Value hone::loadRoundedTerms(OpBuilder &b, Location loc, Type element,
                             Value address, Value left) {
  auto vector = VectorType::get(kNumbers, element);
  Value none = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  Value count = arith::IndexCastOp::create(b, loc, b.getIndexType(), left);
  Value mask = vector::CreateMaskOp::create(
      b, loc, VectorType::get(kNumbers, b.getI1Type()), count);
  Value numbers = LLVM::MaskedLoadOp::create(
      b, loc, vector, address, mask, none,
      /*alignment=*/element.getIntOrFloatBitWidth() / 8);
  return roundToBFloat16(b, loc, numbers);
}
