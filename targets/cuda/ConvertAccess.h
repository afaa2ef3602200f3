//===- ConvertAccess.h - Accesses to memory in the NVVM dialect -----------===//

#pragma once

#include "targets/gpu/GpuDialect.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace hone {

/// The pointer that `from` gives, in the address space of an NVVM op.
inline mlir::Value pointerTo(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::Value pointer,
                             mlir::NVVM::NVVMMemorySpace space) {
  auto type = mlir::LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
  if (pointer.getType() == type)
    return pointer;
  return mlir::LLVM::AddrSpaceCastOp::create(b, loc, type, pointer);
}

/// Of an op that accesses memory.
template <typename OpTy>
struct ConvertAccess : public mlir::ConvertOpToLLVMPattern<OpTy> {
  using mlir::ConvertOpToLLVMPattern<OpTy>::ConvertOpToLLVMPattern;
  using typename mlir::ConvertOpToLLVMPattern<OpTy>::OpAdaptor;

  /// Where `memory`, which is `converted`, has the element at `indices`.
  mlir::Value placeOf(mlir::ConversionPatternRewriter &rewriter,
                      mlir::Location loc, mlir::Value memory,
                      mlir::Value converted, mlir::ValueRange indices) const {
    return this->getStridedElementPtr(
        rewriter, loc, mlir::cast<mlir::MemRefType>(memory.getType()),
        converted, indices);
  }
  /// The same of an op with one memory.
  mlir::Value placeOf(mlir::ConversionPatternRewriter &rewriter, OpTy op,
                      OpAdaptor adaptor) const {
    return placeOf(rewriter, op.getLoc(), op.getMemory(), adaptor.getMemory(),
                   adaptor.getIndices());
  }
};

/// Of products by four subgroups (ConvertGroups.cpp).
void populateGroupPatterns(const mlir::LLVMTypeConverter &converter,
                           mlir::RewritePatternSet &patterns);

} // namespace hone
