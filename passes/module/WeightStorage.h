//===- WeightStorage.h - The tensors that hold a parameter ----------------===//
//
// The one place that knows how #hone.storage becomes tensors. The weights file,
// the module's weight table, the arguments of block functions and the plan all
// ask here, so their order and types agree.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

namespace hone {

struct Parameter;

/// A tensor of the weights file, called the parameter's name + suffix. Its
/// elements are f32, f64, bf16 or, for packed integers, i8.
struct StoredTensor {
  llvm::StringLiteral suffix;
  mlir::RankedTensorType type;
};

/// The tensors that hold a parameter of `type`: its numbers, then for
/// groups the scales `[out, in / group]` and the biases. `storage` may be null:
/// as typed.
llvm::SmallVector<StoredTensor, 3> storedTensors(mlir::RankedTensorType type,
                                                 StorageAttr storage);
llvm::SmallVector<StoredTensor, 3> storedTensors(ParameterOp parameter);

/// Names a way to lay the weights file out: "rows-v1", "rows-int4-g64-v1". Two
/// files of one model with one name have the same tensors.
std::string layoutName(llvm::ArrayRef<Parameter> parameters);

} // namespace hone
