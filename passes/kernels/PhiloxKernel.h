//===- PhiloxKernel.h - Random numbers in generated code ------------------===//
//
// The bits of RandomStream (runtime/src/base/Philox.h), as scalar code that
// targets can widen. The tests compare the two.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_KERNELS_PHILOXKERNEL_H
#define HONE_PASSES_KERNELS_PHILOXKERNEL_H

#include "passes/kernels/KernelBuilder.h"

#include <array>

namespace hone {

/// Two 64-bit words, each as its low and high half; each i32.
using RandomKey = std::array<mlir::Value, 4>;

/// Seed and id of a stream, from seed and step and what hashStream() makes of
/// its purpose and name, an i64.
RandomKey streamKey(KernelBuilder &k, const RandomKey &seedAndStep,
                    mlir::Value hash);

/// The upper 32 of the bits that the stream of `key` has at `index`, as i32.
mlir::Value randomWord(KernelBuilder &k, const RandomKey &key,
                       mlir::Value index);

/// RandomStream::normal() of the stream of `key` at `index`, as f64.
mlir::Value randomNormal(KernelBuilder &k, const RandomKey &key,
                         mlir::Value index);

} // namespace hone

#endif
