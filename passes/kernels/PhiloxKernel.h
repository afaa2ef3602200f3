//===- PhiloxKernel.h - Random numbers in generated code ------------------===//
//
// The bits of RandomStream (runtime/src/base/Philox.h), as scalar code that
// targets can widen. The tests compare the two.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/KernelBuilder.h"

#include <array>

namespace hone {

/// Two 64-bit words, each as its low and high half; each i32.
using RandomKey = std::array<mlir::Value, 4>;

/// Seed and id of a stream, from seed and step and the hashStream() of its
/// purpose and name, an i64.
RandomKey streamKey(KernelBuilder &k, const RandomKey &seedAndStep,
                    mlir::Value hash);

/// The upper 32 of the bits that the stream of `key` has at `index`, as i32.
mlir::Value randomWord(KernelBuilder &k, const RandomKey &key,
                       mlir::Value index);

/// RandomStream::word() of the elements of a matrix with as many rows as the
/// batch, for the stream of an op.
class RandomWords {
public:
  /// `key`: memref<4xi32>. Values that all elements share are computed here.
  RandomWords(KernelBuilder &k, mlir::Operation *op, mlir::Value key,
              int64_t columns);

  /// Runs body(j, word) for the columns j from `column` on, `count` of them, of
  /// a row of the kernel. Neighbours run together where the body can, as in
  /// `tile.map`.
  void forEach(mlir::Value row, mlir::Value column, mlir::Value count,
               llvm::function_ref<void(mlir::Value, mlir::Value)> body) const;

private:
  KernelBuilder &k;
  int64_t columns;
  RandomKey key;
};

/// RandomStream::normal() of the stream of `key` at `index`, as f64.
mlir::Value randomNormal(KernelBuilder &k, const RandomKey &key,
                         mlir::Value index);

} // namespace hone
