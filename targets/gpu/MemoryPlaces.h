//===- MemoryPlaces.h - Which buffers are the same memory -----------------===//
//
// A function knows its buffers as arguments; where those are, its calls say.
// Reads tile ops before names become addresses.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hone::simt {

struct ByteRange {
  int64_t begin, end;
};
/// In each of a program's placements, or one that is the same in all of them.
using ByteRanges = llvm::SmallVector<ByteRange, 4>;

/// Bytes of `root`: an argument of a function, the result of an op that names
/// memory, or a view at an offset that only a run knows.
struct MemoryPlace {
  mlir::Value root;
  ByteRanges ranges;

  /// Whether all bytes of `other` are bytes of this place.
  bool covers(const MemoryPlace &other) const;
};

class MemoryPlaces {
public:
  explicit MemoryPlaces(mlir::ModuleOp module);

  /// Where a buffer or memory is.
  static MemoryPlace of(mlir::Value memory);
  /// The same place in the memory that its root is a view of, as far as it is
  /// known; none: the root is no view.
  static std::optional<MemoryPlace> around(const MemoryPlace &place);
  /// Whether two places of one function may have a byte in common, in any of
  /// its calls and in any placement.
  bool mayOverlap(const MemoryPlace &a, const MemoryPlace &b) const;

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::func::CallOp>>
      callsOf;
};

} // namespace hone::simt
