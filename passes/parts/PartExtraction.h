//===- PartExtraction.h - One part of a model as a module -----------------===//

#pragma once

#include "passes/module/ParameterTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace hone {

/// The parts of the entries of `module`, in the order of their layers. The
/// first one has the data.
llvm::SetVector<llvm::StringRef> partsOf(mlir::ModuleOp module);

/// Leaves in `module`, which is of all parts, the work of `part`. Fails with a
/// diagnostic.
mlir::LogicalResult extractPart(mlir::ModuleOp module, llvm::StringRef part);

} // namespace hone
