//===- ThetaUpdate.h - The common part of optimizers' kernels -------------===//
//
// Where the elements of an update are from, and how they are stored: a rule
// reads and writes them by these words, element by element or tensor by tensor.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/Kernels.h"
#include "passes/kernels/PhiloxKernel.h"

namespace hone {

/// A row of parameterChunks().
struct ParameterChunk {
  mlir::Value first, count, inTensor; ///< index
  mlir::Value round, perturb;         ///< i64: names of streams
  mlir::Value hasRateOfB;             ///< i64: not 0
  mlir::Value block;                  ///< index: of its first
};

/// The gradient that is a sum of random directions, one chunk at a time.
class Directions {
public:
  /// `key` and `coefficients`: see hone.estimate_gradient.
  Directions(KernelBuilder &k, mlir::Value key, mlir::Value coefficients)
      : k(k), key(key), coefficients(coefficients) {}

  mlir::MemRefType scratch() const {
    return mlir::MemRefType::get(k.blocks().parameterElements, k.getF64Type());
  }
  /// Adds up in `sums`, a scratch(). Directions are added in their order.
  void sum(const ParameterChunk &chunk, mlir::Value sums) const;

private:
  KernelBuilder &k;
  mlir::Value key, coefficients;
};

/// The values that elements of one tensor's chunk share.
struct UpdateChunk {
  ParameterChunk at;
  mlir::Value rate;   ///< f64
  RandomKey rounding; ///< if values are rounded
  mlir::Value sums;   ///< the gradient, if it is in no memory
};

/// A row of parameterTensors().
struct UpdateTensor {
  UpdateChunk all;           ///< its elements, without `sums`
  mlir::Value rows, columns; ///< index
  mlir::Value row, column;   ///< index: its first, in such slots
  mlir::Value scaledColumns; ///< index: see parameterTensors()
};

/// One element, in the type that updates compute in.
struct UpdateElement {
  mlir::Value theta, gradient;
  mlir::Value place;  ///< in the vectors
  mlir::Value random; ///< i32, see Hone_UpdateOp; null if nothing is rounded
};

/// The common part of all rules: where elements are from, and how they are
/// stored.
class ThetaUpdate {
public:
  ThetaUpdate(UpdateOpInterface op, const UpdateVectors &vectors,
              KernelBuilder &k)
      : k(k), vectors(vectors),
        element(
            computeType(llvm::cast<mlir::MemRefType>(vectors.theta.getType())
                            .getElementType())),
        rate(op.getLearningRate()), rateOfB(op.getRateOfB()),
        rounding(op.getRounding()) {
    if (op.getDirectionCoefficients())
      directions.emplace(k, k.buffer(op.getDirectionKey()),
                         k.buffer(op.getDirectionCoefficients()));
  }

  /// A number of the op, f64.
  mlir::Value number(mlir::Value operand) const {
    return k.load(k.buffer(operand), {});
  }
  /// The same in the type that updates compute in.
  mlir::Value rounded(mlir::Value value) const {
    return k.convert(element, value);
  }

  /// Runs the body for each chunk of vectors that are divided by tensors, in
  /// parallel, with memory of the types `scratch` of its own.
  void
  forEachChunk(llvm::ArrayRef<mlir::MemRefType> scratch,
               llvm::function_ref<void(const UpdateChunk &, mlir::ValueRange)>
                   body) const;
  /// The same for each tensor. Rows are computed in their order, so the order
  /// of a sum depends on no thread.
  void
  forEachTensor(llvm::ArrayRef<mlir::MemRefType> scratch,
                llvm::function_ref<void(const UpdateTensor &, mlir::ValueRange)>
                    body) const;
  /// Row `i` of a tensor.
  UpdateChunk rowOf(const UpdateTensor &tensor, mlir::Value i) const;
  /// The gradient of element `j` of a chunk, which is in memory.
  mlir::Value gradient(const UpdateChunk &chunk, mlir::Value j) const {
    return k.load(vectors.gradient, k.add(chunk.at.first, j));
  }
  /// Element `j` of a chunk.
  UpdateElement read(const UpdateChunk &chunk, mlir::Value j) const;
  /// Element `i` of vectors that are not divided so.
  UpdateElement read(mlir::Value i) const {
    return {k.loadAs(element, vectors.theta, i),
            k.load(vectors.gradient, i),
            i,
            {}};
  }
  void write(const UpdateElement &at, mlir::Value theta) const {
    store(theta, vectors.theta, at, at.random);
  }
  /// An element's number in a slot of `Extent::Elements`.
  mlir::Value recall(const UpdateElement &at, unsigned slot) const {
    return k.loadAs(element, vectors.state[slot], at.place);
  }
  void remember(const UpdateElement &at, unsigned slot,
                mlir::Value value) const;

  KernelBuilder &k;
  const UpdateVectors &vectors;
  const mlir::Type element; ///< that it computes in

private:
  /// The values that elements of `at` share.
  UpdateChunk share(const ParameterChunk &at) const;
  /// Rounded by `random` if `to` holds bfloat16.
  void store(mlir::Value value, mlir::Value to, const UpdateElement &at,
             mlir::Value random) const;

  mlir::Value rate, rateOfB, rounding; ///< operands
  std::optional<Directions> directions;
};

// UpdateKernels.cpp has the rules of single elements and blocks.

// TensorUpdateKernels.cpp
void emitTensorRule(AdafactorOp op, const ThetaUpdate &update);
void emitTensorRule(SinkgdOp op, const ThetaUpdate &update);

} // namespace hone
