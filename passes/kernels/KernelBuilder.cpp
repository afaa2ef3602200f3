//===- KernelBuilder.cpp - The words that kernels are written in ----------===//
//
// Index arithmetic is folded while it is built: a size that is static stays
// visible to the targets as a constant.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/KernelBuilder.h"

#include "passes/kernels/PhiloxKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace hone;

/// Rows that one iteration of a row-wise kernel handles; no sum crosses rows,
/// so this is only a matter of speed.
static constexpr int64_t kRowBlock = 16;

/// Products of at most so many rows fill and multiply a panel piece by piece.
static constexpr int64_t kFewRows = 32;

/// Bytes of a piece: it is multiplied out of the first-level cache.
static constexpr int64_t kPieceBytes = 16 << 10;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::string hone::freshSymbol(ModuleOp module, StringRef name) {
  unsigned count = 0;
  return SymbolTable::generateSymbolName<32>(
             name, [&](StringRef tried) { return module.lookupSymbol(tried); },
             count)
      .str()
      .str();
}

Value KernelBuilder::table(StringRef name, DenseElementsAttr content) {
  auto module = getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto shaped = cast<RankedTensorType>(content.getType());
  auto type = MemRefType::get(shaped.getShape(), shaped.getElementType());
  memref::GlobalOp global;
  for (auto other : module.getOps<memref::GlobalOp>())
    if (other.getConstant() && other.getInitialValueAttr() == content)
      global = other;
  if (!global) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    global = memref::GlobalOp::create(*this, freshSymbol(module, name),
                                      getStringAttr("private"), type, content,
                                      /*constant=*/true, getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(*this, type, global.getSymName());
}

Value KernelBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}

namespace {
/// What moves a perturbed parameter. What all elements share is computed where
/// this is made: outside of their loop.
class Direction {
public:
  Direction(KernelBuilder &k, const ParameterView &view, Type type)
      : k(k), type(type), scale(k.load(view.scale, {})) {
    auto word = [&](int64_t at) { return k.load(view.key, k.index(at)); };
    key = streamKey(k, {word(0), word(1), word(2), word(3)}, view.stream);
  }

  /// `type` of element `index`.
  Value at(Value index) {
    return k.convert(type, k.mul(scale, randomNormal(k, key, index)));
  }

private:
  KernelBuilder &k;
  Type type;
  Value scale;
  RandomKey key;
};
} // namespace

Value KernelBuilder::loadAs(Type type, Value memref, ValueRange indices) {
  Value element = convert(type, load(memref, indices));
  ParameterView view = buffers.parameters.lookup(memref);
  if (!view.isPerturbed())
    return element;
  Value place = index(0);
  for (auto [size, at] :
       llvm::zip_equal(cast<MemRefType>(memref.getType()).getShape(), indices))
    place = add(mul(place, index(size)), at);
  return add(element, Direction(*this, view, type).at(place));
}

Value KernelBuilder::loadIndex(Value memref, ValueRange indices) {
  return arith::IndexCastOp::create(*this, getIndexType(),
                                    load(memref, indices));
}

void KernelBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value KernelBuilder::real(Type type, double value) {
  return arith::ConstantOp::create(*this, getFloatAttr(type, value));
}

template <typename Int, typename Float>
static Value binary(KernelBuilder &k, Value a, Value b) {
  if (a.getType().isIntOrIndex())
    return k.createOrFold<Int>(a, b);
  return Float::create(k, a, b);
}

Value KernelBuilder::add(Value a, Value b) {
  return binary<arith::AddIOp, arith::AddFOp>(*this, a, b);
}

Value KernelBuilder::sub(Value a, Value b) {
  return binary<arith::SubIOp, arith::SubFOp>(*this, a, b);
}

Value KernelBuilder::mul(Value a, Value b) {
  return binary<arith::MulIOp, arith::MulFOp>(*this, a, b);
}

Value KernelBuilder::div(Value a, Value b) {
  return binary<arith::DivUIOp, arith::DivFOp>(*this, a, b);
}

Value KernelBuilder::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}

Value KernelBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinUIOp>(a, b);
}

Value KernelBuilder::ceilDiv(Value a, int64_t b) {
  return div(add(a, index(b - 1)), index(b));
}

Value KernelBuilder::exp(Value a) { return math::ExpOp::create(*this, a); }

Value KernelBuilder::convert(Type type, Value a) {
  return convertScalarToDtype(*this, getLoc(), a, type,
                              /*isUnsignedCast=*/false);
}

SmallVector<Value> KernelBuilder::elementsOf(ElementwiseOpInterface elementwise,
                                             Value row, Value column,
                                             Value known) {
  SmallVector<Value> elements;
  for (Value operand : elementwise->getOperands()) {
    bool isScalar = cast<ShapedType>(operand.getType()).getRank() == 0;
    if (known && operand == op->getResult(0))
      elements.push_back(known);
    else
      elements.push_back(load(
          buffer(operand), isScalar ? ValueRange() : ValueRange{row, column}));
  }
  return elementwise.buildElements(*this, elements);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void KernelBuilder::parallel(Value count, ArrayRef<MemRefType> scratch,
                             function_ref<void(Value, ValueRange)> body) {
  tile::ParallelOp::create(*this, count, scratch,
                           [&](OpBuilder &, Location, Value i,
                               ValueRange buffers) { body(i, buffers); });
}

void KernelBuilder::loop(Value from, Value to, int64_t step,
                         function_ref<void(Value)> body) {
  scf::ForOp::create(*this, from, to, index(step), ValueRange(),
                     [&](OpBuilder &, Location, Value i, ValueRange) {
                       body(i);
                       scf::YieldOp::create(*this);
                     });
}

void KernelBuilder::when(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

void KernelBuilder::map(ValueRange bounds,
                        function_ref<void(ValueRange)> body) {
  tile::MapOp::create(
      *this, bounds,
      [&](OpBuilder &, Location, ValueRange point) { body(point); });
}

Value KernelBuilder::reduce(Value bound, tile::Combine combine, Type type,
                            function_ref<Value(Value)> body) {
  auto fold = tile::ReduceOp::create(
      *this, bound, combine, TypeRange(type),
      [&](OpBuilder &, Location, Value j) -> SmallVector<Value> {
        return {body(j)};
      });
  return fold.getResult(0);
}

/// Runs body(first, count) for blocks of rows, in parallel.
static void forEachRowBlock(KernelBuilder &k,
                            function_ref<void(Value, Value)> body) {
  k.parallel(k.ceilDiv(k.rows(), kRowBlock), {}, [&](Value block, ValueRange) {
    Value first = k.mul(block, k.index(kRowBlock));
    body(first, k.min(k.index(kRowBlock), k.sub(k.rows(), first)));
  });
}

void KernelBuilder::forEachRow(function_ref<void(Value)> body) {
  forEachRowBlock(*this, [&](Value first, Value count) {
    loop(first, add(first, count), 1, body);
  });
}

void KernelBuilder::forEachElement(int64_t columns,
                                   function_ref<void(Value, Value)> body) {
  forEachRowBlock(*this, [&](Value first, Value count) {
    map({count, index(columns)},
        [&](ValueRange point) { body(add(first, point[0]), point[1]); });
  });
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

int64_t KernelBuilder::panelWidth(Type element) const {
  return panels.bytes * 8 / element.getIntOrFloatBitWidth();
}

int64_t KernelBuilder::panelWidth(Type element, int64_t columns) const {
  constexpr int64_t cacheLineBits = 512;
  int64_t unit = cacheLineBits / element.getIntOrFloatBitWidth();
  return std::min<int64_t>(panelWidth(element), llvm::alignTo(columns, unit));
}

MemRefType KernelBuilder::roundingPanel(Type element, int64_t depth,
                                        int64_t width) const {
  if (!rounds(element))
    return MemRefType::get({depth, width}, element);
  // Terms lie in pairs.
  return MemRefType::get({static_cast<int64_t>(llvm::alignTo(depth, 2)), width},
                         BFloat16Type::get(element.getContext()));
}

void KernelBuilder::forEachTile(Type element, const Tiling &tiling,
                                function_ref<void(const Tile &)> body) {
  bool rounding = tiling.mayRound && rounds(element);
  int64_t width = panelWidth(element, tiling.columns);
  // Half a line or a quarter, where pairs need a whole one.
  constexpr int64_t minBits = 128;
  while (!rounding && width / 2 >= tiling.columns &&
         width / 2 * element.getIntOrFloatBitWidth() >= minBits)
    width /= 2;
  int64_t count = llvm::divideCeil(tiling.columns, width);
  Value zero = index(0);
  Value tiles = index(count);
  if (tiling.rowBlock)
    tiles = mul(ceilDiv(tiling.rows, tiling.rowBlock), tiles);
  auto panel = tiling.mayRound
                   ? roundingPanel(element, tiling.depth, width)
                   : MemRefType::get({tiling.depth, width}, element);
  parallel(tiles, panel, [&](Value i, ValueRange scratch) {
    Tile tile{zero, tiling.rows, zero, index(tiling.columns), scratch[0]};
    if (tiling.rowBlock) {
      tile.row = mul(div(i, index(count)), index(tiling.rowBlock));
      tile.rows = min(index(tiling.rowBlock), sub(tiling.rows, tile.row));
    }
    if (count > 1) {
      Value j = tiling.rowBlock ? rem(i, index(count)) : i;
      tile.column = mul(j, index(width));
      tile.columns = tiling.columns % width == 0
                         ? index(width)
                         : min(index(width), sub(tile.columns, tile.column));
    }
    body(tile);
  });
}

void KernelBuilder::fill(Value panel, Value matrix, Value row, Value column,
                         Value height, Value width, bool transpose) {
  ParameterView view = buffers.parameters.lookup(matrix);
  tile::FillOp::create(
      *this, panel, matrix, row, column, height, width, transpose, view.scales,
      view.biases, view.bits ? getI64IntegerAttr(view.bits) : IntegerAttr());
  if (!view.isPerturbed())
    return;
  Type element = cast<MemRefType>(panel.getType()).getElementType();
  Value columns = index(cast<MemRefType>(matrix.getType()).getDimSize(1));
  Direction direction(*this, view, element);
  map({height, width}, [&](ValueRange at) {
    Value i = add(row, at[transpose ? 1 : 0]);
    Value j = add(column, at[transpose ? 0 : 1]);
    Value moved = direction.at(add(mul(i, columns), j));
    store(add(load(panel, at), moved), panel, at);
  });
}

bool KernelBuilder::isLikePanel(const Product &p, MemRefType panel) const {
  auto type = cast<MemRefType>(p.w.matrix.getType());
  ParameterView view = buffers.parameters.lookup(p.w.matrix);
  return !p.transposeW && !view.isPacked() && !view.isPerturbed() &&
         type.getElementType() == panel.getElementType();
}

SmallVector<Value> KernelBuilder::pieceAt(const Product &p, Value term,
                                          int64_t size, int64_t panelColumns) {
  // A piece that starts behind the matrix is of no size.
  auto sizeWithin = [&](Value at, Value size, int64_t limit) {
    Value left = sub(index(limit), at);
    left = createOrFold<arith::MaxSIOp>(left, index(0));
    return createOrFold<arith::MinSIOp>(left, size);
  };
  auto type = cast<MemRefType>(p.w.matrix.getType());
  ParameterView view = buffers.parameters.lookup(p.w.matrix);
  int64_t perByte = view.isPacked() ? 8 / view.bits : 1;
  Value isLast =
      createOrFold<arith::CmpIOp>(arith::CmpIPredicate::uge, term, p.depth);
  term = createOrFold<arith::SelectOp>(isLast, index(0), term);
  Value step =
      createOrFold<arith::SelectOp>(isLast, index(panelColumns), index(0));
  Value terms = min(index(size), sub(p.depth, term));
  Value row = add(p.w.row, p.transposeW ? step : term);
  Value column = add(p.w.column, p.transposeW ? term : step);
  Value height = p.transposeW ? p.columns : terms;
  Value width = p.transposeW ? terms : p.columns;
  height = sizeWithin(row, height, type.getDimSize(0));
  width = sizeWithin(column, width, type.getDimSize(1) * perByte);
  return {row, div(column, index(perByte)), height, ceilDiv(width, perByte)};
}

/// "lora_linear" or "lora_linear+swiglu".
Location KernelBuilder::locationOf(Operation *op,
                                   ElementwiseOpInterface follower) {
  std::string name = op->getName().stripDialect().str();
  if (follower)
    name += ("+" + follower->getName().stripDialect()).str();
  return NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc());
}

void KernelBuilder::release(Value matrix, Value row, Value count) {
  ParameterView view = buffers.parameters.lookup(matrix);
  for (Value tensor : {matrix, view.scales, view.biases})
    if (tensor)
      tile::ReleaseOp::create(*this, tensor, row, count);
}

void KernelBuilder::contractTerms(Value panel, const Product &p,
                                  const Terms &terms, Epilogue epilogue) {
  auto panelType = cast<MemRefType>(panel.getType());
  Value start = terms.first;
  Value row = p.transposeW ? p.w.row : add(p.w.row, start);
  Value column = p.transposeW ? add(p.w.column, start) : p.w.column;
  // tile.contract counts a's indices as (rows, terms) in both layouts.
  Value aRow = p.transposeA ? p.a.column : p.a.row;
  Value aTerm = add(p.transposeA ? p.a.row : p.a.column, start);
  auto body = [&](OpBuilder &, Location, Value acc, Value i, Value j) {
    return epilogue(acc, i, j);
  };
  using Body = function_ref<Value(OpBuilder &, Location, Value, Value, Value)>;
  SmallVector<Value> ahead;
  if (p.readAhead)
    ahead = pieceAt(p, add(start, terms.count), terms.most,
                    panelType.getDimSize(1));
  Value whole = index(panelType.getDimSize(1));
  // Sums have room for all columns.
  Value columns = p.c.matrix == terms.sums ? whole : p.columns;
  SmallVector<Value> sumsAt;
  if (terms.sums)
    sumsAt.assign(2, index(0));
  auto contract = [&](Value from, ValueRange at, Value columns) {
    tile::ContractOp::create(
        *this, p.c.matrix, p.c.row, p.c.column, p.a.matrix, aRow, aTerm, from,
        at, p.rows, columns, terms.count, p.accumulate, p.transposeA,
        epilogue ? Body(body) : Body(), p.readAhead ? p.w.matrix : Value(),
        ahead, terms.sums, sumsAt);
  };
  auto fromPanel = [&] {
    fill(panel, p.w.matrix, row, column, terms.count, p.columns, p.transposeW);
    contract(panel, {}, columns);
  };
  if (!p.inPlace || !isLikePanel(p, panelType))
    return fromPanel();
  Value isWhole =
      createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, p.columns, whole);
  auto fromMatrix = [&] { contract(p.w.matrix, {row, column}, whole); };
  if (std::optional<int64_t> known = getConstantIntValue(isWhole))
    return *known ? fromMatrix() : fromPanel();
  when(isWhole, fromMatrix, fromPanel);
}

void KernelBuilder::contractPieces(Value panel, const Product &p,
                                   const Terms &terms, Epilogue epilogue) {
  int64_t piece = terms.most;
  // The rest of the panel is free for the sums of what has been multiplied.
  auto panelType = cast<MemRefType>(panel.getType());
  int64_t width = panelType.getDimSize(1);
  Type element = cast<MemRefType>(p.c.matrix.getType()).getElementType();
  Value sums = tile::ViewOp::create(
      *this, MemRefType::get({kFewRows, width}, element), panel,
      index(piece * width * panelType.getElementTypeBitWidth() / 8));
  Value zero = index(0);
  map({p.rows, index(width)},
      [&](ValueRange point) { store(real(element, 0.0), sums, point); });
  Product toSums = p;
  toSums.c = {sums, zero, zero};
  toSums.accumulate = false;
  Value last = mul(div(sub(terms.count, index(1)), index(piece)), index(piece));
  loop(zero, last, piece, [&](Value start) {
    contractTerms(panel, toSums,
                  {add(terms.first, start), index(piece), piece, sums},
                  nullptr);
  });
  contractTerms(panel, p,
                {add(terms.first, last), sub(terms.count, last), piece, sums},
                epilogue);
}

/// Terms that a piece of a panel has, or 0 if there is no use in pieces or no
/// room for the sums. A transposing fill takes rows as long as it can get them.
int64_t KernelBuilder::pieceTerms(MemRefType panel, const Product &p) const {
  auto c = cast<MemRefType>(p.c.matrix.getType());
  int64_t width = panel.getDimSize(1), depth = panel.getDimSize(0);
  int64_t rowBytes = width * panel.getElementTypeBitWidth() / 8;
  int64_t sumsBytes = kFewRows * width * c.getElementTypeBitWidth() / 8;
  int64_t terms = kPieceBytes / rowBytes;
  bool isUseful = p.readAhead && !p.transposeW && depth >= 2 * terms;
  return isUseful && depth * rowBytes >= kPieceBytes + sumsBytes ? terms : 0;
}

void KernelBuilder::productBlock(Value panel, const Product &p, Value start,
                                 Value terms, bool accumulate,
                                 Epilogue epilogue) {
  auto type = cast<MemRefType>(panel.getType());
  Product block = p;
  block.accumulate = accumulate;
  auto whole = [&] {
    contractTerms(panel, block, {start, terms, type.getDimSize(0), Value()},
                  epilogue);
  };
  int64_t piece = pieceTerms(type, p);
  if (!piece)
    return whole();
  Value areFew = createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule, p.rows,
                                             index(kFewRows));
  when(
      areFew,
      [&] {
        contractPieces(panel, block, {start, terms, piece, Value()}, epilogue);
      },
      whole);
}

void KernelBuilder::lastBlock(Value panel, const Product &p, Value start,
                              Value terms, bool accumulate, Epilogue epilogue) {
  if (!follower || !p.completes)
    return productBlock(panel, p, start, terms, accumulate, epilogue);
  wasFollowed = true;
  // What follows may be written elsewhere than the sums were until now.
  Product last = p;
  last.c.matrix = buffer(follower->getResult(0));
  productBlock(panel, last, start, terms, /*accumulate=*/false,
               [&](Value sum, Value i, Value j) {
                 Value row = add(p.c.row, i), column = add(p.c.column, j);
                 if (accumulate)
                   sum = add(load(p.c.matrix, {row, column}), sum);
                 if (epilogue)
                   sum = epilogue(sum, i, j);
                 return elementsOf(follower, row, column, sum).front();
               });
}

void KernelBuilder::product(Value panel, const Product &p, Epilogue epilogue) {
  int64_t block = cast<MemRefType>(panel.getType()).getDimSize(0);
  Value zero = index(0), whole = index(block);
  auto only = [&] {
    lastBlock(panel, p, zero, p.depth, p.accumulate, epilogue);
  };
  // The last block may be short, the others are whole.
  auto blocks = [&] {
    Value last = mul(div(sub(p.depth, index(1)), whole), whole);
    productBlock(panel, p, zero, whole, p.accumulate, nullptr);
    if (getConstantIntValue(last) != block)
      loop(whole, last, block, [&](Value start) {
        productBlock(panel, p, start, whole, /*accumulate=*/true, nullptr);
      });
    lastBlock(panel, p, last, sub(p.depth, last), /*accumulate=*/true,
              epilogue);
  };
  if (std::optional<int64_t> depth = getConstantIntValue(p.depth))
    return *depth <= block ? only() : blocks();
  Value isOne =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::ule, p.depth, whole);
  when(isOne, only, blocks);
}
