//===- KernelLibrary.h - Functions that all products and fills share ------===//
//
// A model has dozens of products but few shapes of register tile. Each shape
// is one private function on raw pointers and run-time strides, made when it
// is first asked for, so code size and compile time stay flat.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/CpuDescription.h"
#include "targets/cpu/KernelEpilogue.h"
#include "targets/cpu/PanelSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace hone {

/// The types that a kernel multiplies.
struct ContractTypes {
  mlir::Type sum;   ///< f32 or f64
  mlir::Type panel; ///< `sum`, or bf16: pairs, see KernelLibrary::fill
  mlir::Type a;     ///< `sum` or bf16
  /// Only told where `a` is widened: its rows are columns in memory.
  bool transposeA;
  /// Terms of each sum if there are few, as an adapter's product has: then a
  /// tile takes hardly longer than the code around its loop. 0: any number.
  int64_t depth = 0;

  /// The most terms of pairs that a kernel is made for.
  static constexpr int64_t kFewTerms = 16;

  bool hasPairs() const { return panel != sum; }
  bool widensA() const { return !hasPairs() && a != sum; }
};

/// The treatment of a sum while it is still in registers:
/// c = epilogue((accumulates ? c : 0) + sum).
struct ContractStore {
  bool accumulates = false;
  bool rounds = false; ///< c is of bf16, and not accumulated
  const KernelEpilogue *epilogue = nullptr; ///< null: none
};

/// The products of one row with rows of a matrix.
struct DotsShape {
  SourceFormat w;
  mlir::Type a;    ///< f32 or bf16
  int64_t terms;   ///< numbers in a row of w
  int64_t columns; ///< rows of w that one call multiplies
  bool accumulates;
};

/// Names the shape of a fill: "tile_fill_bf16_f32_64".
std::string fillName(llvm::StringRef kind, const SourceFormat &source,
                     mlir::Type element, unsigned columns);

/// The piece that is read, then (panel: ptr, height: i64, width: i64).
llvm::SmallVector<mlir::Type> fillArguments(mlir::OpBuilder &b,
                                            const SourceFormat &source);

class KernelLibrary {
public:
  KernelLibrary(mlir::ModuleOp module, const CpuDescription &cpu)
      : module(module), cpu(cpu) {}

  /// Rows of a tile of the kernel that is `vectors` wide.
  unsigned contractRows(const ContractTypes &types, unsigned vectors) const {
    return usesUnit(types) ? CpuDescription::kUnitRows : cpu.tileRows(vectors);
  }
  /// Whether kernels can finish their sums: run epilogues, and round.
  bool takesEpilogues(const ContractTypes &types) const {
    return !usesUnit(types);
  }

  /// c[i][j] = store(from[i][j] + sum over kk < k of
  ///                 a[i*aRow + kk*aK] * panel[kk*ld + j])
  /// for i < m and j < vectors*lanes; a null `from` is zero. Rows are cut into
  /// whole tiles; the remaining rows become one or two small ones.
  ///   (a: ptr, aRow: i64, aK: i64, panel: ptr, ld: i64, k: i64,
  ///    c: ptr, cRow: i64, from: ptr, fromRow: i64, m: i64,
  ///    epilogue.argumentTypes()...,
  ///    next: ptr, nextRow: i64, rowLines: i64, lines: i64)
  /// Strides count elements; nextRow counts bytes. On the way it asks the
  /// memory for `lines` cache lines, `rowLines` of each row of `next`.
  /// A kernel of known depth takes no notice of k, and asks for nothing.
  /// With a panel of pairs, aK is 1 and `ld` counts pairs; `a` is rounded. On a
  /// matrix unit there is no epilogue, and `from` has kUnitRows rows.
  mlir::func::FuncOp contract(const ContractTypes &types, unsigned lanes,
                              unsigned vectors, ContractStore store);

  /// panel[k][j] = source[k][j], or source[j][k] with `transpose`; zero for
  /// width <= j < columns.
  ///   (source.argumentTypes()..., panel: ptr, height: i64, width: i64)
  /// A panel of bf16 is one of pairs: the terms 2q and 2q + 1 of a column are
  /// neighbours in memory, and zero from `height` to a multiple of kUnitTerms.
  mlir::func::FuncOp fill(const SourceFormat &source, mlir::Type element,
                          unsigned lanes, unsigned columns, bool transpose);

  /// sums[j] = (accumulates ? sums[j] : 0) + sum over t of a[t] * w[j][t];
  /// see cpu.dots.
  ///   (a: ptr, w: ptr, [scales: ptr, biases: ptr,] scratch: ptr, sums: ptr)
  mlir::func::FuncOp dots(const DotsShape &shape);

private:
  bool usesUnit(const ContractTypes &types) const {
    return types.hasPairs() && cpu.bfloat16Unit;
  }
  std::string contractName(const ContractTypes &types, unsigned rows,
                           unsigned columns, ContractStore store);
  /// Returns the function called `name`, and whether its body is still to be
  /// built; `b` then stands in its entry block.
  std::pair<mlir::func::FuncOp, bool>
  declare(mlir::OpBuilder &b, llvm::StringRef name, mlir::TypeRange inputs);

  mlir::ModuleOp module;
  CpuDescription cpu;
  /// Names of epilogues to the keys of those that are called so.
  llvm::StringMap<llvm::SmallVector<std::string, 1>> epilogues;
};

/// The body of a kernel of KernelLibrary::contract that runs on a matrix unit.
void emitMatrixUnitContract(mlir::OpBuilder &b, mlir::func::FuncOp function,
                            const ContractTypes &types, unsigned vectors,
                            bool accumulates);

/// The body of KernelLibrary::fill for a panel of pairs, but for its return.
void emitPairFill(mlir::OpBuilder &b, mlir::func::FuncOp function,
                  const SourceFormat &source, unsigned lanes, unsigned columns,
                  bool transpose);

} // namespace hone
