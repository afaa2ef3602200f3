//===- ConvertToNvvm.cpp - Kernels in the NVVM dialect --------------------===//
//
// Upstream's pass would turn math ops into calls of libdevice, which is not
// there, without a word; so the patterns are put together here.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
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
/// Registers come by eights.
static int32_t mostRegisters(int64_t workgroups) {
  return int32_t(65536 / (workgroups * simt::kThreads) / 8 * 8);
}

/// Lanes and subgroups are what Hone says they are: threads in their order.
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

/// The pointer that `from` gives, in the address space of an NVVM op.
Value pointerTo(OpBuilder &b, Location loc, Value pointer,
                NVVM::NVVMMemorySpace space) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
  if (pointer.getType() == type)
    return pointer;
  return LLVM::AddrSpaceCastOp::create(b, loc, type, pointer);
}

struct ConvertCopy : public ConvertOpToLLVMPattern<simt::CopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto at = [&](Value memory, Value converted, ValueRange indices,
                  NVVM::NVVMMemorySpace space) {
      return pointerTo(rewriter, loc,
                       getStridedElementPtr(rewriter, loc,
                                            cast<MemRefType>(memory.getType()),
                                            converted, indices),
                       space);
    };
    Value to = at(op.getTo(), adaptor.getTo(), adaptor.getToAt(),
                  NVVM::NVVMMemorySpace::Shared);
    Value from = at(op.getFrom(), adaptor.getFrom(), adaptor.getFromAt(),
                    NVVM::NVVMMemorySpace::Global);
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(
        op, to, from, simt::kChunkBytes, NVVM::LoadCacheModifierKind::CG,
        /*cpSize=*/Value());
    return success();
  }
};

struct ConvertLoadMatrices
    : public ConvertOpToLLVMPattern<simt::LoadMatricesOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::LoadMatricesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    constexpr unsigned kMatrices = 4, kSide = 8;
    MLIRContext *context = op.getContext();
    Value row = getStridedElementPtr(rewriter, loc,
                                     cast<MemRefType>(op.getMemory().getType()),
                                     adaptor.getMemory(), adaptor.getIndices());
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
struct ConvertLoadWords : public ConvertOpToLLVMPattern<simt::LoadWordsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::LoadWordsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value place = getStridedElementPtr(
        rewriter, loc, cast<MemRefType>(op.getMemory().getType()),
        adaptor.getMemory(), adaptor.getIndices());
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

struct ConvertStoreWords : public ConvertOpToLLVMPattern<simt::StoreWordsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::StoreWordsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value place = getStridedElementPtr(
        rewriter, op.getLoc(), cast<MemRefType>(op.getMemory().getType()),
        adaptor.getMemory(), adaptor.getIndices());
    storeTogether(rewriter, op.getLoc(),
                  {adaptor.getFirst(), adaptor.getSecond(), adaptor.getThird(),
                   adaptor.getFourth()},
                  place);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertStoreNumbers
    : public ConvertOpToLLVMPattern<simt::StoreNumbersOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::StoreNumbersOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value place = getStridedElementPtr(
        rewriter, op.getLoc(), cast<MemRefType>(op.getMemory().getType()),
        adaptor.getMemory(), adaptor.getIndices());
    storeTogether(rewriter, op.getLoc(), adaptor.getNumbers(), place);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertToNvvm : public hone::impl::ConvertToNvvmBase<ConvertToNvvm> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    mlir::gpu::GPUModuleOp module = getOperation();
    nameLanes(module);
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
    module.walk([](LLVM::GlobalOp global) {
      if (global.getAddrSpace() ==
          static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        global.setLinkage(LLVM::Linkage::External);
    });
  }
};

} // namespace
