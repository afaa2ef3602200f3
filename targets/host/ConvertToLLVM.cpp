//===- ConvertToLLVM.cpp - The last conversion ----------------------------===//
//
// Upstream has one pass for each dialect. Running their patterns together
// leaves no casts between them and takes a fraction of the time.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/host/HostPasses.h"

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
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorTransforms.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "targets/host/HostPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// The address `bytes` bytes after where `place` is: a pointer, or a buffer.
static Value byteAt(OpBuilder &b, Location loc, Value place, Value bytes) {
  if (!isa<LLVM::LLVMPointerType>(place.getType()))
    place = MemRefDescriptor(place).alignedPtr(b, loc);
  return LLVM::GEPOp::create(b, loc, place.getType(), b.getI8Type(), place,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

namespace {

struct ConvertView : public ConvertOpToLLVMPattern<tile::ViewOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(tile::ViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value start =
        byteAt(rewriter, loc, adaptor.getBase(), adaptor.getByteOffset());
    if (auto type = dyn_cast<MemRefType>(op.getType()))
      start = MemRefDescriptor::fromStaticShape(
          rewriter, loc, *getTypeConverter(), type, start);
    rewriter.replaceOp(op, start);
    return success();
  }
};

/// Memory and the pointer to it are one from here on.
struct ConvertMemoryCast
    : public OpConversionPattern<UnrealizedConversionCastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getInputs());
    return success();
  }
};

/// The argument by which the runtime knows a caller.
static Value frameOf(OpBuilder &b, Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  Value first = function.getArgument(0);
  if (!isTask(function))
    return first;
  // The closure begins with the frame.
  return LLVM::LoadOp::create(b, op->getLoc(), first.getType(), first);
}

/// `count` rows of a buffer in bytes.
static Value bytesOfRows(OpBuilder &b, Location loc, MemRefType type,
                         Value count) {
  const int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return LLVM::MulOp::create(
      b, loc, count,
      LLVM::ConstantOp::create(
          b, loc, b.getI64IntegerAttr(bits / 8 / type.getDimSize(0))));
}

static LogicalResult callRuntime(Operation *op, StringRef callee,
                                 ArrayRef<Value> arguments,
                                 ConversionPatternRewriter &rewriter) {
  FailureOr<LLVM::LLVMFuncOp> function =
      LLVM::lookupOrCreateFn(rewriter, op->getParentOfType<ModuleOp>(), callee,
                             llvm::to_vector(ValueRange(arguments).getTypes()),
                             LLVM::LLVMVoidType::get(rewriter.getContext()));
  if (failed(function))
    return failure();
  rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, *function, arguments);
  return success();
}

struct ConvertFetch : public ConvertOpToLLVMPattern<tile::FetchOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(tile::FetchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getW().getType());
    auto column = MemRefType::get({type.getDimSize(1)}, type.getElementType());
    Value skipped = bytesOfRows(rewriter, loc, column, adaptor.getColumn());
    Value to = byteAt(rewriter, loc, adaptor.getTo(), skipped);
    Value row = bytesOfRows(rewriter, loc, type, adaptor.getRow());
    Value from = byteAt(rewriter, loc, adaptor.getW(),
                        LLVM::AddOp::create(rewriter, loc, row, skipped));
    Value bytes = bytesOfRows(rewriter, loc, column, adaptor.getCount());
    return callRuntime(op, "hone_fetch",
                       {frameOf(rewriter, op), to, from, bytes}, rewriter);
  }
};

/// Statements about a buffer, or rows of it, become calls of the runtime.
template <typename BufferOp>
struct ConvertRuntimeCall : public ConvertOpToLLVMPattern<BufferOp> {
  ConvertRuntimeCall(LLVMTypeConverter &converter, StringRef callee)
      : ConvertOpToLLVMPattern<BufferOp>(converter), callee(callee) {}

  using Adaptor = typename BufferOp::Adaptor;

  LogicalResult
  matchAndRewrite(BufferOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> arguments = {frameOf(rewriter, op)};
    if constexpr (std::is_same_v<BufferOp, tile::AwaitOp>)
      arguments.push_back(MemRefDescriptor(adaptor.getBuffer())
                              .alignedPtr(rewriter, op.getLoc()));
    else
      appendRows(op, adaptor, rewriter, arguments);
    return callRuntime(op, callee, arguments, rewriter);
  }

  /// Where the rows begin, their bytes, and where they are in a file.
  static void appendRows(BufferOp op, Adaptor adaptor,
                         ConversionPatternRewriter &rewriter,
                         SmallVectorImpl<Value> &arguments) {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getBuffer().getType());
    Value start = byteAt(rewriter, loc, adaptor.getBuffer(),
                         bytesOfRows(rewriter, loc, type, adaptor.getRow()));
    arguments.append(
        {start, bytesOfRows(rewriter, loc, type, adaptor.getCount())});
    if constexpr (std::is_same_v<BufferOp, tile::OffloadOp> ||
                  std::is_same_v<BufferOp, tile::ReloadOp>)
      arguments.push_back(
          LLVM::ConstantOp::create(rewriter, loc, op.getOffsetAttr()));
  }

  StringRef callee;
};

/// The integers that numbers of bfloat16 are to be moved as; null for others.
static Type integersOf(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return {};
  Type integer = IntegerType::get(type.getContext(), 16);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(integer);
  return integer;
}

/// Loads, stores and selections of bfloat16 become those of integers. Where a
/// CPU has no instructions for bfloat16, LLVM would else convert each number to
/// f32 and back, by the routine that is missing.
static void moveBFloat16AsIntegers(ModuleOp module) {
  SmallVector<Operation *> moves;
  module.walk([&](Operation *op) {
    if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp,
            LLVM::MaskedStoreOp, LLVM::SelectOp>(op))
      moves.push_back(op);
  });
  for (Operation *op : moves) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Type integers = integersOf(operand.get().getType()))
        operand.set(LLVM::BitcastOp::create(builder, op->getLoc(), integers,
                                            operand.get()));
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (Type integers = integersOf(result.getType())) {
        Type numbers = result.getType();
        result.setType(integers);
        auto cast =
            LLVM::BitcastOp::create(builder, op->getLoc(), numbers, result);
        result.replaceAllUsesExcept(cast, cast);
      }
  }
}

} // namespace

void hone::populateTileToLLVMPatterns(LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns) {
  converter.addConversion([](tile::MemoryType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  patterns.add<ConvertView>(converter);
}

namespace {

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
    populateTileToLLVMPatterns(converter, patterns);
    patterns.add<ConvertMemoryCast>(converter, context);
    patterns.add<ConvertRuntimeCall<tile::PrefetchOp>>(converter,
                                                       "hone_prefetch");
    patterns.add<ConvertRuntimeCall<tile::ReleaseOp>>(converter,
                                                      "hone_release");
    patterns.add<ConvertFetch>(converter);
    patterns.add<ConvertRuntimeCall<tile::OffloadOp>>(converter,
                                                      "hone_offload");
    patterns.add<ConvertRuntimeCall<tile::ReloadOp>>(converter, "hone_reload");
    patterns.add<ConvertRuntimeCall<tile::AwaitOp>>(converter, "hone_await");
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
    // Kernels for a device may be text already.
    target.addLegalOp<ModuleOp>();
    target.addDynamicallyLegalOp<UnrealizedConversionCastOp>(
        [&](UnrealizedConversionCastOp op) { return converter.isLegal(op); });
    // Nothing is rolled back, so no record for it is kept.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns),
                                   config)))
      return signalPassFailure();
    moveBFloat16AsIntegers(getOperation());
  }
};

} // namespace
