//===- HoneOps.h - The hone dialect ---------------------------------------===//

#pragma once

#include "dialects/Hone/Continuation.h"
#include "dialects/Hone/Derivatives.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/RandomSource.h"
#include "dialects/Hone/StateSlot.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Hone/HoneDialect.h.inc"
#include "dialects/Hone/HoneEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Hone/HoneAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Hone/HoneTypes.h.inc"

#include "dialects/Hone/HoneInterfaces.h.inc"

namespace hone {

/// The type in which ops on elements of `type` compute, and of their
/// statistics, sums and trainable parameters: f32 for bf16, and else `type`
/// itself. Takes and gives shaped types as well.
mlir::Type computeType(mlir::Type type);

/// tensor<f64> and tensor<i64>, the single numbers of a schedule, and
/// tensor<4xi32>, the key of a random stream.
mlir::RankedTensorType scalarType(mlir::MLIRContext *context);
mlir::RankedTensorType integerType(mlir::MLIRContext *context);
mlir::RankedTensorType randomKeyType(mlir::MLIRContext *context);

/// "self_attn.q_proj" of "self_attn.q_proj.weight", of its bias, and of the
/// tensors of its adapter; another name as it is.
llvm::StringRef moduleOf(llvm::StringRef parameter);
/// The same of the parameter that `value` is; empty if it is none.
llvm::StringRef moduleOf(mlir::Value value);

} // namespace hone

#define GET_OP_CLASSES
#include "dialects/Hone/HoneOps.h.inc"

namespace hone {

/// The block that `op` calls `name`; null after an error.
BlockOp findBlock(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
                  mlir::SymbolTableCollection &symbols);

} // namespace hone
