//===- PhiloxKernel.h - Random numbers in generated code ------------------===//
//
// The bits of RandomStream (runtime/src/base/Philox.h), as scalar code that
// targets can widen. The tests compare the two.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_KERNELS_PHILOXKERNEL_H
#define HONE_PASSES_KERNELS_PHILOXKERNEL_H

#include "passes/kernels/KernelBuilder.h"

namespace hone {

/// The upper 32 of the bits that a stream has at `index`, as i32. `key` is the
/// low and high half of its seed, then those of its id; each i32.
mlir::Value randomWord(KernelBuilder &k, mlir::ValueRange key,
                       mlir::Value index);

} // namespace hone

#endif
