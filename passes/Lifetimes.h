//===- Lifetimes.h - When the values of a block or entry are in use -------===//
//
// Positions count the ops of a straight-line body from 0. A value that an op
// reads and a value that it writes are in use together, so an op never
// overwrites what it reads.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_LIFETIMES_H
#define HONE_PASSES_LIFETIMES_H

#include "dialects/Hone/HoneOps.h"
#include "passes/ArenaPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

class Lifetimes {
public:
  /// The ops of `body`, numbered.
  explicit Lifetimes(mlir::Block &body);

  int64_t position(mlir::Operation *op) const { return positions.lookup(op); }

  /// Whether `value` needs memory of this body: it is a result of an op, not
  /// ambient, and not one of the body's own results.
  bool needsMemory(mlir::OpResult value) const;

  /// `value` as a buffer for batches of `rows` rows: from its definition to
  /// its last use.
  Buffer buffer(mlir::OpResult value, int64_t rows) const;

  /// `bytes` in use only while `op` runs.
  Buffer during(mlir::Operation *op, int64_t bytes) const;

private:
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
};

/// The module's hone.max_rows; fails with a diagnostic if it has none.
mlir::FailureOr<int64_t> maxRows(mlir::Operation *module);

/// The region called `name`, or null.
RegionOp findRegion(mlir::ModuleOp module, llvm::StringRef name);

} // namespace hone

#endif
