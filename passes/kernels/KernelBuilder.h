//===- KernelBuilder.h - The words that kernels are written in ------------===//
//
// A kernel is tile ops over the memory of one hone op. This builder knows where
// that memory is and offers the few loop shapes and the one product that all
// kernels share. Bodies run at the builder's own insertion point, so a
// kernel reads like the loop nest it makes.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "dialects/Tile/Blocks.h"
#include "dialects/Tile/ScalarBuilder.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/module/KernelNames.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace hone {

/// How a parameter is read if a read does more than load elements. All kernels
/// read parameters through KernelBuilder, which knows.
struct ParameterView {
  /// For packed integers, see #hone.storage: memref<out x groups x f32>.
  mlir::Value scales, biases;
  int64_t bits = 0;
  /// See hone.perturbed: memref<4xi32>, memref<f64>, and an i64, the stream's
  /// hash.
  mlir::Value key, scale, stream;
  /// A read gives the direction instead of the parameter, at its own length or
  /// scaled.
  bool isDirection = false;

  bool isPacked() const { return bits != 0; }
  bool isRandom() const { return static_cast<bool>(key); }
};

/// Where the values of one function are in memory.
struct Buffers {
  /// Hone value to memref.
  llvm::DenseMap<mlir::Value, mlir::Value> ofValue;
  /// Op to the memrefs of its workspace.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> workspaces;
  /// Result to the gradient it is only added to; such a result may have no
  /// memory of its own.
  llvm::DenseMap<mlir::Value, mlir::Value> sinks;
  /// Memref of a parameter to how it is read; none: as it is.
  llvm::DenseMap<mlir::Value, ParameterView> parameters;
  /// Op to the hash of the random stream that it draws from, an i64.
  llvm::DenseMap<mlir::Operation *, mlir::Value> streams;
  /// The row of the batch that is the first of kernels; null: row 0.
  mlir::Value firstRow;
};

/// Settings of a module and its target for all kernels.
struct KernelSettings {
  tile::Blocks blocks;
  /// See `hone.rounded_products`.
  bool roundsProducts = false;
  /// See `hone.any_order_products`.
  bool addsInAnyOrder = false;
  /// See `hone.loss_columns`.
  int64_t lossColumns = 0;
  /// Whether thin products of adapters are rounded where products are, if both
  /// sides are of bfloat16; see TargetKernels.
  bool roundsThinProducts = false;
};

/// Features of a matrix of rows.
inline int64_t columnsOf(mlir::Value matrix) {
  return llvm::cast<mlir::RankedTensorType>(matrix.getType()).getDimSize(1);
}

/// The least finite number of a float type: the first maximum of an online
/// softmax. With -infinity, exp(x - maximum) would be no number in a block of
/// nothing but that, where it is zero.
double leastOf(mlir::Type element);

/// `name` and a number that no symbol of the module has: blocks, which users
/// name, become functions too.
std::string freshSymbol(mlir::ModuleOp module, llvm::StringRef name);

class KernelBuilder : public ScalarBuilder {
public:
  using Epilogue = llvm::function_ref<Value(Value acc, Value i, Value j)>;

  /// Locations of emitted ops begin with the name of `op`, then its site.
  /// `rows`: rows of this batch, at most `maxRows`. `follower` may be null: it
  /// reads the first result of `op` and is applied to each element before it
  /// would be stored; see Product::completes.
  KernelBuilder(mlir::Operation *op, mlir::OpBuilder &builder,
                const Buffers &buffers, const KernelSettings &settings,
                Value rows, int64_t maxRows,
                ElementwiseOpInterface follower = {})
      : ScalarBuilder(kernelLocation(op, follower), builder), op(op),
        follower(follower), buffers(buffers), settings(settings),
        rowCount(rows), rowMaximum(maxRows) {}

  //===------------------------------------------------------------------===//
  // Memory
  //===------------------------------------------------------------------===//

  /// The memref of a hone value; null if it has none.
  Value buffer(Value value) const { return buffers.ofValue.lookup(value); }
  Value workspace(mlir::Operation *op, unsigned i) const {
    return buffers.workspaces.at(op)[i];
  }
  /// Whether `op` has a workspace `i`.
  bool hasWorkspace(mlir::Operation *op, unsigned i) const {
    return i < buffers.workspaces.at(op).size();
  }
  /// The gradient that `result` is only added to, or null.
  Value sink(Value result) const { return buffers.sinks.lookup(result); }
  /// to[0][j] = matrix[row][column + j] for j < count, however it is stored.
  /// With `release`, its pages are let go.
  void readRow(Value to, Value matrix, Value row, Value column, Value count,
               bool release);
  /// See RandomSource.
  Value stream(mlir::Operation *op) const { return buffers.streams.at(op); }
  /// Lets the resident pages of `count` rows of a mapped matrix go.
  void release(Value matrix, Value row, Value count);
  /// A constant in the module's read-only data; equal tables are one.
  Value table(llvm::StringRef name, mlir::DenseElementsAttr content);

  /// In the type that the element is computed in; see computeType.
  Value load(Value memref, ValueRange indices);
  /// Rounds floats to the memref's element type.
  void store(Value value, Value memref, ValueRange indices);
  /// Loads and converts to the float type `type`; a parameter as it is read.
  Value loadAs(mlir::Type type, Value memref, ValueRange indices);
  /// Loads an integer as an index.
  Value loadIndex(Value memref, ValueRange indices);

  /// The results of an element-wise op at a place. `known` may be null: the
  /// element of this kernel's first result there, which is then not read from
  /// memory.
  llvm::SmallVector<Value> elementsOf(ElementwiseOpInterface elementwise,
                                      Value row, Value column,
                                      Value known = {});

  //===------------------------------------------------------------------===//
  // Loops
  //===------------------------------------------------------------------===//

  const tile::Blocks &blocks() const { return settings.blocks; }
  int64_t lossColumns() const { return settings.lossColumns; }
  /// Rows of this batch.
  Value rows() const { return rowCount; }
  int64_t maxRows() const { return rowMaximum; }
  /// The tile's first row in the batch.
  Value firstRow() { return buffers.firstRow ? buffers.firstRow : index(0); }
  /// Where the sequence of `row` starts, by `starts`, which has rows of the
  /// batch; the first row here if that is before.
  Value startOf(Value starts, Value row);

  void parallel(Value count, llvm::ArrayRef<mlir::MemRefType> scratch,
                llvm::function_ref<void(Value, ValueRange)> body);
  /// The body alone, as one iteration: for work that has an order.
  void once(llvm::function_ref<void()> body);
  /// Independent iterations inside of `parallel`, see `tile.each`.
  void each(ValueRange bounds, llvm::function_ref<void(ValueRange)> body);
  void map(ValueRange bounds, llvm::function_ref<void(ValueRange)> body);
  Value reduce(Value bound, tile::Combine combine, mlir::Type type,
               llvm::function_ref<Value(Value)> body);
  /// For how many `j < count`, at most `most`, the condition holds.
  Value countIf(Value count, int64_t most,
                llvm::function_ref<Value(Value)> condition);
  /// The first `i` in `[from, to)`, of 1 to `most`, for which `isBelow` is
  /// false, or `to`; once it is false it stays so.
  Value search(Value from, Value to, int64_t most,
               llvm::function_ref<Value(Value)> isBelow);
  /// Runs the body for each row of the batch: blocks of rows in parallel.
  void forEachRow(llvm::function_ref<void(Value row)> body);
  /// The same for each of `heads` parts of a row.
  void forEachHead(int64_t heads,
                   llvm::function_ref<void(Value row, Value head)> body);
  /// Element-wise over `[rows, columns]`: blocks of rows in parallel.
  void forEachElement(int64_t columns,
                      llvm::function_ref<void(Value row, Value column)> body);

  //===------------------------------------------------------------------===//
  // Matrix products
  //===------------------------------------------------------------------===//

  /// Columns of a product that one iteration computes, at most, for a type that
  /// sums are in.
  int64_t blockColumns(mlir::Type element) const;
  int64_t blockColumns(mlir::Type element, int64_t columns) const {
    return std::min(blockColumns(element), columns);
  }

  /// The pieces of a result `[rows, columns]`.
  struct Tiling {
    Value rows;
    int64_t columns;
    int64_t terms;                 ///< of one sum, see `tile.product`
    int64_t rowBlock = 0;          ///< rows of a tile, at most; 0: the target's
    bool mayRound = false;         ///< see KernelSettings::roundsProducts
    mlir::MemRefType scratch = {}; ///< memory of a tile's own; null: none
    int64_t columnBlock = 0;       ///< as rowBlock, of its columns
    /// Memory of sums of parts of the terms, side by side; null: sums are
    /// whole.
    Value parts = {};
  };
  /// A piece of a result, computed by one iteration.
  struct Tile {
    Value row, rows, column, columns;
    int64_t mostColumns, terms;
    bool rounded;
    Value sums = {}; ///< private; null: the result itself
    Value scratch = {};
    Value parts = {}, part = {}; ///< see Tiling::parts; which of them
    int64_t partCount = 1;
  };
  /// Runs the body for each tile of a result of `element`, in parallel.
  void forEachTile(mlir::Type element, const Tiling &tiling,
                   llvm::function_ref<void(const Tile &)> body);

  /// A matrix and where in it to start.
  struct Piece {
    Value matrix, row, column;
  };
  /// c (+)= a w: one `tile.product`.
  struct Product {
    Piece c;
    Piece a; ///< `[rows, depth]`; `[depth, rows]` with transposeA
    Piece w; ///< `[depth, columns]`; `[columns, depth]` with transposeW
    Value rows, columns, depth;
    int64_t mostColumns, terms;
    bool rounded = false;
    bool transposeA = false, transposeW = false, accumulate = false;
    bool readAhead = false, fewRows = false, padded = false, anyOrder = false;
    /// With it, elements of the op's first result are complete, so that the
    /// follower is applied to them.
    bool completes = false;
    /// Incomplete elements are here, from the first element on; null: in `c`.
    Value sums = {};
  };
  /// The product for a tile; it is written to the same place of `c`.
  Product productFor(const Tile &tile, Value c, const Piece &a, const Piece &w,
                     Value depth) const;
  /// Limits `product` to the tile's part of its terms, of `depth` in all.
  void takePart(Product &product, const Tile &tile, int64_t depth);
  /// c = epilogue(the sum of all `parts` in their order), completes `c`.
  void joinParts(Value parts, Value c, Epilogue epilogue = nullptr);
  /// `epilogue` is applied to the whole sum, with the element that was there
  /// before.
  void product(const Product &product, Epilogue epilogue = nullptr);
  /// Whether products that may round their operands do.
  bool rounds(mlir::Type element) const {
    return settings.roundsProducts && element.isF32();
  }
  /// The same of a thin product of `a` and `w`.
  bool roundsThin(Value a, Value w) const;
  /// Whether a matrix unit may sum over rows, with one side in bfloat16 and the
  /// other one as it is.
  bool sumsRowsInAnyOrder(Value a, Value w) const;
  /// False if there is a follower that no product applied.
  bool didFollower() const { return !follower || wasFollowed; }

private:
  mlir::IntegerAttr bitsOf(const ParameterView &view);
  /// The follower's result for `sum`, which would be stored at a place of `c`.
  Value followed(Value sum, Value c, Value row, Value column);

  mlir::Operation *op;
  ElementwiseOpInterface follower;
  bool wasFollowed = false;
  const Buffers &buffers;
  const KernelSettings &settings;
  Value rowCount;
  int64_t rowMaximum;
};

} // namespace hone
