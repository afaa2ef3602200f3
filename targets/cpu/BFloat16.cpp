//===- BFloat16.cpp - Rounding to bfloat16 by an instruction --------------===//

#include "targets/cpu/BFloat16.h"

#include "targets/cpu/CpuPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace hone {
#define GEN_PASS_DEF_ROUNDTOBFLOAT16
#include "targets/cpu/CpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static constexpr int64_t kNumbers = 16;

Value hone::roundToBFloat16(OpBuilder &b, Location loc, Value numbers) {
  if (getElementTypeOrSelf(numbers).isBF16())
    return numbers;
  auto vector = cast<VectorType>(numbers.getType());
  int64_t count = vector.getNumElements();
  assert(vector.getRank() == 1 && count <= kNumbers && "lanes of f32");
  if (count < kNumbers) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < kNumbers; ++lane)
      lanes.push_back(lane % count);
    Value filled = vector::ShuffleOp::create(b, loc, numbers, numbers, lanes);
    Value rounded = roundToBFloat16(b, loc, filled);
    return vector::ShuffleOp::create(b, loc, rounded, rounded,
                                     ArrayRef(lanes).take_front(count));
  }
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

/// roundToBFloat16() of a vector or a scalar.
static Value roundAny(OpBuilder &b, Location loc, Value numbers) {
  if (isa<VectorType>(numbers.getType()))
    return roundToBFloat16(b, loc, numbers);
  auto wide = VectorType::get(kNumbers, b.getF32Type());
  Value same = vector::BroadcastOp::create(b, loc, wide, numbers);
  return vector::ExtractOp::create(b, loc, roundToBFloat16(b, loc, same),
                                   int64_t(0));
}

namespace {

struct RoundToBFloat16
    : public hone::impl::RoundToBFloat16Base<RoundToBFloat16> {
  void runOnOperation() override {
    getOperation()->walk([](arith::TruncFOp op) {
      if (!getElementTypeOrSelf(op.getType()).isBF16() ||
          !getElementTypeOrSelf(op.getIn().getType()).isF32())
        return;
      OpBuilder b(op);
      op.replaceAllUsesWith(roundAny(b, op.getLoc(), op.getIn()));
      op.erase();
    });
  }
};

} // namespace
