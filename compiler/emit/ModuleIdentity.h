//===- ModuleIdentity.h - The facts that decide a module's numbers --------===//
//
// Read from the IR and not from specs and configurations, so that nothing is
// forgotten: a new key or family that changes the mathematics changes the IR.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace hone {

/// Names and values, see runtime/src/formats/Checkpoint.h.
using IdentityFields = std::map<std::string, std::string>;

/// Of the `imported` module: each attribute of its ops by name, as
/// "model.rope.theta" with the values that it has anywhere, the shapes of its
/// parameters, the number of its calls, and a digest of all else. Batches may
/// be of any size.
IdentityFields describeModel(mlir::ModuleOp imported);

/// Which values the step of the `derived` module keeps rounded, such as
/// "bfloat16 in 64 columns of model.layers.0."; "float32": none.
std::string describeRounding(mlir::ModuleOp derived);

} // namespace hone
