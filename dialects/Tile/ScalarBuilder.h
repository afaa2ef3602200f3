//===- ScalarBuilder.h - The words that scalar code is written in ---------===//
//
// Bodies of tile ops, and the code around them, are scalars, loops and
// branches; passes that emit them, above the waist or below it, say so in these
// words. Index arithmetic is folded while it is built: a size that is static
// stays visible as a constant.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

class ScalarBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value load(Value memref, ValueRange indices);
  void store(Value value, Value memref, ValueRange indices);

  Value index(int64_t value);
  Value real(mlir::Type type, double value);

  // Index and float alike.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Quotient of floats, or of non-negative indices rounded down.
  Value div(Value a, Value b);

  // Non-negative indices.
  Value rem(Value a, Value b);
  Value min(Value a, Value b);
  Value ceilDiv(Value a, int64_t b);

  Value exp(Value a);
  /// Converts between float types.
  Value convert(mlir::Type type, Value a);

  /// for (i = from; i < to; i += step), in order.
  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value)> body);
  /// The body's ops for every point of a box of one or two bounds, in order.
  void overBox(ValueRange bounds, mlir::Block &body);
  void when(Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

  /// Copies the ops of `body` here; returns the operands of its terminator for
  /// these arguments.
  llvm::SmallVector<Value> inlined(mlir::Block &body, ValueRange arguments);
};

} // namespace hone
