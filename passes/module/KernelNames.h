//===- KernelNames.h - How profiles and plans name a kernel ---------------===//
//
// A kernel computes an op at a site of its block, "lora_linear mlp.up", or two
// of them, "lora_linear+gated_activation mlp.up".
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace hone {

/// The names of `location`, from outside in, with spaces between; empty if it
/// has none.
std::string namesOf(mlir::Location location);

/// The location of the kernel of `op` and, if it computes that as well, of
/// `follower`.
mlir::Location kernelLocation(mlir::Operation *op,
                              mlir::Operation *follower = nullptr);

} // namespace hone
