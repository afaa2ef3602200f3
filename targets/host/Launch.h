//===- Launch.h - How host code launches kernels --------------------------===//
//
// A kernel's number is its place in the module's `tile.kernels`, which becomes
// hone_module::kernels. Passes that outline bodies, for any device,
// register them here and call them from here, so closures have one layout.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// The arguments of a kernel's launch: the values that its body takes from
/// around it, each a field of a struct.
struct Closure {
  llvm::SmallVector<mlir::Value> captured;
  /// Ops that are cloned instead of captured, since later passes need to see
  /// them.
  llvm::SmallVector<mlir::Operation *> constants;
  mlir::LLVM::LLVMStructType type;

  /// Of the values that `loop` uses and that are made outside of it; `first`
  /// come before them, used or not. An error for a type that no field has.
  static llvm::FailureOr<Closure> of(tile::ParallelOp loop,
                                     mlir::ValueRange first = {});

  /// Of `values`, which `op` hands to a kernel.
  static llvm::FailureOr<Closure> of(mlir::Operation *op,
                                     mlir::ValueRange values);

  /// The fields from `begin` on, with the access `accessOf` to the memory at
  /// each address.
  llvm::SmallVector<tile::FieldAttr>
  fields(llvm::function_ref<tile::Access(mlir::Value)> accessOf,
         size_t begin = 0) const;
  /// The fields from `begin` on, with the access of `loop` to the memory at
  /// each address.
  llvm::SmallVector<tile::FieldAttr> fields(tile::ParallelOp loop,
                                            size_t begin = 0) const;
};

/// "BLOCK" and "OP SITE", as profiles show the kernel made of `loop`.
std::pair<std::string, std::string> kernelName(tile::ParallelOp loop);

/// Appends a kernel to those of `module` and returns its number.
uint32_t addKernel(mlir::ModuleOp module, tile::KernelAttr kernel);

/// Fills a closure on the stack of the function around `builder` and launches
/// kernel `kernel` for each index in [0, count). Memory may be memrefs,
/// `!tile.memory` or LLVM pointers.
void buildLaunch(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value frame, uint32_t kernel, const Closure &closure,
                 mlir::Value count);

} // namespace hone
