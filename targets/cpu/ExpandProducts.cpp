//===- ExpandProducts.cpp - Products become panels and register tiles -----===//
//
// A block of one operand's terms is copied into a panel and multiplied from
// there. The choices here change speed and no bit: `cpu.contract` carries on
// sums where they were left.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/ScalarBuilder.h"
#include "targets/cpu/CpuDescription.h"
#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/MatrixPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace hone {
#define GEN_PASS_DEF_EXPANDPRODUCTS
#include "targets/cpu/CpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Products of at most so many rows fill and multiply a panel piece by piece.
static constexpr int64_t kFewRows = 32;

/// The same where filling transposes: then rows that are long to read are worth
/// more than a near panel, until there is next to nothing to multiply. If they
/// can be read where they are, no panel is filled at all.
static constexpr int64_t kFewTransposedRows = 4;

/// Bytes of a piece: it is multiplied out of the first-level cache.
static constexpr int64_t kPieceBytes = 16 << 10;

/// Operations of an epilogue that a kernel of its own may have where results
/// are rounded. All kernels have five heights, so long ones are dear to
/// compile.
static constexpr int64_t kShortEpilogue = 8;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// The panel of `op`. Its terms may lie in pairs, of which a matrix unit, whose
/// kernels do not round, wants whole lines.
static MemRefType panelOf(tile::ProductOp op, bool roundingKernels) {
  return panelType(op.getC().getType().getElementType(), op.getTerms(),
                   op.getColumns(), op.getRounded(),
                   /*mayBeNarrow=*/!op.getRounded() || roundingKernels);
}

/// The private buffer of this type of the loop around `op`, or null if there is
/// no loop; products, which fill a panel before they read it, share it.
static Value
panelFor(tile::ProductOp op, MemRefType type,
         llvm::DenseMap<std::pair<Operation *, Type>, Value> &known) {
  auto loop = op->getParentOfType<tile::ParallelOp>();
  if (!loop)
    return {};
  Value &panel = known[{loop, type}];
  if (!panel)
    panel = loop.getBody()->addArgument(type, op.getLoc());
  return panel;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// Emits one product at its place.
class ProductExpansion : public ScalarBuilder {
public:
  ProductExpansion(tile::ProductOp op, Value panel, bool roundingKernels)
      : ScalarBuilder(op.getLoc(), op), op(op), panel(panel),
        panelType(cast<MemRefType>(panel.getType())),
        roundingKernels(roundingKernels) {}

  void expand();

private:
  /// The destination of sums, and how they are stored.
  struct Result {
    Value matrix;
    Value row, column;
    bool accumulate;
    bool completes; ///< the epilogue is applied
  };
  /// Terms that one panel holds at a time.
  struct Terms {
    Value first, count;
    int64_t most; ///< of the next piece
    Value sums;   ///< to start from; null: zero
  };

  void expandDots();
  void expandPanels();
  void block(Value start, Value terms, const Result &to);
  void lastBlock(Value start, Value terms, bool accumulate);
  /// Whether a row can be multiplied with rows of w where they are. The panel's
  /// memory then has the sums of few rows and scratch.
  bool canReadRows();
  MemRefType sumsInPanel() {
    return MemRefType::get({kFewTransposedRows, panelType.getDimSize(1)},
                           panelType.getElementType());
  }
  MemRefType scratchInPanel() {
    int64_t numbers =
        cpu::DotsOp::scratchNumbers(op.getW().getType(), op.getBits());
    return MemRefType::get({1, numbers}, panelType.getElementType());
  }
  /// Whether complete sums are rounded by a loop after the product and not by
  /// kernels. Those wait for no memory that they store to, which a loop does.
  bool roundsApart() {
    return op.getInto() &&
           op.getInto().getType().getElementType() !=
               op.getC().getType().getElementType() &&
           !(roundingKernels && hasShortEpilogue());
  }
  bool hasShortEpilogue();
  /// Completes the sums at a place of `sums` and stores them, rounded, where
  /// they go.
  void storeSums(Value sums, Value row, Value column);
  void contractTerms(const Terms &terms, const Result &to);
  /// The same with few rows, which multiply a panel faster than it is written
  /// and read: pieces of `terms.most` terms stay in the nearest cache.
  void contractPieces(const Terms &terms, const Result &to);
  /// Terms that a panel is filled with; pairs stay together.
  int64_t blockTerms() {
    return llvm::alignTo(op.getTerms(), op.getRounded() ? 2 : 1);
  }
  int64_t pieceTerms();
  bool isLikePanel();
  /// Whether w comes from far away and is read once. Few rows of a gradient are
  /// multiplied in the time that a copy of the batch's side takes.
  bool readsAhead() {
    return op.getReadAhead() || (op.getFewRows() && op.getTransposeA() &&
                                 !op.getTransposeW() && !isLikePanel());
  }
  void fill(Value row, Value column, Value terms);
  SmallVector<Value> pieceAt(Value term, int64_t size);
  Value complete(Value sum, Value i, Value j, const Result &to);

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  /// Emits both, or if the condition is known, one.
  void choose(Value condition, function_ref<void()> then,
              function_ref<void()> otherwise);

  tile::ProductOp op;
  Value panel;
  MemRefType panelType;
  bool roundingKernels;
};

} // namespace

void ProductExpansion::choose(Value condition, function_ref<void()> then,
                              function_ref<void()> otherwise) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? then() : otherwise();
  when(condition, then, otherwise);
}

void ProductExpansion::expand() {
  if (canReadRows()) {
    Value isFew = compare(arith::CmpIPredicate::ule, op.getM(),
                          index(kFewTransposedRows));
    Value isWhole = compare(arith::CmpIPredicate::eq, op.getN(),
                            index(panelType.getDimSize(1)));
    choose(
        createOrFold<arith::AndIOp>(isFew, isWhole), [&] { expandDots(); },
        [&] { expandPanels(); });
  } else {
    expandPanels();
  }
  op.erase();
}

bool ProductExpansion::canReadRows() {
  MemRefType w = op.getW().getType();
  if (!op.getAnyOrder() || !op.getTransposeW() || op.getTransposeA() ||
      op.getRounded() || !op.getPrologue().empty() ||
      !panelType.getElementType().isF32() || w.getElementType().isF64())
    return false;
  return getConstantIntValue(op.getWColumn()) == 0 &&
         getConstantIntValue(op.getK()) ==
             cpu::DotsOp::numbersOf(w, op.getBits()) &&
         cpu::DotsOp::canRead(w) &&
         sumsInPanel().getNumElements() + scratchInPanel().getNumElements() <=
             panelType.getNumElements();
}

void ProductExpansion::expandDots() {
  MemRefType sumsType = sumsInPanel();
  Value sums = tile::ViewOp::create(*this, sumsType, panel, index(0));
  Value scratch = tile::ViewOp::create(
      *this, scratchInPanel(), panel,
      index(sumsType.getNumElements() * sumsType.getElementTypeBitWidth() / 8));
  if (op.getAccumulate())
    tile::MapOp::create(*this, ValueRange{op.getM(), op.getN()},
                        [&](OpBuilder &, Location, ValueRange at) {
                          store(load(op.getC(), {add(op.getCRow(), at[0]),
                                                 add(op.getCColumn(), at[1])}),
                                sums, at);
                        });
  loop(index(0), op.getM(), 1, [&](Value i) {
    cpu::DotsOp::create(*this, sums, i, op.getA(), add(op.getARow(), i),
                        op.getAColumn(), op.getW(), op.getWRow(), scratch,
                        op.getAccumulate(), op.getScales(), op.getBiases(),
                        op.getBitsAttr());
  });
  storeSums(sums, index(0), index(0));
}

/// Few operations that lanes do together.
bool ProductExpansion::hasShortEpilogue() {
  if (op.getEpilogue().empty())
    return true;
  int64_t count = 0;
  for (Operation &inner : op.getEpilogue().front().without_terminator()) {
    bool isRead = isa<memref::LoadOp>(inner);
    if (!isRead && !isa_and_nonnull<arith::ArithDialect>(inner.getDialect()))
      return false;
    Type result = inner.getResult(0).getType();
    count += !isRead && !result.isIndex() &&
             !inner.hasTrait<OpTrait::ConstantLike>();
  }
  return count <= kShortEpilogue;
}

void ProductExpansion::expandPanels() {
  int64_t size = blockTerms();
  Value zero = index(0), whole = index(size), depth = op.getK();
  Result partial{op.getC(), op.getCRow(), op.getCColumn(), op.getAccumulate(),
                 /*completes=*/false};
  auto only = [&] { lastBlock(zero, depth, op.getAccumulate()); };
  // The last block may be short, the others are whole.
  auto blocks = [&] {
    Value last = mul(div(sub(depth, index(1)), whole), whole);
    block(zero, whole, partial);
    partial.accumulate = true;
    if (getConstantIntValue(last) != size)
      loop(whole, last, size,
           [&](Value start) { block(start, whole, partial); });
    lastBlock(last, sub(depth, last), /*accumulate=*/true);
  };
  choose(compare(arith::CmpIPredicate::ule, depth, whole), only, blocks);
  if (roundsApart())
    storeSums(op.getC(), op.getCRow(), op.getCColumn());
}

void ProductExpansion::lastBlock(Value start, Value terms, bool accumulate) {
  Result to{op.getC(), op.getCRow(), op.getCColumn(), accumulate,
            /*completes=*/!roundsApart()};
  // Complete results may go elsewhere than the sums were until now; the
  // epilogue then reads these.
  if (op.getInto() && to.completes)
    to = {op.getInto(), op.getIntoAt()[0], op.getIntoAt()[1], accumulate,
          /*completes=*/true};
  block(start, terms, to);
}

void ProductExpansion::storeSums(Value sums, Value row, Value column) {
  Value to = op.getC(), toRow = op.getCRow(), toColumn = op.getCColumn();
  if (op.getInto()) {
    to = op.getInto();
    toRow = op.getIntoAt()[0];
    toColumn = op.getIntoAt()[1];
  }
  Type rounded = cast<MemRefType>(to.getType()).getElementType();
  tile::MapOp::create(
      *this, ValueRange{op.getM(), op.getN()},
      [&](OpBuilder &, Location, ValueRange at) {
        Value i = at[0], j = at[1];
        Value sum = load(sums, {add(row, i), add(column, j)});
        if (!op.getEpilogue().empty())
          sum = inlined(op.getEpilogue().front(), {sum, i, j}).front();
        store(convert(rounded, sum), to, {add(toRow, i), add(toColumn, j)});
      });
}

void ProductExpansion::block(Value start, Value terms, const Result &to) {
  auto whole = [&] {
    contractTerms({start, terms, blockTerms(), Value()}, to);
  };
  int64_t piece = pieceTerms();
  if (!piece)
    return whole();
  int64_t most = op.getTransposeW() ? kFewTransposedRows : kFewRows;
  choose(
      compare(arith::CmpIPredicate::ule, op.getM(), index(most)),
      [&] { contractPieces({start, terms, piece, Value()}, to); }, whole);
}

/// Terms that a piece of a panel has, or 0 if there is no use in pieces or no
/// room for the sums.
int64_t ProductExpansion::pieceTerms() {
  int64_t width = panelType.getDimSize(1), depth = blockTerms();
  int64_t rowBytes = width * panelType.getElementTypeBitWidth() / 8;
  int64_t sumsBytes =
      kFewRows * width * op.getC().getType().getElementTypeBitWidth() / 8;
  // A transposing fill moves squares of words, which have several numbers each.
  int64_t terms = (op.getTransposeW() ? 2 : 1) * kPieceBytes / rowBytes;
  if (op.getRounded()) // No zeros may fill up the place after a piece.
    terms = llvm::alignDown(terms, CpuDescription::kUnitTerms);
  bool isUseful = readsAhead() && depth >= 2 * terms && !canReadRows();
  bool hasRoom = depth * rowBytes >= terms * rowBytes + sumsBytes;
  return isUseful && hasRoom ? terms : 0;
}

void ProductExpansion::contractPieces(const Terms &terms, const Result &to) {
  int64_t piece = terms.most;
  // The rest of the panel is free for the sums of earlier products.
  int64_t width = panelType.getDimSize(1);
  Type element = op.getC().getType().getElementType();
  Value sums = tile::ViewOp::create(
      *this, MemRefType::get({kFewRows, width}, element), panel,
      index(piece * width * panelType.getElementTypeBitWidth() / 8));
  Value zero = index(0);
  tile::MapOp::create(*this, ValueRange{op.getM(), index(width)},
                      [&](OpBuilder &, Location, ValueRange point) {
                        Value none = arith::ConstantOp::create(
                            *this, getFloatAttr(element, 0.0));
                        memref::StoreOp::create(*this, none, sums, point);
                      });
  Value last = mul(div(sub(terms.count, index(1)), index(piece)), index(piece));
  loop(zero, last, piece, [&](Value start) {
    contractTerms({add(terms.first, start), index(piece), piece, sums},
                  {sums, zero, zero, /*accumulate=*/false,
                   /*completes=*/false});
  });
  contractTerms({add(terms.first, last), sub(terms.count, last), piece, sums},
                to);
}

/// Whether w lies in memory as the panel would.
bool ProductExpansion::isLikePanel() {
  return !op.getTransposeW() && op.getPrologue().empty() && !op.getRounded() &&
         op.getW().getType().getElementType() == panelType.getElementType();
}

/// Copies `terms` terms from there on into the panel.
void ProductExpansion::fill(Value row, Value column, Value terms) {
  cpu::FillOp::create(*this, panel, op.getW(), row, column, terms, op.getN(),
                      op.getTransposeW(), op.getScales(), op.getBiases(),
                      op.getBitsAttr());
  if (op.getPrologue().empty())
    return;
  bool transpose = op.getTransposeW();
  Block &body = op.getPrologue().front();
  tile::MapOp::create(
      *this, ValueRange{terms, op.getN()},
      [&](OpBuilder &, Location, ValueRange at) {
        Value wRow = add(row, at[transpose ? 1 : 0]);
        Value wColumn = add(column, at[transpose ? 0 : 1]);
        Value read = inlined(body, {load(panel, at), wRow, wColumn}).front();
        store(read, panel, at);
      });
}

/// Row, column, height and width, in w's memory, of the next piece: `size`
/// terms from `term`, or if the depth ends there, those on top of the next
/// panel.
SmallVector<Value> ProductExpansion::pieceAt(Value term, int64_t size) {
  // A piece that starts after the matrix is of no size.
  auto sizeWithin = [&](Value at, Value size, int64_t limit) {
    Value left = sub(index(limit), at);
    left = createOrFold<arith::MaxSIOp>(left, index(0));
    return createOrFold<arith::MinSIOp>(left, size);
  };
  MemRefType type = op.getW().getType();
  int64_t perByte = op.getBits() ? 8 / *op.getBits() : 1;
  Value isLast = compare(arith::CmpIPredicate::uge, term, op.getK());
  term = createOrFold<arith::SelectOp>(isLast, index(0), term);
  Value step = createOrFold<arith::SelectOp>(
      isLast, index(panelType.getDimSize(1)), index(0));
  Value terms = min(index(size), sub(op.getK(), term));
  bool transpose = op.getTransposeW();
  Value row = add(op.getWRow(), transpose ? step : term);
  Value column = add(op.getWColumn(), transpose ? term : step);
  Value height = transpose ? op.getN() : terms;
  Value width = transpose ? terms : op.getN();
  height = sizeWithin(row, height, type.getDimSize(0));
  width = sizeWithin(column, width, type.getDimSize(1) * perByte);
  return {row, div(column, index(perByte)), height, ceilDiv(width, perByte)};
}

/// The result of a sum of the last block.
Value ProductExpansion::complete(Value sum, Value i, Value j,
                                 const Result &to) {
  if (to.accumulate && op.getInto()) {
    Value at[] = {add(op.getCRow(), i), add(op.getCColumn(), j)};
    sum = add(load(op.getC(), at), sum);
  }
  if (op.getEpilogue().empty())
    return sum;
  return inlined(op.getEpilogue().front(), {sum, i, j}).front();
}

void ProductExpansion::contractTerms(const Terms &terms, const Result &to) {
  Value start = terms.first;
  bool transpose = op.getTransposeW();
  Value row = transpose ? op.getWRow() : add(op.getWRow(), start);
  Value column = transpose ? add(op.getWColumn(), start) : op.getWColumn();
  // cpu.contract counts a's indices as (rows, terms) in both layouts.
  Value aRow = op.getARow(), aTerm = op.getAColumn();
  if (op.getTransposeA())
    std::swap(aRow, aTerm);
  aTerm = add(aTerm, start);
  auto body = [&](OpBuilder &, Location, Value sum, Value i, Value j) {
    return complete(sum, i, j, to);
  };
  using Body = function_ref<Value(OpBuilder &, Location, Value, Value, Value)>;
  bool hasBody = to.completes &&
                 (!op.getEpilogue().empty() || (to.accumulate && op.getInto()));
  bool accumulate = to.accumulate && !(to.completes && op.getInto());
  SmallVector<Value> ahead;
  if (readsAhead())
    ahead = pieceAt(add(start, terms.count), terms.most);
  Value whole = index(panelType.getDimSize(1));
  // Sums and padded results have room for all columns.
  bool hasRoom =
      to.matrix == terms.sums ||
      (op.getPadded() && to.matrix == op.getC() &&
       static_cast<int64_t>(op.getColumns()) == panelType.getDimSize(1));
  Value columns = hasRoom ? whole : op.getN();
  SmallVector<Value> sumsAt;
  if (terms.sums)
    sumsAt.assign(2, index(0));
  auto contract = [&](Value from, ValueRange at, Value columns) {
    cpu::ContractOp::create(
        *this, to.matrix, to.row, to.column, op.getA(), aRow, aTerm, from, at,
        op.getM(), columns, terms.count, accumulate, op.getTransposeA(),
        hasBody ? Body(body) : Body(), readsAhead() ? op.getW() : Value(),
        ahead, terms.sums, sumsAt);
  };
  auto fromPanel = [&] {
    fill(row, column, terms.count);
    contract(panel, {}, columns);
  };
  if (!op.getFewRows() || !isLikePanel())
    return fromPanel();
  choose(
      compare(arith::CmpIPredicate::eq, op.getN(), whole),
      [&] { contract(op.getW(), {row, column}, whole); }, fromPanel);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static void expandRow(tile::ReadRowOp op) {
  ScalarBuilder b(op.getLoc(), op);
  cpu::FillOp::create(b, op.getTo(), op.getW(), op.getRow(), op.getColumn(),
                      b.index(1), op.getCount(), /*transpose=*/false,
                      op.getScales(), op.getBiases(), op.getBitsAttr());
  op.erase();
}

namespace {

struct ExpandProducts : public hone::impl::ExpandProductsBase<ExpandProducts> {
  using ExpandProductsBase::ExpandProductsBase;

  void runOnOperation() override {
    llvm::DenseMap<std::pair<Operation *, Type>, Value> panels;
    WalkResult walked = getOperation().walk([&](tile::ProductOp op) {
      Value panel = panelFor(op, panelOf(op, roundingKernels), panels);
      if (!panel) {
        op.emitOpError(
            "expects to stand in a 'tile.parallel', which has memory "
            "for its panel");
        return WalkResult::interrupt();
      }
      ProductExpansion(op, panel, roundingKernels).expand();
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([](tile::ReadRowOp op) { expandRow(op); });
  }
};

} // namespace
