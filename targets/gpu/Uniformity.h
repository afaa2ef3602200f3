//===- Uniformity.h - Which threads have the same value -------------------===//
//
// A value is the same in a whole workgroup, in each subgroup, or differs by
// lane, as all do of ops that are not known. A loaded value is as uniform as
// its address: memory that threads write apart from each other has barriers
// between.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/Operation.h"

namespace hone::simt {

/// The largest set of threads that surely agree.
enum class Scope { Workgroup, Subgroup, Lane };

class Uniformity {
public:
  /// Reads all that is in `kernel`.
  explicit Uniformity(mlir::Operation *kernel);

  Scope of(mlir::Value value) const { return scopes.lookup(value); }
  /// Threads that surely run the regions of `op` equally often and together, if
  /// they run `op` together.
  Scope ofControl(mlir::Operation *op) const;

private:
  bool raise(mlir::Value value, Scope scope);
  bool visit(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Scope> scopes;
};

} // namespace hone::simt
