//===- ConvertToLLVM.cpp - The last conversion ----------------------------===//
//
// Upstream has one pass for each dialect. Running their patterns together
// leaves no casts between them and takes a fraction of the time.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/cpu/CpuPasses.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorTransforms.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "targets/cpu/CpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {

struct ConvertView : public ConvertOpToLLVMPattern<tile::ViewOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(tile::ViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value base = adaptor.getBase();
    if (isa<MemRefType>(op.getBase().getType()))
      base = MemRefDescriptor(base).alignedPtr(rewriter, loc);
    Value start = LLVM::GEPOp::create(
        rewriter, loc, base.getType(), rewriter.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{adaptor.getByteOffset()});
    rewriter.replaceOp(op, {MemRefDescriptor::fromStaticShape(
                               rewriter, loc, *getTypeConverter(),
                               cast<MemRefType>(op.getType()), start)});
    return success();
  }
};

struct ConvertToLLVM : public hone::impl::ConvertToLLVMBase<ConvertToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // LLVM would call a routine of compiler-rt that libgcc 12 lacks.
    RewritePatternSet expansions(context);
    arith::populateExpandBFloat16Patterns(expansions);
    walkAndApplyPatterns(getOperation(), std::move(expansions));

    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(context, options);

    RewritePatternSet patterns(context);
    patterns.add<ConvertView>(converter);
    vector::populateVectorMaskMaterializationPatterns(
        patterns, /*force32BitVectorIndices=*/true);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);

    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
