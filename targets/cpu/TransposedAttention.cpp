//===- TransposedAttention.cpp - Attention with a query in each lane ------===//
//
// A block of scores has a row for each key and a column for each query. So
// queries are filled into panels once for all of their keys, rows of keys and
// values are multiplied where they are, and no use of the scores joins lanes.
// Blocks are counted from row 0 on, so no bit of a row depends on others of the
// batch, but for where the first block begins: at the first key that the first
// query of 64 sees.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/SequenceTiles.h"
#include "passes/kernels/AttentionKernels.h"
#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/CpuKernels.h"
#include "targets/cpu/MatrixPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// Queries and keys of a block of scores. Both decide how sums are taken.
static constexpr int64_t kQueries = 64, kKeys = kAttentionKeys;

/// Rows of scores that are read for each time their columns' maxima and sums
/// are.
static constexpr int64_t kRowsTogether = 8;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

namespace {

/// Panels side by side, as wide as kernels multiply at a time.
struct Panels {
  MemRefType type; ///< of one
  int64_t columns; ///< of all
  Value memory;

  int64_t width() const { return type.getDimSize(1); }
  int64_t count() const { return llvm::divideCeil(columns, width()); }
};

/// A block of scores, and how panels are made of matrices and multiplied.
class BlockBuilder {
public:
  using Piece = KernelBuilder::Piece;

  BlockBuilder(KernelBuilder &k, const AttentionSizes &sizes)
      : k(k), sizes(sizes), hasPairs(k.rounds(sizes.element)),
        width(std::min(k.blockColumns(sizes.element), kQueries)) {}

  /// Of the type that sums are in.
  MemRefType sumsType(int64_t rows, int64_t columns) const {
    return MemRefType::get({rows, columns}, sizes.element);
  }
  /// The type of a matrix that is multiplied again.
  MemRefType factorType(int64_t rows, int64_t columns) const {
    return MemRefType::get({rows, columns},
                           hasPairs ? Type(k.getBF16Type()) : sizes.element);
  }
  Panels panelsOf(int64_t terms, int64_t columns) const {
    int64_t most = std::min(width, columns);
    return {panelType(sizes.element, terms, most, hasPairs,
                      /*mayBeNarrow=*/!hasPairs),
            columns, Value()};
  }
  MemRefType memoryOf(const Panels &panels) const {
    return MemRefType::get(
        {panels.count() * panels.type.getDimSize(0), panels.width()},
        panels.type.getElementType());
  }

  /// Panels of `terms` terms of columns of `matrix`, of which there are
  /// `count`.
  void fill(const Panels &panels, const Piece &matrix, Value terms, Value count,
            bool transpose);
  /// c (+)= a panels: `rows` rows of as many columns as there are.
  void multiply(const Piece &c, const Piece &a, const Panels &panels,
                Value rows, Value terms, bool accumulate);
  /// The same for panels of rows of `w`, all of whose columns are multiplied.
  void multiplyFilled(const Piece &c, const Piece &a, const Panels &panels,
                      Value w, Value rows, Value terms);
  void zero(Value matrix, Value row, Value column, Value rows, int64_t columns);
  /// factors[i][c] = 0 for c in [0, from) and [to, kQueries).
  void zeroOutside(Value factors, Value i, Value from, Value to);
  /// body(element, i, j) for element [j][i] of `sums`, of `rows` columns; the
  /// memory of `scratch`, of kQueries rows at least, is free.
  void forEachTransposed(Value sums, Value rows, Value scratch,
                         function_ref<void(Value, Value, Value)> body);

private:
  Value panelAt(const Panels &panels, int64_t i) {
    if (panels.count() == 1)
      return panels.memory;
    int64_t bytes =
        panels.type.getNumElements() * panels.type.getElementTypeBitWidth() / 8;
    return tile::ViewOp::create(k, panels.type, panels.memory,
                                k.index(i * bytes));
  }
  int64_t columnsAt(const Panels &panels, int64_t i) const {
    return std::min(panels.width(), panels.columns - i * panels.width());
  }

  KernelBuilder &k;
  const AttentionSizes &sizes;
  bool hasPairs;
  int64_t width;
};

} // namespace

void BlockBuilder::fill(const Panels &panels, const Piece &matrix, Value terms,
                        Value count, bool transpose) {
  for (int64_t i = 0; i < panels.count(); ++i) {
    Value first = k.index(i * panels.width());
    auto fillPanel = [&](Value columns) {
      Value row = transpose ? k.add(matrix.row, first) : matrix.row;
      Value column = transpose ? matrix.column : k.add(matrix.column, first);
      cpu::FillOp::create(k, panelAt(panels, i), matrix.matrix, row, column,
                          terms, columns, transpose, /*scales=*/Value(),
                          /*biases=*/Value(), /*bits=*/IntegerAttr());
    };
    Value most = k.index(columnsAt(panels, i));
    if (i == 0) {
      fillPanel(k.min(most, count));
      continue;
    }
    // Columns that nothing fills are multiplied, but their sums are not read.
    Value isLeft =
        arith::CmpIOp::create(k, arith::CmpIPredicate::ugt, count, first);
    k.when(isLeft, [&] { fillPanel(k.min(most, k.sub(count, first))); });
  }
}

void BlockBuilder::multiply(const Piece &c, const Piece &a,
                            const Panels &panels, Value rows, Value terms,
                            bool accumulate) {
  for (int64_t i = 0; i < panels.count(); ++i)
    cpu::ContractOp::create(
        k, c.matrix, c.row, k.add(c.column, k.index(i * panels.width())),
        a.matrix, a.row, a.column, panelAt(panels, i), ValueRange(), rows,
        k.index(columnsAt(panels, i)), terms, accumulate);
}

void BlockBuilder::multiplyFilled(const Piece &c, const Piece &a,
                                  const Panels &panels, Value w, Value rows,
                                  Value terms) {
  fill(panels, {w, k.index(0), k.index(0)}, terms, k.index(panels.columns),
       /*transpose=*/false);
  multiply(c, a, panels, rows, terms, /*accumulate=*/true);
}

void BlockBuilder::zero(Value matrix, Value row, Value column, Value rows,
                        int64_t columns) {
  Value none = k.real(sizes.element, 0.0);
  k.map({rows, k.index(columns)}, [&](ValueRange at) {
    k.store(none, matrix, {k.add(row, at[0]), k.add(column, at[1])});
  });
}

void BlockBuilder::zeroOutside(Value factors, Value i, Value from, Value to) {
  Value none = k.real(sizes.element, 0.0);
  k.map(from, [&](ValueRange c) { k.store(none, factors, {i, c[0]}); });
  k.map(k.sub(k.index(kQueries), to),
        [&](ValueRange c) { k.store(none, factors, {i, k.add(to, c[0])}); });
}

void BlockBuilder::forEachTransposed(
    Value sums, Value rows, Value scratch,
    function_ref<void(Value, Value, Value)> body) {
  Panels panels{panelType(sizes.element, kQueries,
                          std::min(width, sizes.headDim), /*pairs=*/false,
                          /*mayBeNarrow=*/true),
                sizes.headDim, Value()};
  Value panel = tile::ViewOp::create(k, panels.type, scratch, k.index(0));
  for (int64_t i = 0; i < panels.count(); ++i) {
    Value first = k.index(i * panels.width());
    Value columns = k.index(columnsAt(panels, i));
    cpu::FillOp::create(k, panel, sums, first, k.index(0), rows, columns,
                        /*transpose=*/true, Value(), Value(), IntegerAttr());
    k.map({rows, columns}, [&](ValueRange at) {
      body(k.load(panel, at), at[0], k.add(first, at[1]));
    });
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Queries of one head, and where its keys and values are.
struct QueryBlock {
  Value first, count, end;
  Value head, column, kvColumn;
  Value origin; ///< the first key that any of them sees
};

/// Keys that queries of a block see.
struct KeyBlock {
  Value number; ///< of the block, of those of kKeys rows
  Value first, count;
  Value seenEnd;     ///< the first query is first, and this is after the last
  Value isSeenByAll; ///< by all kQueries queries
};
} // namespace

static QueryBlock queryBlock(KernelBuilder &k, const AttentionSizes &sizes,
                             Value head, Value first) {
  Value headDim = k.index(sizes.headDim);
  QueryBlock block;
  block.first = first;
  block.count = k.min(k.index(kQueries), k.sub(k.rows(), block.first));
  block.end = k.add(block.first, block.count);
  block.head = head;
  block.column = k.mul(head, headDim);
  block.kvColumn = k.mul(k.div(head, k.index(sizes.group())), headDim);
  block.origin = sizes.firstKey(k, block.first);
  return block;
}

/// The block that a row is in, of those of `size` rows.
static Value blockOf(KernelBuilder &k, Value row, int64_t size) {
  return k.div(row, k.index(size));
}

static void forEachKeyBlock(KernelBuilder &k, const QueryBlock &queries,
                            Value ends,
                            function_ref<void(const KeyBlock &)> body) {
  k.loop(blockOf(k, queries.origin, kKeys), k.ceilDiv(queries.end, kKeys), 1,
         [&](Value number) {
           Value from = k.mul(number, k.index(kKeys));
           KeyBlock keys;
           keys.number = number;
           keys.first = arith::MaxUIOp::create(k, from, queries.origin);
           Value end = k.min(k.add(from, k.index(kKeys)), queries.end);
           keys.count = k.sub(end, keys.first);
           Value last = k.sub(end, k.index(1));
           auto holds = [&](arith::CmpIPredicate predicate, Value a, Value b) {
             return arith::CmpIOp::create(k, predicate, a, b);
           };
           keys.seenEnd = k.sub(k.min(k.loadIndex(ends, last), queries.end),
                                queries.first);
           keys.isSeenByAll = arith::AndIOp::create(
               k, holds(arith::CmpIPredicate::ule, last, queries.first),
               holds(arith::CmpIPredicate::uge, k.loadIndex(ends, keys.first),
                     k.add(queries.first, k.index(kQueries))));
           body(keys);
         });
}

/// The block's columns of queries that see row `i` of it: [from, to).
static std::pair<Value, Value> seenBy(KernelBuilder &k,
                                      const QueryBlock &queries,
                                      const KeyBlock &keys, Value ends,
                                      Value i) {
  Value key = k.add(keys.first, i);
  Value from =
      k.sub(arith::MaxUIOp::create(k, key, queries.first), queries.first);
  Value to = k.sub(k.min(k.loadIndex(ends, key), queries.end), queries.first);
  return {from, to};
}

/// Where `row` is in its block of keys, which has this number.
static Value rowInBlock(KernelBuilder &k, Value row, Value number) {
  return k.sub(row, k.mul(number, k.index(kKeys)));
}

/// The features of a head's keys, or values, in the matrix of emitTransposed.
static KernelBuilder::Piece
transposedAt(KernelBuilder &k, const AttentionSizes &sizes, Value transposed,
             const QueryBlock &queries, const KeyBlock &keys) {
  Value features = k.index(sizes.kvHeads * sizes.headDim);
  return {transposed, k.add(k.mul(keys.number, features), queries.kvColumn),
          rowInBlock(k, keys.first, keys.number)};
}

/// transposed[j][row] = matrix[row][j], block by block of keys.
static void emitTransposed(KernelBuilder &k, const AttentionSizes &sizes,
                           Value matrix, Value transposed) {
  int64_t columns = cast<MemRefType>(matrix.getType()).getDimSize(1);
  int64_t width = std::min(k.blockColumns(sizes.element), kQueries);
  MemRefType panel = panelType(sizes.element, sizes.headDim, width,
                               /*pairs=*/false, /*mayBeNarrow=*/true);
  Value blocks = k.ceilDiv(k.rows(), width);
  Value headDim = k.index(sizes.headDim);
  k.parallel(k.mul(k.index(columns / sizes.headDim), blocks), panel,
             [&](Value i, ValueRange buffers) {
               Value column = k.mul(k.div(i, blocks), headDim);
               Value first = k.mul(k.rem(i, blocks), k.index(width));
               Value count = k.min(k.index(width), k.sub(k.rows(), first));
               Value number = blockOf(k, first, kKeys);
               Value feature = k.add(k.mul(number, k.index(columns)), column);
               Value at = rowInBlock(k, first, number);
               cpu::FillOp::create(k, buffers[0], matrix, first, column,
                                   headDim, count, /*transpose=*/true, Value(),
                                   Value(), IntegerAttr());
               k.map({headDim, count}, [&](ValueRange point) {
                 k.store(k.load(buffers[0], point), transposed,
                         {k.add(feature, point[0]), k.add(at, point[1])});
               });
             });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {

/// All scores of a block of queries first, for their maxima, then block by
/// block weights and their product with values.
class ForwardEmitter {
public:
  ForwardEmitter(AttentionOp op, KernelBuilder &k);
  void emit();

private:
  void emitQueries(const QueryBlock &queries, ValueRange memory);
  void emitScores(const QueryBlock &queries, const KeyBlock &keys);
  void emitWeights(const QueryBlock &queries, const KeyBlock &keys);
  void emitResult(const QueryBlock &queries);
  /// body(i, rows, column) for all of a block's scores that are seen: of `rows`
  /// rows from `i` on. outside(i, from, to) for rows that a mask crosses.
  void forEachSeen(const QueryBlock &queries, const KeyBlock &keys,
                   function_ref<void(Value, int64_t, Value)> body,
                   function_ref<void(Value, Value, Value)> outside = nullptr);
  /// The row of scores of row `i` of a block.
  Value scoreRow(const QueryBlock &queries, const KeyBlock &keys, Value i) {
    return k.add(k.sub(keys.first, queries.origin), i);
  }

  KernelBuilder &k;
  AttentionSizes sizes;
  BlockBuilder blocks;
  Value q, key, v, y, normalizer, valuesTransposed, ends;
  std::optional<int64_t> mostPositions; ///< rows of a sequence

  // Of one iteration.
  Panels queryColumns, weightPanels;
  Value scores;       ///< [key][query], from the first key that is seen
  Value weights;      ///< of one block: factors
  Value maxima, sums; ///< [0][query]
  Value ySums;        ///< [feature][query]
};

} // namespace

ForwardEmitter::ForwardEmitter(AttentionOp op, KernelBuilder &k)
    : k(k), sizes(AttentionSizes::of(op, k)), blocks(k, sizes),
      q(k.buffer(op.getQ())), key(k.buffer(op.getK())), v(k.buffer(op.getV())),
      y(k.buffer(op.getY())),
      normalizer(op.getNormalizer() ? k.buffer(op.getNormalizer()) : Value()),
      valuesTransposed(k.workspace(op, 0)), ends(k.workspace(op, 1)),
      mostPositions(hone::mostPositions(op)),
      queryColumns(blocks.panelsOf(sizes.headDim, kQueries)),
      weightPanels(blocks.panelsOf(kKeys, kQueries)) {}

void ForwardEmitter::emit() {
  emitKeyEnds(k, sizes, ends);
  emitTransposed(k, sizes, v, valuesTransposed);
  int64_t mostKeys = k.maxRows();
  // The first of a block's queries sees so many, each other one more.
  for (std::optional<int64_t> seen : {sizes.window, mostPositions})
    if (seen)
      mostKeys = std::min(mostKeys, *seen + kQueries - 1);
  MemRefType scratch[] = {
      blocks.memoryOf(queryColumns),
      blocks.memoryOf(weightPanels),
      blocks.sumsType(std::max(mostKeys, kQueries), kQueries),
      blocks.factorType(kKeys, kQueries),
      blocks.sumsType(1, kQueries),
      blocks.sumsType(1, kQueries),
      blocks.sumsType(sizes.headDim, kQueries)};
  forEachHeadBlock(k, sizes.heads, kQueries, scratch,
                   [&](const HeadBlock &block, ValueRange memory) {
                     emitQueries(queryBlock(k, sizes, block.head, block.first),
                                 memory);
                   });
}

void ForwardEmitter::emitQueries(const QueryBlock &queries, ValueRange memory) {
  queryColumns.memory = memory[0];
  weightPanels.memory = memory[1];
  scores = memory[2];
  weights = memory[3];
  maxima = memory[4];
  sums = memory[5];
  ySums = memory[6];
  Value zero = k.index(0), headDim = k.index(sizes.headDim);
  blocks.fill(queryColumns, {q, queries.first, queries.column}, headDim,
              queries.count, /*transpose=*/true);
  Value least = k.real(sizes.element, -std::numeric_limits<double>::infinity());
  Value none = k.real(sizes.element, 0.0);
  k.map(k.index(kQueries), [&](ValueRange c) {
    k.store(least, maxima, {zero, c[0]});
    k.store(none, sums, {zero, c[0]});
  });
  blocks.zero(ySums, zero, zero, headDim, kQueries);
  forEachKeyBlock(k, queries, ends,
                  [&](const KeyBlock &keys) { emitScores(queries, keys); });
  forEachKeyBlock(k, queries, ends,
                  [&](const KeyBlock &keys) { emitWeights(queries, keys); });
  emitResult(queries);
}

void ForwardEmitter::forEachSeen(
    const QueryBlock &queries, const KeyBlock &keys,
    function_ref<void(Value, int64_t, Value)> body,
    function_ref<void(Value, Value, Value)> outside) {
  Value zero = k.index(0);
  auto columns = [&](Value i, int64_t rows, Value from, Value count) {
    k.map(count,
          [&](ValueRange point) { body(i, rows, k.add(from, point[0])); });
  };
  auto whole = [&] {
    Value all = k.index(kQueries);
    Value most = k.index(kRowsTogether);
    Value together = k.mul(k.div(keys.count, most), most);
    k.loop(zero, together, kRowsTogether,
           [&](Value i) { columns(i, kRowsTogether, zero, all); });
    k.loop(together, keys.count, 1, [&](Value i) { columns(i, 1, zero, all); });
  };
  auto part = [&] {
    k.loop(zero, keys.count, 1, [&](Value i) {
      auto [from, to] = seenBy(k, queries, keys, ends, i);
      columns(i, 1, from, k.sub(to, from));
      if (outside)
        outside(i, from, to);
    });
  };
  k.when(keys.isSeenByAll, whole, part);
}

void ForwardEmitter::emitScores(const QueryBlock &queries,
                                const KeyBlock &keys) {
  Value zero = k.index(0);
  blocks.multiply({scores, scoreRow(queries, keys, zero), zero},
                  {key, keys.first, queries.kvColumn}, queryColumns, keys.count,
                  k.index(sizes.headDim), /*accumulate=*/false);
  forEachSeen(queries, keys, [&](Value i, int64_t rows, Value c) {
    Value most = k.load(maxima, {zero, c});
    for (int64_t r = 0; r < rows; ++r) {
      Value row = scoreRow(queries, keys, k.add(i, k.index(r)));
      most = arith::MaximumFOp::create(
          k, most, k.mul(k.load(scores, {row, c}), sizes.scale));
    }
    k.store(most, maxima, {zero, c});
  });
}

void ForwardEmitter::emitWeights(const QueryBlock &queries,
                                 const KeyBlock &keys) {
  Value zero = k.index(0);
  forEachSeen(
      queries, keys,
      [&](Value i, int64_t rows, Value c) {
        Value maximum = k.load(maxima, {zero, c});
        Value sum = k.load(sums, {zero, c});
        for (int64_t r = 0; r < rows; ++r) {
          Value at = k.add(i, k.index(r));
          Value dot = k.load(scores, {scoreRow(queries, keys, at), c});
          Value weight = weightOf(k, dot, sizes.scale, maximum);
          sum = k.add(sum, weight);
          k.store(weight, weights, {at, c});
        }
        k.store(sum, sums, {zero, c});
      },
      [&](Value i, Value from, Value to) {
        blocks.zeroOutside(weights, i, from, to);
      });
  blocks.multiplyFilled({ySums, zero, zero},
                        transposedAt(k, sizes, valuesTransposed, queries, keys),
                        weightPanels, weights, k.index(sizes.headDim),
                        keys.count);
}

void ForwardEmitter::emitResult(const QueryBlock &queries) {
  Value zero = k.index(0), one = k.real(sizes.element, 1.0);
  k.map(k.index(kQueries), [&](ValueRange c) {
    k.store(k.div(one, k.load(sums, {zero, c[0]})), sums, {zero, c[0]});
  });
  if (normalizer) {
    Value at = k.mul(queries.head, k.index(2)), next = k.add(at, k.index(1));
    k.map(queries.count, [&](ValueRange c) {
      Value row = k.add(queries.first, c[0]);
      k.store(k.load(maxima, {zero, c[0]}), normalizer, {row, at});
      k.store(k.load(sums, {zero, c[0]}), normalizer, {row, next});
    });
  }
  blocks.forEachTransposed(
      ySums, queries.count, scores, [&](Value sum, Value i, Value j) {
        k.store(k.mul(sum, k.load(sums, {zero, i})), y,
                {k.add(queries.first, i), k.add(queries.column, j)});
      });
}

void hone::emitTransposedAttention(AttentionOp op, KernelBuilder &k) {
  ForwardEmitter(op, k).emit();
}

//===----------------------------------------------------------------------===//
// Adjoint
//===----------------------------------------------------------------------===//

namespace {

/// The five products of each block of scores.
class AdjointEmitter {
public:
  AdjointEmitter(AttentionAdjointOp op, KernelBuilder &k);
  void emit();

private:
  /// dk or dv. Iterations add them up in the result, or block by block of keys
  /// in the op's memory.
  struct Gradient {
    Value result;
    unsigned workspace;
  };

  bool hasOwnSums() const { return k.hasWorkspace(op, dvSums.workspace); }
  int64_t iterations() const { return sizes.kvHeads * parts.count; }
  /// [key][feature] of this iteration.
  Value sumsOfBlock(const Gradient &gradient, Value number);
  KernelBuilder::Piece sumsAt(const Gradient &gradient, const KeyBlock &keys);
  void zeroSums(const Gradient &gradient);
  void emitIteration(ValueRange memory);
  void emitQueries(const QueryBlock &queries);
  void emitSlopes(const QueryBlock &queries, const KeyBlock &keys);
  /// A score and dP become a weight and a slope.
  void emitElement(const QueryBlock &queries, Value i, Value c);
  void joinParts();

  AttentionAdjointOp op;
  KernelBuilder &k;
  AttentionAdjointOperands in;
  const AttentionSizes &sizes;
  BlockBuilder blocks;
  HeadParts parts;
  Value keysTransposed, dq;
  Gradient dkSums, dvSums;

  // Of one iteration.
  Value iteration;
  Panels queryColumns, dyColumns, queryRows, dyRows, slopePanels;
  Value scores, slopes;              ///< sums: [key][query]
  Value weightFactors, slopeFactors; ///< these, as products read them
  Value dqSums;                      ///< [feature][query]
};

} // namespace

AdjointEmitter::AdjointEmitter(AttentionAdjointOp op, KernelBuilder &k)
    : op(op), k(k), in(AttentionAdjointOperands::of(op, k)), sizes(in.sizes),
      blocks(k, sizes),
      parts(headParts(sizes.heads, sizes.kvHeads, attentionIterations(op))),
      keysTransposed(k.workspace(op, 4)), dq(k.buffer(op.getDq())),
      dkSums{k.buffer(op.getDk()), 5}, dvSums{k.buffer(op.getDv()), 6},
      queryColumns(blocks.panelsOf(sizes.headDim, kQueries)),
      dyColumns(queryColumns),
      queryRows(blocks.panelsOf(kQueries, sizes.headDim)), dyRows(queryRows),
      slopePanels(blocks.panelsOf(kKeys, kQueries)) {}

Value AdjointEmitter::sumsOfBlock(const Gradient &gradient, Value number) {
  MemRefType type = blocks.sumsType(attentionKeys(op), sizes.headDim);
  int64_t bytes =
      type.getNumElements() * sizes.element.getIntOrFloatBitWidth() / 8;
  Value at = k.add(k.mul(number, k.index(iterations())), iteration);
  return tile::ViewOp::create(k, type, k.workspace(op, gradient.workspace),
                              k.mul(at, k.index(bytes)));
}

KernelBuilder::Piece AdjointEmitter::sumsAt(const Gradient &gradient,
                                            const KeyBlock &keys) {
  if (!hasOwnSums())
    return {gradient.result, keys.first,
            k.mul(iteration, k.index(sizes.headDim))};
  return {sumsOfBlock(gradient, keys.number),
          rowInBlock(k, keys.first, keys.number), k.index(0)};
}

void AdjointEmitter::zeroSums(const Gradient &gradient) {
  Value zero = k.index(0);
  if (!hasOwnSums())
    return blocks.zero(gradient.result, zero,
                       k.mul(iteration, k.index(sizes.headDim)), k.rows(),
                       sizes.headDim);
  k.loop(zero, k.ceilDiv(k.rows(), kKeys), 1, [&](Value number) {
    blocks.zero(sumsOfBlock(gradient, number), zero, zero,
                k.index(attentionKeys(op)), sizes.headDim);
  });
}

void AdjointEmitter::emit() {
  emitKeyEnds(k, sizes, in.ends);
  emitRowTerms(k, in, k.buffer(op.getY()), k.buffer(op.getNormalizer()));
  emitTransposed(k, sizes, in.key, keysTransposed);
  SmallVector<MemRefType> scratch;
  for (const Panels *panels :
       {&queryColumns, &dyColumns, &queryRows, &dyRows, &slopePanels})
    scratch.push_back(blocks.memoryOf(*panels));
  scratch.append(2, blocks.sumsType(kKeys, kQueries));
  scratch.push_back(blocks.sumsType(sizes.headDim, kQueries));
  if (k.rounds(sizes.element))
    scratch.append(2, blocks.factorType(kKeys, kQueries));
  k.parallel(k.index(iterations()), scratch, [&](Value i, ValueRange memory) {
    iteration = i;
    emitIteration(memory);
  });
  joinParts();
}

/// Some query heads of a key head.
void AdjointEmitter::emitIteration(ValueRange memory) {
  Panels *all[] = {&queryColumns, &dyColumns, &queryRows, &dyRows,
                   &slopePanels};
  for (auto [panels, at] : llvm::zip_first(all, memory))
    panels->memory = at;
  scores = memory[5];
  slopes = memory[6];
  dqSums = memory[7];
  weightFactors = memory.size() > 8 ? memory[8] : scores;
  slopeFactors = memory.size() > 8 ? memory[9] : slopes;
  for (const Gradient &gradient : {dkSums, dvSums})
    zeroSums(gradient);

  Value count = k.index(parts.count), group = k.index(sizes.group());
  Value kvHead = k.div(iteration, count);
  Value from = k.mul(k.rem(iteration, count), k.index(parts.heads));
  Value to = k.min(k.add(from, k.index(parts.heads)), group);
  k.loop(from, to, 1, [&](Value member) {
    Value head = k.add(k.mul(kvHead, group), member);
    k.loop(k.index(0), k.rows(), kQueries, [&](Value first) {
      emitQueries(queryBlock(k, sizes, head, first));
    });
  });
}

void AdjointEmitter::emitQueries(const QueryBlock &queries) {
  Value zero = k.index(0), headDim = k.index(sizes.headDim);
  KernelBuilder::Piece q{in.q, queries.first, queries.column};
  KernelBuilder::Piece dy{in.dy, queries.first, queries.column};
  blocks.fill(queryColumns, q, headDim, queries.count, /*transpose=*/true);
  blocks.fill(dyColumns, dy, headDim, queries.count, /*transpose=*/true);
  blocks.fill(queryRows, q, queries.count, headDim, /*transpose=*/false);
  blocks.fill(dyRows, dy, queries.count, headDim, /*transpose=*/false);
  blocks.zero(dqSums, zero, zero, headDim, kQueries);

  forEachKeyBlock(k, queries, in.ends, [&](const KeyBlock &keys) {
    blocks.multiply({scores, zero, zero},
                    {in.key, keys.first, queries.kvColumn}, queryColumns,
                    keys.count, headDim, /*accumulate=*/false);
    blocks.multiply({slopes, zero, zero}, {in.v, keys.first, queries.kvColumn},
                    dyColumns, keys.count, headDim, /*accumulate=*/false);
    emitSlopes(queries, keys);
    blocks.multiply(sumsAt(dvSums, keys), {weightFactors, zero, zero}, dyRows,
                    keys.count, keys.seenEnd, /*accumulate=*/true);
    blocks.multiply(sumsAt(dkSums, keys), {slopeFactors, zero, zero}, queryRows,
                    keys.count, keys.seenEnd, /*accumulate=*/true);
    blocks.multiplyFilled({dqSums, zero, zero},
                          transposedAt(k, sizes, keysTransposed, queries, keys),
                          slopePanels, slopeFactors, headDim, keys.count);
  });

  blocks.forEachTransposed(
      dqSums, queries.count, scores, [&](Value sum, Value i, Value j) {
        k.store(sum, dq, {k.add(queries.first, i), k.add(queries.column, j)});
      });
}

void AdjointEmitter::emitElement(const QueryBlock &queries, Value i, Value c) {
  Value query = k.add(queries.first, c);
  Value p = k.mul(weightOf(k, k.load(scores, {i, c}), sizes.scale,
                           k.load(in.maxima, {queries.head, query})),
                  k.load(in.reciprocals, {queries.head, query}));
  Value ds = k.mul(p, k.sub(k.load(slopes, {i, c}),
                            k.load(in.terms, {queries.head, query})));
  k.store(p, weightFactors, {i, c});
  k.store(k.mul(ds, sizes.scale), slopeFactors, {i, c});
}

void AdjointEmitter::emitSlopes(const QueryBlock &queries,
                                const KeyBlock &keys) {
  auto whole = [&] {
    k.map({keys.count, k.index(kQueries)},
          [&](ValueRange at) { emitElement(queries, at[0], at[1]); });
  };
  auto part = [&] {
    k.loop(k.index(0), keys.count, 1, [&](Value i) {
      auto [from, to] = seenBy(k, queries, keys, in.ends, i);
      k.map(k.sub(to, from), [&, from = from](ValueRange c) {
        emitElement(queries, i, k.add(from, c[0]));
      });
      for (Value factors : {weightFactors, slopeFactors})
        blocks.zeroOutside(factors, i, from, to);
    });
  };
  k.when(keys.isSeenByAll, whole, part);
}

/// dk and dv: the sums of a key head's parts, in order.
void AdjointEmitter::joinParts() {
  if (!hasOwnSums())
    return;
  Value headDim = k.index(sizes.headDim), count = k.index(parts.count);
  k.forEachHead(sizes.kvHeads, [&](Value row, Value head) {
    Value number = blockOf(k, row, kKeys);
    Value first =
        k.add(k.mul(number, k.index(iterations())), k.mul(head, count));
    Value feature = k.mul(rowInBlock(k, row, number), headDim);
    k.map(headDim, [&](ValueRange j) {
      for (const Gradient &gradient : {dkSums, dvSums}) {
        Value sums = k.workspace(op, gradient.workspace), sum;
        for (int64_t part = 0; part < parts.count; ++part) {
          Value term =
              k.load(sums, {k.add(first, k.index(part)), k.add(feature, j[0])});
          sum = sum ? k.add(sum, term) : term;
        }
        k.store(sum, gradient.result, {row, k.add(k.mul(head, headDim), j[0])});
      }
    });
  });
}

void hone::emitTransposedAttention(AttentionAdjointOp op, KernelBuilder &k) {
  AdjointEmitter(op, k).emit();
}
