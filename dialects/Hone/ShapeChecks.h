//===- ShapeChecks.h - Relations between shapes, with messages ------------===//
//
// Verifiers state relations ("dim 1 of 'weight' is dim 1 of 'x'") and every
// violated one gives the same shape of message. A null value is an absent
// optional operand or result, and satisfies everything.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace hone {

class ShapeChecks {
public:
  explicit ShapeChecks(mlir::Operation *op) : op(op) {}

  mlir::LogicalResult sameType(llvm::StringRef nameA, mlir::Value a,
                               llvm::StringRef nameB, mlir::Value b) const;
  mlir::LogicalResult sameElementType(llvm::StringRef nameA, mlir::Value a,
                                      llvm::StringRef nameB,
                                      mlir::Value b) const;
  /// `value` has the element type that `of` is computed in.
  mlir::LogicalResult computesIn(llvm::StringRef nameOf, mlir::Value of,
                                 llvm::StringRef name, mlir::Value value) const;
  mlir::LogicalResult sameDim(llvm::StringRef nameA, mlir::Value a,
                              unsigned dimA, llvm::StringRef nameB,
                              mlir::Value b, unsigned dimB) const;
  mlir::LogicalResult dimIs(llvm::StringRef name, mlir::Value value,
                            unsigned dim, int64_t size) const;
  mlir::LogicalResult isKnown(llvm::StringRef name, mlir::Value value,
                              unsigned dim) const;
  /// The attribute is absent or above zero.
  mlir::LogicalResult isPositive(llvm::StringRef name,
                                 std::optional<int64_t> number) const;
  mlir::LogicalResult isPositive(llvm::StringRef name,
                                 std::optional<llvm::APFloat> number) const;
  /// The attribute is absent, or above 0 and below 1.
  mlir::LogicalResult isFraction(llvm::StringRef name,
                                 std::optional<llvm::APFloat> number) const;
  /// The attribute is a number from 0 on.
  mlir::LogicalResult isNotNegative(llvm::StringRef name,
                                    const llvm::APFloat &number) const;
  /// One of `tangents` is there: a direction that is zero has no op.
  mlir::LogicalResult anyTangent(llvm::ArrayRef<mlir::Value> tangents) const;
  /// `dropout` is a fraction, and there are a name and a key with it alone.
  mlir::LogicalResult isDropout(std::optional<llvm::APFloat> dropout,
                                std::optional<llvm::StringRef> of,
                                mlir::Value key) const;
  /// The features of 'x' are `heads` slices as long as `weight`.
  mlir::LogicalResult normHeads(mlir::Value x, llvm::StringRef name,
                                mlir::Value weight, int64_t heads) const;
  /// 'kv_heads' divides 'heads' and both give 'q' and 'k' one head size.
  mlir::LogicalResult headGroups(mlir::Value q, mlir::Value k, int64_t heads,
                                 int64_t kvHeads) const;

  /// `numbers`, which a schedule computes, is an argument of the entry that
  /// `op` stands in and has an element `index`, which is there exactly if it
  /// is.
  mlir::LogicalResult isOfEntry(llvm::StringRef name, mlir::Value numbers,
                                std::optional<int64_t> index) const;

  /// Success if all hold. Each failed check has reported itself.
  mlir::LogicalResult
  all(std::initializer_list<mlir::LogicalResult> results) const;

private:
  mlir::Operation *op;
};

} // namespace hone
