//===- Kernels.h - One emitter for each hone op that computes -------------===//
//
// Each function emits tile ops that compute `op` from the memory of its
// operands into that of its results, at the builder's insertion point. Formulas
// are at the ops (dialects/Hone); here is only how they are blocked. The other
// rows of the batch do not change how a row is computed, except where rows are
// summed. A sum that is only added to a gradient is added there directly.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "passes/kernels/KernelBuilder.h"
#include "passes/module/ParameterTable.h"

namespace hone {

// MatmulKernels.cpp
void emitKernel(LinearOp op, KernelBuilder &k);
void emitKernel(LinearAdjointOp op, KernelBuilder &k);
void emitKernel(LoraLinearOp op, KernelBuilder &k);
void emitKernel(LoraInnerAdjointOp op, KernelBuilder &k);
void emitKernel(LoraLinearAdjointOp op, KernelBuilder &k);
void emitKernel(LoraParameterAdjointOp op, KernelBuilder &k);
void emitKernel(LoraParameterTangentOp op, KernelBuilder &k);
void emitKernel(LinearParameterAdjointOp op, KernelBuilder &k);
/// The memory from which `parameter` is read: its own, or workspace `index` of
/// `op`, if it has one, in which it is written first.
mlir::Value formedOnce(KernelBuilder &k, mlir::Operation *op,
                       mlir::Value parameter, unsigned index);

// DoraKernels.cpp
void emitKernel(RowLengthsOp op, KernelBuilder &k);
void emitKernel(RescaleOp op, KernelBuilder &k);
void emitKernel(RescaleParameterAdjointOp op, KernelBuilder &k);

// ParameterKernels.cpp
void emitKernel(BiasAdjointOp op, KernelBuilder &k);
void emitKernel(BiasTangentOp op, KernelBuilder &k);
void emitKernel(RmsNormParameterAdjointOp op, KernelBuilder &k);
void emitKernel(EmbeddingParameterAdjointOp op, KernelBuilder &k);
void emitKernel(PositionEmbeddingParameterAdjointOp op, KernelBuilder &k);
/// gradient[j] += the sum over the rows of termsOf(row)(j), in blocks of
/// numerics::kGradientRows. The values that a row's terms share are built once
/// for each row.
void addColumnSums(
    KernelBuilder &k, mlir::Value gradient,
    llvm::function_ref<std::function<mlir::Value(mlir::Value)>(mlir::Value)>
        termsOf);
/// The same of the rows of `dy` themselves, as a product with a row of ones.
void addBiasSums(KernelBuilder &k, mlir::Value gradient, mlir::Value dy);

// AttentionKernels.cpp. Sequences are contiguous: `starts` never decreases.
void emitKernel(AttentionOp op, KernelBuilder &k);
void emitKernel(AttentionAdjointOp op, KernelBuilder &k);
void emitKernel(AttentionTangentOp op, KernelBuilder &k);

// LossRows.cpp
/// Emits a body for `width` rows of a head from `first` on, for pieces of
/// KernelBuilder::lossColumns(). With `streamed` their pages go after it.
void forEachHeadPiece(
    KernelBuilder &k, mlir::Value head, bool streamed,
    llvm::function_ref<void(mlir::Value first, int64_t width)> emitPiece);

// GenerationKernels.cpp. All rows are of one sequence.
void emitKernel(CachedAttentionOp op, KernelBuilder &k);
void emitKernel(LogitsOp op, KernelBuilder &k);

// RowKernels.cpp
void emitKernel(EmbeddingOp op, KernelBuilder &k);
void emitKernel(EmbeddingNoiseOp op, KernelBuilder &k);
void emitKernel(RmsNormOp op, KernelBuilder &k);
void emitKernel(RmsNormAdjointOp op, KernelBuilder &k);
void emitKernel(RmsNormTangentOp op, KernelBuilder &k);
void emitKernel(RopeOp op, KernelBuilder &k);
void emitKernel(PositionEmbeddingOp op, KernelBuilder &k);
void emitKernel(ColumnsOp op, KernelBuilder &k);
void emitKernel(ColumnsAdjointOp op, KernelBuilder &k);
void emitElementwise(ElementwiseOpInterface op, KernelBuilder &k);
/// `1/sqrt(mean(x^2) + eps)` of `width` features of a row, from `column` on.
mlir::Value reciprocalRms(KernelBuilder &k, mlir::Value x, mlir::Value row,
                          mlir::Value column, int64_t width,
                          const llvm::APFloat &eps);
/// Copies the rows of the batch from one matrix to another.
void emitRowCopy(mlir::Value from, mlir::Value to, KernelBuilder &k);

// NormKernels.cpp
void emitKernel(LayerNormOp op, KernelBuilder &k);
void emitKernel(LayerNormAdjointOp op, KernelBuilder &k);
void emitKernel(LayerNormTangentOp op, KernelBuilder &k);
void emitKernel(LayerNormParameterAdjointOp op, KernelBuilder &k);

// LossKernels.cpp
void emitKernel(LinearCrossEntropyOp op, KernelBuilder &k);

// LossDerivatives.cpp
void emitKernel(LinearCrossEntropyTangentOp op, KernelBuilder &k);
void emitKernel(LinearCrossEntropyParameterAdjointOp op, KernelBuilder &k);
void emitKernel(DotOp op, KernelBuilder &k);

// UpdateKernels.cpp, ThetaUpdate.cpp, TensorUpdateKernels.cpp

/// Adds `value` to the gradient `sink`, both of one static shape.
void emitGradientSum(mlir::Value value, mlir::Value sink, KernelBuilder &k);

/// The gradient that `result` is added to: its sink, or its own memory, which
/// is made zero here; null if it has neither, since nobody reads it.
mlir::Value zeroedGradient(mlir::Value result, KernelBuilder &k);

/// Adds the vector `from` to `to`, element by element.
void emitFold(mlir::Value from, mlir::Value to, KernelBuilder &k);

/// Sets every element of the vector `to` to zero.
void emitZeros(mlir::Value to, KernelBuilder &k);

/// Where `parameters`, which lie one after the other in a vector, are in it:
/// rows of first element and count.
mlir::DenseElementsAttr parameterRanges(llvm::ArrayRef<Parameter> parameters,
                                        mlir::MLIRContext *context);

/// Writes to `squares`, memref<count x f64>, the sum of the squares of each
/// parameter's elements in `vector`; `ranges` is of parameterRanges(). Blocks
/// of numerics::kSquaresBlock elements, counted from the parameter's first, are
/// each summed by lanes, and added in order.
void emitSquares(mlir::Value ranges, mlir::Value vector, mlir::Value squares,
                 KernelBuilder &k);

/// The flat vectors of an update, memref<length x T>: all trainable elements,
/// or the slices of some layers.
struct UpdateVectors {
  /// Null if the update says along which directions it is.
  mlir::Value theta, gradient;
  /// As parameterChunks() makes it, for an update that rounds to bfloat16, goes
  /// along random directions, has a rate of B or scales of blocks; else null.
  mlir::Value chunks;
  /// As parameterTensors() makes it, for an update that has numbers of rows and
  /// columns, and then no chunks; else null.
  mlir::Value tensors;
  llvm::SmallVector<mlir::Value, 4> state; ///< by slot of the update
};

/// How a loop over vectors that tells parameters apart is divided, into parts
/// of at most `most`; `parameters` lie one after the other in the vectors. Rows
/// of first element, count, first index in the tensor, hashStream() of its name
/// for the purposes Round and Perturb, whether it hasRateOfB(), and the number
/// of its first block of numerics::kStateBlock elements of a tensor; no two
/// rows have elements of one block.
mlir::DenseElementsAttr parameterChunks(llvm::ArrayRef<Parameter> parameters,
                                        int64_t most,
                                        mlir::MLIRContext *context);

/// `parameters`, which lie one after the other in the vectors, as matrices:
/// rows of first element, rows, columns, first row and first column in slots of
/// these extents, how many columns may be scaled, which is none of a vector's,
/// hashStream() of its name for the purpose Round, and whether it hasRateOfB().
mlir::DenseElementsAttr parameterTensors(llvm::ArrayRef<Parameter> parameters,
                                         mlir::MLIRContext *context);

/// Writes the estimate that `op` describes to `gradient`.
void emitEstimate(EstimateGradientOp op, mlir::Value gradient,
                  mlir::Value chunks, KernelBuilder &k);

void emitUpdate(UpdateOpInterface op, const UpdateVectors &vectors,
                KernelBuilder &k);

} // namespace hone
