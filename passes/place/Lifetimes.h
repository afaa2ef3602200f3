//===- Lifetimes.h - When the values of a body are in use -----------------===//
//
// Positions count the ops of a straight-line body from 0: a block, an entry or
// the body of row tiles. A value that an op reads and a value that it writes
// are in use together, unless the op can write the one over the other
// (InPlaceOpInterface); then the second may take the memory of the first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "passes/place/ArenaPlan.h"
#include "passes/place/PlacedRows.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace hone {

class Lifetimes {
public:
  /// The ops of `body`, numbered.
  explicit Lifetimes(mlir::Block &body);
  ~Lifetimes();

  int64_t position(mlir::Operation *op) const { return numbered.lookup(op).at; }
  bool isAmbient(mlir::Operation *op) const { return find(op).isAmbient; }
  bool isView(mlir::Operation *op) const { return find(op).isView; }

  /// Whether `value` needs memory of this body: it is a result of an op, not
  /// ambient, no view, not one of the body's own results, and not only added to
  /// a gradient.
  bool needsMemory(mlir::OpResult value) const;

  /// `value` as a buffer in a placement for `rows`: from its definition to its
  /// last use.
  Buffer buffer(mlir::Value value, PlacedRows rows) const;

  /// `bytes` in use only while `op` runs.
  Buffer during(mlir::Operation *op, int64_t bytes) const;

  /// Whether the op of `result` can write it over `operand`, which it reads:
  /// they have one type, nothing reads `operand` later, and the op allows it.
  /// For a call or row tiles the body decides; for a conditional call both of
  /// its blocks must allow it.
  bool mayOverwrite(mlir::Value operand, mlir::OpResult result) const;

private:
  /// A reader of a view of `value` counts as a reader of `value`.
  int64_t lastUse(mlir::Value value) const;

  struct Callee;
  /// Callee::mayOverwrite for an argument and a result, asked once: all layers
  /// call one block.
  bool mayOverwriteIn(mlir::Block &body, unsigned argument,
                      unsigned result) const;

  /// An op of the body. Each is asked for its traits once, which takes long.
  struct Numbered {
    int64_t at = 0;
    bool isAmbient = false, isView = false;
  };
  static Numbered numberOf(mlir::Operation *op, int64_t at);
  Numbered find(mlir::Operation *op) const {
    auto known = numbered.find(op);
    return known == numbered.end() ? numberOf(op, 0) : known->second;
  }

  llvm::DenseMap<mlir::Operation *, Numbered> numbered;
  mutable mlir::SymbolTableCollection symbols;
  mutable llvm::DenseMap<std::tuple<mlir::Block *, unsigned, unsigned>, bool>
      overwrites;
  mutable llvm::DenseMap<mlir::Block *, std::unique_ptr<Callee>> callees;
};

/// Which values of a body share memory: chains in which each value is written
/// over the one before.
class SharedMemory {
public:
  SharedMemory(mlir::Block &body, const Lifetimes &lifetimes);

  /// The first value of the chain of `value`.
  mlir::OpResult first(mlir::OpResult value) const;
  /// The last one: a result of the body if the chain is in its caller's memory.
  mlir::OpResult last(mlir::OpResult value) const;

  /// Whether `value`, made by the op after `op`, may be written while `op`
  /// runs: its memory is in use already, and `op` reads nothing there.
  bool mayWriteDuring(mlir::OpResult value, mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, mlir::OpResult> before, after;
};

/// Whether `op` has its result in the region `accumulation`.
bool isAccumulation(mlir::Operation *op);

/// Whether `value` is a sum over rows that goes to one sink and nowhere else:
/// its op adds it there and it needs no memory.
bool isOnlyAddedToGradient(mlir::Value value);

/// The module's hone.max_rows; fails with a diagnostic if it has none.
mlir::FailureOr<int64_t> maxRows(mlir::Operation *module);

/// Bytes that `op`, a block or an entry that is placed, needs while it runs, in
/// placement `placement`.
int64_t scratchBytes(mlir::Operation *op, unsigned placement = 0);

/// Bytes that `call` needs while it runs: the larger scratch of the blocks that
/// it may run, which are placed.
int64_t scratchBytes(CallOp call, const mlir::SymbolTable &symbols,
                     unsigned placement = 0);

/// Rows for which the body of `tiles` needs memory in batches of `rows` rows.
int64_t rowsOfTile(RowTilesOp tiles, int64_t rows);
PlacedRows rowsOfTile(RowTilesOp tiles, PlacedRows rows);

/// The name of the region for `cache` of the layer of `call`.
std::string cacheRegion(CallOp call, CacheOp cache);

/// The region called `name`, or null.
RegionOp findRegion(mlir::ModuleOp module, llvm::StringRef name);

} // namespace hone
