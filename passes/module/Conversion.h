//===- Conversion.h - Blocks that only convert ----------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/SymbolTable.h"

namespace hone {

/// The name of the block that converts a `from` to the same type with another
/// `element`.
std::string conversionName(mlir::RankedTensorType from, mlir::Type element);

/// The block of that name; adds it before the symbol `user` if there is none.
BlockOp getConversion(mlir::SymbolTable &symbols, mlir::RankedTensorType from,
                      mlir::Type element, mlir::Operation *user);

} // namespace hone
