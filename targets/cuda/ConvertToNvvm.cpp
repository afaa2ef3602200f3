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
/// Registers come by eights, and an instruction can name 255.
static int32_t mostRegisters(int64_t workgroups) {
  int64_t each = 65536 / (workgroups * simt::kThreads) / 8 * 8;
  return int32_t(std::min<int64_t>(each, 255));
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

/// Of an op that accesses memory.
template <typename OpTy>
struct ConvertAccess : public ConvertOpToLLVMPattern<OpTy> {
  using ConvertOpToLLVMPattern<OpTy>::ConvertOpToLLVMPattern;
  using typename ConvertOpToLLVMPattern<OpTy>::OpAdaptor;

  /// Where `memory`, which is `converted`, has the element at `indices`.
  Value placeOf(ConversionPatternRewriter &rewriter, Location loc, Value memory,
                Value converted, ValueRange indices) const {
    return this->getStridedElementPtr(
        rewriter, loc, cast<MemRefType>(memory.getType()), converted, indices);
  }
  /// The same of an op with one memory.
  Value placeOf(ConversionPatternRewriter &rewriter, OpTy op,
                OpAdaptor adaptor) const {
    return placeOf(rewriter, op.getLoc(), op.getMemory(), adaptor.getMemory(),
                   adaptor.getIndices());
  }
};

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

/// `wgmma` reads registers and memory until it is waited for, which no compiler
/// of LLVM's knows: from its fence to the end of the wait all is one piece of
/// text.
struct ConvertMultiplyGroup : public ConvertAccess<simt::MultiplyGroupOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::MultiplyGroupOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    constexpr int64_t kTerms = 16, kRowBytes = 128, kEightRows = 8 * kRowBytes;
    Type word = rewriter.getI32Type(), wide = rewriter.getI64Type();
    auto constant = [&](Type type, int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc, type,
                                      rewriter.getIntegerAttr(type, value));
    };
    // PTX, "Matrix Descriptor Format"; addresses and strides without 4 bits.
    auto descriptor = [&](Value memory, Value converted, ValueRange indices,
                          int64_t leading) -> Value {
      Value place = pointerTo(
          rewriter, loc, placeOf(rewriter, loc, memory, converted, indices),
          NVVM::NVVMMemorySpace::Shared);
      Value address = LLVM::PtrToIntOp::create(rewriter, loc, word, place);
      Value begin =
          LLVM::LShrOp::create(rewriter, loc, address, constant(word, 4));
      constexpr uint64_t kSwizzle128 = uint64_t(1) << 62;
      uint64_t fixed = uint64_t(leading >> 4) << 16 |
                       uint64_t(kEightRows >> 4) << 32 | kSwizzle128;
      return LLVM::OrOp::create(
          rewriter, loc, LLVM::ZExtOp::create(rewriter, loc, wide, begin),
          constant(wide, int64_t(fixed)));
    };
    bool isTransposed = op.getTranspose();
    // Along terms of one row of 128 bytes nothing leads anywhere.
    int64_t plane = isTransposed ? op.kRow * kRowBytes : 16;
    Value zero = constant(wide, 0);
    Value ofLeft =
        descriptor(op.getLeft(), adaptor.getLeft(),
                   {adaptor.getLeftSlot(), adaptor.getLeftRow(), zero}, 16);
    Value ofRight = descriptor(op.getRight(), adaptor.getRight(),
                               {adaptor.getRightSlot(), zero, zero}, plane);

    auto sums = static_cast<int64_t>(op.getSums().size());
    SmallVector<Value> operands(adaptor.getSums());
    std::string text = "wgmma.fence.sync.aligned;\n", constraints, registers;
    for (int64_t i = 0; i < sums; ++i) {
      constraints += "=f,";
      registers += (i ? ", $" : "$") + std::to_string(i);
    }
    for (int64_t i = 0; i < sums; ++i)
      constraints += std::to_string(i) + ",";
    int64_t next = 2 * sums;
    for (int64_t t = 0; t < op.kRow; t += kTerms) {
      int64_t along = t * 2, across = t * kRowBytes;
      auto add = [&](Value to, int64_t bytes) {
        operands.push_back(
            LLVM::AddOp::create(rewriter, loc, to, constant(wide, bytes >> 4)));
        constraints += "l,";
      };
      add(ofLeft, along);
      add(ofRight, isTransposed ? across : along);
      text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(2 * sums) +
              "k16.f32.bf16.bf16 {" + registers + "}, $" +
              std::to_string(next) + ", $" + std::to_string(next + 1) +
              ", 1, 1, 1, 0, " + (isTransposed ? "1" : "0") + ";\n";
      next += 2;
    }
    text += "wgmma.commit_group.sync.aligned;\n"
            "wgmma.wait_group.sync.aligned 0;";
    constraints += "~{memory}";
    auto type = LLVM::LLVMStructType::getLiteral(
        op.getContext(), SmallVector<Type>(sums, rewriter.getF32Type()));
    Value all = LLVM::InlineAsmOp::create(
                    rewriter, loc, type, operands, text, constraints,
                    /*has_side_effects=*/true, /*is_align_stack=*/false,
                    LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                    /*operand_attrs=*/ArrayAttr())
                    .getRes();
    SmallVector<Value> each;
    for (int64_t i = 0; i < sums; ++i)
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
    bool hasGroups = false;
    module.walk([&](simt::MultiplyGroupOp) { hasGroups = true; });
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
    patterns.add<ConvertCopy, ConvertLoadMatrices, ConvertMultiplyGroup,
                 ConvertLoadWords, ConvertStoreWords, ConvertStoreNumbers>(
        converter);

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
