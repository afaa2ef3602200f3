//===- ConvertToNvvm.cpp - Kernels in the NVVM dialect --------------------===//
//
// Upstream's pass would turn math ops into calls of libdevice, which is not
// there, without a word; so the patterns are put together here.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/cuda/ConvertAccess.h"
#include "targets/cuda/CudaPasses.h"
#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/Kernel.h"
#include "targets/gpu/StagedSide.h"
#include "targets/host/HostPasses.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_CONVERTTONVVM
#include "targets/cuda/CudaPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Of a thread: with more, a multiprocessor has fewer workgroups at a time.
/// Registers come by eights, and an instruction can name 255.
static int32_t mostRegisters(int64_t workgroups) {
  int64_t each = 65536 / (workgroups * simt::kThreads) / 8 * 8;
  return int32_t(std::min<int64_t>(each, 255));
}

/// Lanes and subgroups are as Hone defines them: threads in their order.
static void nameLanes(mlir::gpu::GPUModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<mlir::gpu::LaneIdOp, mlir::gpu::SubgroupIdOp>(op))
      return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value thread =
        mlir::gpu::ThreadIdOp::create(b, loc, mlir::gpu::Dimension::x);
    Value lanes = arith::ConstantIndexOp::create(b, loc, simt::kLanes);
    Value number =
        isa<mlir::gpu::LaneIdOp>(op)
            ? arith::RemUIOp::create(b, loc, thread, lanes).getResult()
            : arith::DivUIOp::create(b, loc, thread, lanes).getResult();
    op->getResult(0).replaceAllUsesWith(number);
    op->erase();
  });
}

namespace {

struct ConvertCopy : public ConvertAccess<simt::CopyOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value to =
        placeOf(rewriter, loc, op.getTo(), adaptor.getTo(), adaptor.getToAt());
    Value from = placeOf(rewriter, loc, op.getFrom(), adaptor.getFrom(),
                         adaptor.getFromAt());
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(
        op, pointerTo(rewriter, loc, to, NVVM::NVVMMemorySpace::Shared),
        pointerTo(rewriter, loc, from, NVVM::NVVMMemorySpace::Global),
        simt::kChunkBytes, NVVM::LoadCacheModifierKind::CG,
        /*cpSize=*/Value());
    return success();
  }
};

struct ConvertLoadMatrices : public ConvertAccess<simt::LoadMatricesOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::LoadMatricesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    constexpr unsigned kMatrices = 4, kSide = 8;
    MLIRContext *context = op.getContext();
    Value row = placeOf(rewriter, op, adaptor);
    auto type = LLVM::LLVMStructType::getLiteral(
        context, SmallVector<Type>(kMatrices, rewriter.getI32Type()));
    Value all = NVVM::LdMatrixOp::create(
        rewriter, loc, type,
        pointerTo(rewriter, loc, row, NVVM::NVVMMemorySpace::Shared), kMatrices,
        op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(context, kSide, kSide),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> each;
    for (int64_t i = 0; i < kMatrices; ++i)
      each.push_back(LLVM::ExtractValueOp::create(rewriter, loc, all, i));
    rewriter.replaceOp(op, each);
    return success();
  }
};

/// Four words of the device's memory, as one access.
struct ConvertLoadWords : public ConvertAccess<simt::LoadWordsOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::LoadWordsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value place = placeOf(rewriter, op, adaptor);
    auto type = VectorType::get(op.getNumResults(), rewriter.getI32Type());
    Value all =
        LLVM::LoadOp::create(rewriter, loc, type, place, simt::kChunkBytes);
    SmallVector<Value> words;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      Value at = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32Type(),
                                          rewriter.getI32IntegerAttr(i));
      words.push_back(LLVM::ExtractElementOp::create(rewriter, loc, all, at));
    }
    rewriter.replaceOp(op, words);
    return success();
  }
};

/// Stores values of one type side by side, as one access.
void storeTogether(ConversionPatternRewriter &rewriter, Location loc,
                   ValueRange values, Value place) {
  auto type = VectorType::get(values.size(), values.front().getType());
  Value all = LLVM::PoisonOp::create(rewriter, loc, type);
  for (auto [i, value] : llvm::enumerate(values)) {
    Value at = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32Type(),
                                        rewriter.getI32IntegerAttr(i));
    all = LLVM::InsertElementOp::create(rewriter, loc, all, value, at);
  }
  LLVM::StoreOp::create(rewriter, loc, all, place,
                        type.getNumElements() * type.getElementTypeBitWidth() /
                            8);
}

struct ConvertStoreWords : public ConvertAccess<simt::StoreWordsOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::StoreWordsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    storeTogether(rewriter, op.getLoc(),
                  {adaptor.getFirst(), adaptor.getSecond(), adaptor.getThird(),
                   adaptor.getFourth()},
                  placeOf(rewriter, op, adaptor));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertStoreNumbers : public ConvertAccess<simt::StoreNumbersOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::StoreNumbersOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    storeTogether(rewriter, op.getLoc(), adaptor.getNumbers(),
                  placeOf(rewriter, op, adaptor));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertToNvvm : public hone::impl::ConvertToNvvmBase<ConvertToNvvm> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    mlir::gpu::GPUModuleOp module = getOperation();
    nameLanes(module);
    bool hasGroups = simt::hasGroups(module);
    // Shuffles move 32 bits.
    RewritePatternSet shuffles(context);
    populateGpuShufflePatterns(shuffles);
    walkAndApplyPatterns(module, std::move(shuffles));

    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(context, options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(context);
    populateTileToLLVMPatterns(converter, patterns);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    // Ahead of those that call libdevice.
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    patterns.add<ConvertCopy, ConvertLoadMatrices, ConvertLoadWords,
                 ConvertStoreWords, ConvertStoreNumbers>(converter);
    populateGroupPatterns(converter, patterns);

    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<mlir::gpu::GPUModuleOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    // Told how many threads there are, ptxas 13 spills registers of which it
    // has plenty: it wants more workgroups on a multiprocessor.
    module.walk([](LLVM::LLVMFuncOp kernel) {
      kernel->removeAttr(NVVM::NVVMDialect::getReqntidAttrName());
      kernel->removeAttr(NVVM::NVVMDialect::getMaxntidAttrName());
      if (kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())) {
        auto count =
            kernel->getAttrOfType<IntegerAttr>(simt::kWorkgroupsAttrName);
        kernel->removeAttr(simt::kWorkgroupsAttrName);
        kernel->setAttr(
            NVVM::NVVMDialect::getMaxnregAttrName(),
            Builder(kernel.getContext())
                .getI32IntegerAttr(mostRegisters(count ? count.getInt() : 2)));
      }
    });
    // Memory whose size a launch says is declared and not defined; upstream has
    // an array of no bytes.
    module.walk([&](LLVM::GlobalOp global) {
      if (global.getAddrSpace() !=
          static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        return;
      global.setLinkage(LLVM::Linkage::External);
      if (hasGroups)
        global.setAlignment(simt::MultiplyGroupOp::kAlignment);
    });
  }
};

} // namespace
