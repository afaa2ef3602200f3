//===- MatmulKernels.cpp - Products with weights and adapters -------------===//
//
// One iteration owns a block of result columns, for as many rows as the target
// wants, and runs over the whole inner dimension, so no sum is shared between
// iterations. Narrow products (rank columns) are split over rows.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/Sizes.h"
#include "passes/kernels/Kernels.h"
#include "passes/kernels/PhiloxKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace hone;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The epilogue `acc * factor`.
static auto scaledBy(KernelBuilder &k, Value factor) {
  return [&k, factor](Value acc, Value, Value) { return k.mul(acc, factor); };
}

/// `c (+)= a w` for one tile, over all of `depth` or the tile's part of it.
static KernelBuilder::Product
tileProduct(KernelBuilder &k, const KernelBuilder::Tile &tile, Value c, Value a,
            Value w, bool transposeW, int64_t depth, bool accumulate) {
  Value zero = k.index(0);
  KernelBuilder::Piece right{w, zero, tile.column};
  if (transposeW)
    std::swap(right.row, right.column);
  KernelBuilder::Product product =
      k.productFor(tile, c, {a, tile.row, zero}, right, k.index(depth));
  product.transposeW = transposeW;
  product.accumulate = accumulate;
  if (tile.parts)
    k.takePart(product, tile, depth);
  return product;
}

Value hone::formedOnce(KernelBuilder &k, Operation *op, Value parameter,
                       unsigned index) {
  Value stored = k.buffer(parameter);
  if (!k.hasWorkspace(op, index))
    return stored;
  Value formed = k.workspace(op, index);
  auto type = cast<MemRefType>(formed.getType());
  int64_t columns = type.getDimSize(1);
  int64_t width = std::min(columns, k.blocks().formedColumns);
  int64_t pieces = llvm::divideCeil(columns, width);
  k.parallel(k.index(type.getDimSize(0) * pieces),
             MemRefType::get({1, width}, type.getElementType()),
             [&](Value i, ValueRange scratch) {
               Value row = k.div(i, k.index(pieces));
               Value column = k.mul(k.rem(i, k.index(pieces)), k.index(width));
               Value count =
                   k.min(k.index(width), k.sub(k.index(columns), column));
               k.readRow(scratch[0], stored, row, column, count,
                         /*release=*/false);
               k.map(count, [&](ValueRange j) {
                 k.store(k.load(scratch[0], {k.index(0), j[0]}), formed,
                         {row, k.add(column, j[0])});
               });
             });
  return formed;
}

/// c = epilogue(a w) with few columns: blocks of rows in parallel.
static void narrowProduct(KernelBuilder &k, Value c, Value a, Value w,
                          bool transposeW, int64_t columns, int64_t depth,
                          KernelBuilder::Epilogue epilogue) {
  Type element = cast<MemRefType>(c.getType()).getElementType();
  KernelBuilder::Tiling tiling{k.rows(), columns, numerics::dotBlock(depth),
                               k.blocks().narrowRows};
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    KernelBuilder::Product product =
        tileProduct(k, tile, c, a, w, transposeW, depth, /*accumulate=*/false);
    product.fewRows = true;
    product.rounded = k.roundsThin(a, w);
    k.product(product, epilogue);
  });
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

namespace {
/// The factors on the input of an adapter, see hone.lora_linear. A piece of the
/// product is made in memory of a thread where it is read, so there is never
/// more than a piece, and no mask at all.
class Dropout {
public:
  /// The dropout of `columns` features; none if `op` has no dropout.
  template <typename LoraLike>
  static std::optional<Dropout> of(LoraLike op, KernelBuilder &k,
                                   int64_t columns) {
    if (!op.getDropout())
      return std::nullopt;
    return Dropout(op, k.buffer(op.getKey()),
                   op.getDropout()->convertToDouble(), columns);
  }

  /// A part of a matrix with as many rows as the kernel.
  struct Part {
    Value row, column, rows, columns;
  };
  /// Runs body(i, j, m) for the elements of `part`: rows counted from its
  /// first, columns from the matrix's, and `scale` times the element of the
  /// mask.
  void forEach(KernelBuilder &k, const Part &part, Type element, double scale,
               function_ref<void(Value i, Value j, Value m)> body) const;
  /// to[i][j] = scale * m x, from the first element of `part` on.
  void copy(KernelBuilder &k, Value x, const Part &part, double scale,
            Value to) const;

private:
  Dropout(Operation *op, Value key, double p, int64_t columns)
      : op(op), key(key), p(p), columns(columns) {}

  Operation *op;
  Value key;
  double p;
  int64_t columns;
};
} // namespace

void Dropout::forEach(
    KernelBuilder &k, const Part &part, Type element, double scale,
    function_ref<void(Value i, Value j, Value m)> body) const {
  uint32_t threshold = static_cast<uint32_t>(
      std::min(std::round(std::ldexp(p, 32)), double(UINT32_MAX)));
  Value least = arith::ConstantOp::create(
      k, k.getI32IntegerAttr(static_cast<int32_t>(threshold)));
  Value kept = k.real(element, scale / (1 - p)), none = k.real(element, 0.0);
  RandomWords words(k, op, key, columns);
  k.each(part.rows, [&](ValueRange point) {
    Value i = point[0];
    words.forEach(k.add(part.row, i), part.column, part.columns,
                  [&](Value j, Value word) {
                    Value keeps = arith::CmpIOp::create(
                        k, arith::CmpIPredicate::uge, word, least);
                    body(i, j, arith::SelectOp::create(k, keeps, kept, none));
                  });
  });
}

void Dropout::copy(KernelBuilder &k, Value x, const Part &part, double scale,
                   Value to) const {
  Type element = cast<MemRefType>(to.getType()).getElementType();
  forEach(k, part, element, scale, [&](Value i, Value j, Value m) {
    Value value = k.loadAs(element, x, {k.add(part.row, i), j});
    k.store(k.mul(value, m), to, {i, k.sub(j, part.column)});
  });
}

/// h = scale * (m x) a^T.
static void droppedProduct(KernelBuilder &k, const Dropout &dropout, Value h,
                           Value x, Value a, double scale) {
  auto type = cast<MemRefType>(h.getType());
  Type element = type.getElementType();
  int64_t in = cast<MemRefType>(x.getType()).getDimSize(1);
  int64_t width = std::min(in, numerics::kDropoutColumns);
  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1), width,
                               k.blocks().narrowRows};
  tiling.scratch = MemRefType::get({k.blocks().narrowRows, width}, element);
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0), nothing = k.real(element, 0.0);
    k.map({tile.rows, tile.columns}, [&](ValueRange at) {
      k.store(nothing, h, {k.add(tile.row, at[0]), k.add(tile.column, at[1])});
    });
    k.loop(zero, k.index(in), width, [&](Value first) {
      Value count = k.min(k.index(width), k.sub(k.index(in), first));
      dropout.copy(k, x, {tile.row, first, tile.rows, count}, scale,
                   tile.scratch);
      KernelBuilder::Product product = k.productFor(
          tile, h, {tile.scratch, zero, zero}, {a, tile.column, first}, count);
      product.transposeW = true;
      product.accumulate = true;
      product.fewRows = true;
      k.product(product);
    });
  });
}

/// gradient += left^T (m x).
static void addDroppedRows(KernelBuilder &k, const Dropout &dropout,
                           Value gradient, Value left, Value x) {
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  int64_t in = type.getDimSize(1);
  constexpr int64_t height = numerics::kGradientRows;
  KernelBuilder::Tiling tiling{k.index(type.getDimSize(0)), in, height};
  tiling.scratch =
      MemRefType::get({height, k.blockColumns(element, in)}, element);
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    k.loop(zero, k.rows(), height, [&](Value first) {
      Value count = k.min(k.index(height), k.sub(k.rows(), first));
      dropout.copy(k, x, {first, tile.column, count, tile.columns},
                   /*scale=*/1.0, tile.scratch);
      KernelBuilder::Product product =
          k.productFor(tile, gradient, {left, first, tile.row},
                       {tile.scratch, zero, zero}, count);
      product.transposeA = true;
      product.accumulate = true;
      product.fewRows = true;
      k.product(product);
    });
  });
}

/// Multiplies the elements of `tile` of `sums` by the mask, in place.
static void dropTile(KernelBuilder &k, const Dropout &dropout,
                     const KernelBuilder::Tile &tile, Value dx) {
  Value sums = tile.sums ? tile.sums : dx;
  Type element = cast<MemRefType>(sums.getType()).getElementType();
  dropout.forEach(k, {tile.row, tile.column, tile.rows, tile.columns}, element,
                  /*scale=*/1.0, [&](Value i, Value j, Value m) {
                    SmallVector<Value> at = {i, k.sub(j, tile.column)};
                    if (!tile.sums)
                      at = {k.add(tile.row, i), j};
                    k.store(k.mul(k.load(sums, at), m), sums, at);
                  });
}

/// h = scale * x a^T; with dropout, of the dropped x.
static void adapterInput(KernelBuilder &k,
                         const std::optional<Dropout> &dropout, Value h,
                         Value x, Value a, double scale) {
  auto type = cast<MemRefType>(h.getType());
  int64_t in = cast<MemRefType>(x.getType()).getDimSize(1);
  if (dropout)
    return droppedProduct(k, *dropout, h, x, a, scale);
  Value factor = k.real(type.getElementType(), scale);
  narrowProduct(k, h, x, a, /*transposeW=*/true, type.getDimSize(1), in,
                scaledBy(k, factor));
}

/// One tile of `dx (+)= dy W`, which completes it if it has no parts.
static void inputAdjointTile(KernelBuilder &k, const KernelBuilder::Tile &tile,
                             Value dx, Value dy, Value weight,
                             bool accumulate) {
  int64_t out = cast<MemRefType>(dy.getType()).getDimSize(1);
  KernelBuilder::Product product = tileProduct(
      k, tile, dx, dy, weight, /*transposeW=*/false, out, accumulate);
  product.readAhead = true;
  product.completes = !tile.parts;
  k.product(product);
}

/// acc + bias[column]
static Value biased(KernelBuilder &k, Value acc, Value bias, Value column) {
  return k.add(acc, k.loadAs(acc.getType(), bias, column));
}

/// One tile of `y (+)= x W^T + bias`, which completes it, or without the bias
/// in its parts.
static void forwardTile(KernelBuilder &k, const KernelBuilder::Tile &tile,
                        Value y, Value x, Value weight, Value bias,
                        bool accumulate) {
  int64_t in = cast<MemRefType>(x.getType()).getDimSize(1);
  KernelBuilder::Product product =
      tileProduct(k, tile, y, x, weight, /*transposeW=*/true, in, accumulate);
  product.readAhead = true;
  product.completes = !tile.parts;
  if (!bias || tile.parts)
    return k.product(product);
  k.product(product, [&](Value acc, Value, Value j) {
    return biased(k, acc, bias, k.add(tile.column, j));
  });
}

static Value bufferOrNull(KernelBuilder &k, Value optional) {
  return optional ? k.buffer(optional) : Value();
}

/// gradient (+)= left^T right, summed over the rows of the batch. `rowBlock`
/// splits the rows of the gradient, if not 0. `fewRows`: see tile.product.
static void rowSumProduct(KernelBuilder &k, Value gradient, bool accumulate,
                          Value left, Value right, int64_t rowBlock,
                          bool fewRows = true) {
  auto type = cast<MemRefType>(gradient.getType());
  KernelBuilder::Tiling tiling{k.index(type.getDimSize(0)), type.getDimSize(1),
                               std::min(k.maxRows(), numerics::kGradientRows),
                               rowBlock};
  k.forEachTile(type.getElementType(), tiling,
                [&](const KernelBuilder::Tile &tile) {
                  Value zero = k.index(0);
                  KernelBuilder::Product product =
                      k.productFor(tile, gradient, {left, zero, tile.row},
                                   {right, zero, tile.column}, k.rows());
                  product.transposeA = true;
                  product.accumulate = accumulate;
                  product.fewRows = fewRows;
                  product.anyOrder = k.sumsRowsInAnyOrder(left, right);
                  k.product(product);
                });
}

/// Whether rows of `gradient` are a small part of the elements that lanes
/// multiply at a time. Threads of a target that cuts rows have no lanes to
/// leave empty.
static bool hasShortRows(KernelBuilder &k, Value gradient) {
  auto type = cast<MemRefType>(gradient.getType());
  return !k.blocks().rows && type.getElementType().isF32() &&
         4 * type.getDimSize(1) <= k.blockColumns(type.getElementType());
}

/// The same as the transpose of right^T left, so that lanes have columns of
/// `left`. No sum has another order.
static void transposedRowSums(KernelBuilder &k, Value gradient, bool accumulate,
                              Value left, Value right) {
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  KernelBuilder::Tiling tiling{k.index(columns), rows,
                               std::min(k.maxRows(), numerics::kGradientRows)};
  tiling.scratch =
      MemRefType::get({columns, k.blockColumns(element, rows)}, element);
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0), sums = tile.scratch;
    auto forEach = [&](function_ref<void(ValueRange, ValueRange)> body) {
      k.map({tile.columns, k.index(columns)}, [&](ValueRange at) {
        body({k.add(tile.column, at[0]), at[1]}, {at[1], at[0]});
      });
    };
    if (accumulate)
      forEach([&](ValueRange at, ValueRange transposed) {
        k.store(k.load(gradient, at), sums, transposed);
      });
    KernelBuilder::Product product = k.productFor(
        tile, sums, {right, zero, zero}, {left, zero, tile.column}, k.rows());
    product.c = {sums, zero, zero};
    product.transposeA = true;
    product.accumulate = accumulate;
    product.fewRows = true;
    k.product(product);
    forEach([&](ValueRange at, ValueRange transposed) {
      k.store(k.load(sums, transposed), gradient, at);
    });
  });
}

/// The place of the gradient `result`, and whether it is added there.
static std::pair<Value, bool> destinationOf(KernelBuilder &k, Value result) {
  Value sink = k.sink(result);
  return {sink ? sink : k.buffer(result), bool(sink)};
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void hone::emitKernel(LinearOp op, KernelBuilder &k) {
  RankedTensorType type = tensorType(op.getY());
  Value y = k.buffer(op.getY()), x = k.buffer(op.getX());
  Value weight = k.buffer(op.getWeight());
  Value bias = bufferOrNull(k, op.getBias());
  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1),
                               numerics::dotBlock(columnsOf(op.getX()))};
  tiling.mayRound = true;
  k.forEachTile(type.getElementType(), tiling,
                [&](const KernelBuilder::Tile &tile) {
                  forwardTile(k, tile, y, x, weight, bias,
                              /*accumulate=*/false);
                });
}

void hone::emitKernel(LinearAdjointOp op, KernelBuilder &k) {
  RankedTensorType type = tensorType(op.getDx());
  Value dx = k.buffer(op.getDx()), dy = k.buffer(op.getDy());
  Value weight = k.buffer(op.getWeight());
  int64_t out = columnsOf(op.getDy());
  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1),
                               numerics::dotBlock(out)};
  tiling.mayRound = true;
  k.forEachTile(type.getElementType(), tiling,
                [&](const KernelBuilder::Tile &tile) {
                  inputAdjointTile(k, tile, dx, dy, weight,
                                   /*accumulate=*/false);
                });
}

void hone::emitKernel(LinearParameterAdjointOp op, KernelBuilder &k) {
  auto [dw, accumulate] = destinationOf(k, op.getDw());
  rowSumProduct(k, dw, accumulate, k.buffer(op.getDy()), k.buffer(op.getX()),
                k.blocks().weightRows, /*fewRows=*/false);
}

//===----------------------------------------------------------------------===//
// Adapters
//===----------------------------------------------------------------------===//

/// One tile of `y (+)= h B^T`. `completes`: nothing is added to it.
static void adapterTile(KernelBuilder &k, const KernelBuilder::Tile &tile,
                        Value y, Value h, Value b, bool accumulate,
                        bool completes) {
  int64_t rank = cast<MemRefType>(b.getType()).getDimSize(1);
  KernelBuilder::Product product =
      tileProduct(k, tile, y, h, b, /*transposeW=*/true, rank, accumulate);
  product.completes = completes;
  k.product(product);
}

/// Where parts of the product of `op` are, its first workspace; null: there is
/// one part.
template <typename LoraLike>
static Value partsOf(KernelBuilder &k, LoraLike op) {
  bool hasParts = !op.getDropout() && productParts(op, op.getWeight()) > 1;
  return hasParts ? k.workspace(op, 0) : Value();
}

void hone::emitKernel(LoraLinearOp op, KernelBuilder &k) {
  RankedTensorType type = tensorType(op.getY());
  Type element = type.getElementType();
  int64_t in = columnsOf(op.getX());
  Value y = k.buffer(op.getY()), x = k.buffer(op.getX());
  Value weight = k.buffer(op.getWeight()), b = k.buffer(op.getB());
  Value bias = bufferOrNull(k, op.getBias());
  Value parts = partsOf(k, op);
  unsigned next = parts ? 1 : 0;
  Value h = op.getH() ? k.buffer(op.getH()) : k.workspace(op, next++);
  Value a = formedOnce(k, op, op.getA(), next);
  adapterInput(k, Dropout::of(op, k, in), h, x, a,
               op.getScale().convertToDouble());

  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1),
                               numerics::dotBlock(in)};
  tiling.mayRound = true;
  tiling.parts = parts;
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    // The long product last: it reads ahead on the way.
    adapterTile(k, tile, y, h, b, /*accumulate=*/false, /*completes=*/false);
    forwardTile(k, tile, y, x, weight, bias, /*accumulate=*/true);
  });
  if (!parts)
    return;
  if (!bias)
    return k.joinParts(parts, y);
  k.joinParts(parts, y, [&](Value acc, Value, Value column) {
    return biased(k, acc, bias, column);
  });
}

void hone::emitKernel(LoraParameterTangentOp op, KernelBuilder &k) {
  RankedTensorType type = tensorType(op.getTy());
  Type element = type.getElementType();
  int64_t in = columnsOf(op.getX()), rank = columnsOf(op.getB());
  Value x = k.buffer(op.getX()), ty = k.buffer(op.getTy());

  // Each term is h B^T, with ta in place of A or tb in place of B.
  SmallVector<std::pair<Value, Value>, 2> terms;
  unsigned nextWorkspace = 0;
  auto timesX = [&](Value a) {
    Value h = k.workspace(op, nextWorkspace++);
    adapterInput(k, Dropout::of(op, k, in), h, x, a,
                 op.getScale().convertToDouble());
    return h;
  };
  if (op.getTa()) {
    unsigned after = 1 + (op.getTb() && !op.getH());
    Value ta = formedOnce(k, op, op.getTa(), after);
    terms.push_back({timesX(ta), k.buffer(op.getB())});
  }
  if (op.getTb())
    terms.push_back(
        {op.getH() ? k.buffer(op.getH()) : timesX(k.buffer(op.getA())),
         k.buffer(op.getTb())});

  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1),
                               numerics::dotBlock(rank)};
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    for (auto [i, term] : llvm::enumerate(terms))
      adapterTile(k, tile, ty, term.first, term.second,
                  /*accumulate=*/i > 0, /*completes=*/i + 1 == terms.size());
  });
}

/// u = scale * dy b.
static void innerAdjoint(KernelBuilder &k, Value u, Value dy, Value b,
                         double scale) {
  auto type = cast<MemRefType>(u.getType());
  int64_t out = cast<MemRefType>(dy.getType()).getDimSize(1);
  Value factor = k.real(type.getElementType(), scale);
  narrowProduct(k, u, dy, b, /*transposeW=*/false, type.getDimSize(1), out,
                scaledBy(k, factor));
}

/// `op.getU()`, or where it has none, `workspace`, in which it is made.
template <typename AdjointOp>
static Value innerAdjointOf(KernelBuilder &k, AdjointOp op,
                            unsigned workspace) {
  if (op.getU())
    return k.buffer(op.getU());
  Value u = k.workspace(op, workspace);
  innerAdjoint(k, u, k.buffer(op.getDy()), k.buffer(op.getB()),
               op.getScale().convertToDouble());
  return u;
}

void hone::emitKernel(LoraInnerAdjointOp op, KernelBuilder &k) {
  innerAdjoint(k, k.buffer(op.getU()), k.buffer(op.getDy()),
               k.buffer(op.getB()), op.getScale().convertToDouble());
}

void hone::emitKernel(LoraLinearAdjointOp op, KernelBuilder &k) {
  RankedTensorType type = tensorType(op.getDx());
  Type element = type.getElementType();
  int64_t out = columnsOf(op.getDy()), rank = columnsOf(op.getB());
  Value dx = k.buffer(op.getDx()), dy = k.buffer(op.getDy());
  Value weight = k.buffer(op.getWeight()), a = k.buffer(op.getA());
  auto dropout = Dropout::of(op, k, type.getDimSize(1));
  Value parts = partsOf(k, op);
  Value u = innerAdjointOf(k, op, /*workspace=*/parts ? 1 : 0);

  KernelBuilder::Tiling tiling{k.rows(), type.getDimSize(1),
                               numerics::dotBlock(out)};
  tiling.mayRound = true;
  tiling.parts = parts;
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    k.product(tileProduct(k, tile, dx, u, a, /*transposeW=*/false, rank,
                          /*accumulate=*/false));
    if (dropout)
      dropTile(k, *dropout, tile, dx);
    inputAdjointTile(k, tile, dx, dy, weight, /*accumulate=*/true);
  });
  if (parts)
    k.joinParts(parts, dx);
}

void hone::emitKernel(LoraParameterAdjointOp op, KernelBuilder &k) {
  auto dropout = Dropout::of(op, k, columnsOf(op.getX()));
  Value x = k.buffer(op.getX()), dy = k.buffer(op.getDy());

  if (auto [da, accumulate] = destinationOf(k, op.getDa()); da) {
    Value u = innerAdjointOf(k, op, /*workspace=*/0);
    if (dropout)
      addDroppedRows(k, *dropout, zeroedGradient(op.getDa(), k), u, x);
    else
      rowSumProduct(k, da, accumulate, u, x, /*rowBlock=*/0);
  }
  if (auto [db, accumulate] = destinationOf(k, op.getDb()); db) {
    Value h = op.getH() ? k.buffer(op.getH())
                        : k.workspace(op, /*index=*/op.getU() ? 0 : 1);
    if (!op.getH())
      adapterInput(k, dropout, h, x, k.buffer(op.getA()),
                   op.getScale().convertToDouble());
    if (hasShortRows(k, db))
      transposedRowSums(k, db, accumulate, dy, h);
    else
      rowSumProduct(k, db, accumulate, dy, h, k.blocks().narrowColumns);
  }
}
