//===- KernelEpilogue.h - Operations on a sum before it is stored ---------===//
//
// An epilogue is scalar code around one product; it reads matrices of that
// product's shapes at indices of its own. A kernel serves many products. So the
// epilogue is cut in two: a function of the sum and of operands, which is part
// of the kernel, and where those operands are, which is part of the call.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/LoopWidening.h"
#include "targets/cpu/PointerBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace hone {

struct KernelEpilogue {
  /// A scalar of the product's function, or the place of a load of the
  /// epilogue.
  struct Operand {
    mlir::Value value;
    bool isLoad = false;
    /// The indices that move the place of a load, and its stride in elements.
    bool alongRows = false, alongColumns = false;
    int64_t rowStride = 0;

    /// "ij", "i", "j" or, for an operand that does not move, "s".
    llvm::StringRef kind() const;
  };

  /// Reads the epilogue of `op`, which must have one. None if lanes cannot run
  /// it together, if an operand's place does not move by whole rows and
  /// neighbouring columns, or if it computes with the element's place.
  static std::optional<KernelEpilogue> of(cpu::ContractOp op);

  /// The operations in order, with operands where they are first read:
  /// "_addf_ij" adds a matrix, "_addf_j" a bias.
  std::string name() const;
  /// Equal for epilogues that one kernel can serve.
  std::string key() const;

  /// Types of the kernels' arguments for the operands: a scalar, or a pointer
  /// to the first element's number; after it, if it moves along rows, the
  /// stride: i64.
  llvm::SmallVector<mlir::Type> argumentTypes() const;
  /// These arguments for the elements of the product from (row, column) on.
  llvm::SmallVector<mlir::Value> arguments(mlir::OpBuilder &b,
                                           mlir::Location loc, mlir::Value row,
                                           mlir::Value column) const;

  mlir::Block &body() const { return (*function).getBody().front(); }

  llvm::SmallVector<Operand> operands;
  /// (sum, operands...) -> element, scalars all; in no module.
  mlir::OwningOpRef<mlir::func::FuncOp> function;
};

/// Runs an epilogue on the vectors of a register tile.
class EpilogueEmitter {
public:
  /// `arguments`: those of the kernel that are for the epilogue. `firstRow`:
  /// the first row of the tile.
  EpilogueEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const KernelEpilogue &epilogue, mlir::ValueRange arguments,
                  mlir::Value firstRow, unsigned lanes);

  /// Asks for the lines that the first `vectors` vectors of row `r` read.
  void request(mlir::Value r, unsigned vectors);
  /// The results of the sums in vector `v` of row `r` of the tile.
  mlir::Value apply(mlir::Value sums, unsigned r, unsigned v);

private:
  /// Where row `r` of the tile begins to read.
  mlir::Value rowOf(unsigned index, mlir::Value r);
  mlir::Value operandAt(unsigned index, unsigned r, unsigned v);

  mlir::OpBuilder &b;
  mlir::Location loc;
  PointerBuilder p;
  const KernelEpilogue &epilogue;
  mlir::Value firstRow;
  unsigned lanes;
  LaneAnalysis analysis;
  BodyWidener widener;
  /// By operand.
  llvm::SmallVector<mlir::Value> values, strides;
  /// Loaded values, by operand, row and vector; 0 where these do not matter.
  std::map<std::array<unsigned, 3>, mlir::Value> loaded;
};

} // namespace hone
