//===- Derivatives.h - The vocabulary of AdjointOpInterface ---------------===//

#pragma once

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace hone {

/// A value of the forward pass that an adjoint may read, named by its place
/// at the op.
struct Residual {
  enum class Kind { Operand, Result, Auxiliary };
  Kind kind;
  unsigned index = 0;

  static Residual operand(unsigned index) { return {Kind::Operand, index}; }
  static Residual result(unsigned index) { return {Kind::Result, index}; }
  static Residual auxiliary() { return {Kind::Auxiliary, 0}; }
};

/// One sufficient set of residuals.
struct ResidualAlternative {
  llvm::SmallVector<Residual, 4> reads;

  bool readsAuxiliary() const;
};

/// The arguments of buildAdjoint.
struct AdjointRequest {
  /// Operands that a cotangent is wanted for.
  const llvm::BitVector &activeOperands;
  /// One for each result, null where nothing depends on the result.
  llvm::ArrayRef<mlir::Value> cotangents;
  /// Index into getResidualAlternatives(activeOperands).
  unsigned alternative;
  /// The residual's value where the adjoint is built. Operands that are
  /// ambient can be read whether or not the alternative lists them.
  llvm::function_ref<mlir::Value(Residual)> read;
};

/// Bytes of all operands and results of `op` for `rows` rows.
int64_t operandAndResultBytes(mlir::Operation *op, int64_t rows);

/// Whether the first dimension of the tensor `type` is the rows of the batch.
bool hasRows(mlir::Type type);

/// Whether `value` is made by an ambient op: a parameter, an input.
bool isAmbient(mlir::Value value);

/// Elements of `type` with `rows` in place of the dynamic dimension.
int64_t elementsAtRows(mlir::Type type, int64_t rows);

/// Bytes of `type` with `rows` in place of the dynamic dimension.
int64_t bytesAtRows(mlir::Type type, int64_t rows);

/// Marks ops whose value is the same in every block and phase of a step.
template <typename ConcreteType>
class Ambient : public mlir::OpTrait::TraitBase<ConcreteType, Ambient> {};

/// Marks ops whose result derivatives take for constant (HoneInterfaces.td).
template <typename ConcreteType>
class Detached : public mlir::OpTrait::TraitBase<ConcreteType, Detached> {};

/// Marks ops whose result is memory of their first operand.
template <typename ConcreteType>
class View : public mlir::OpTrait::TraitBase<ConcreteType, View> {};

/// Marks ops that can run for slices of rows (HoneInterfaces.td).
template <typename ConcreteType>
class RowWise : public mlir::OpTrait::TraitBase<ConcreteType, RowWise> {};

/// Marks ops that add their sums to sinks themselves (HoneInterfaces.td).
template <typename ConcreteType>
class AddsToGradient
    : public mlir::OpTrait::TraitBase<ConcreteType, AddsToGradient> {};

/// Marks ops that know rows by their positions (HoneInterfaces.td).
template <typename ConcreteType>
class PositionWise
    : public mlir::OpTrait::TraitBase<ConcreteType, PositionWise> {};

/// Marks products that can apply the op after them (HoneInterfaces.td).
template <typename ConcreteType>
class TakesEpilogue
    : public mlir::OpTrait::TraitBase<ConcreteType, TakesEpilogue> {};

} // namespace hone
