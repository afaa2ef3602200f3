// TargetsPrecompiled.h - Headers of almost every file of the targets: the
// dialects that others have no use for take longer than such a file itself.

#include "Precompiled.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
