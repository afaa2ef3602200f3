//===- KernelBuilder.cpp - The words that kernels are written in ----------===//
//
// See KernelBuilder.h.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/KernelBuilder.h"

#include "dialects/Hone/Sizes.h"
#include "passes/kernels/PhiloxKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

double hone::leastOf(Type element) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  return APFloat::getLargest(semantics, /*Negative=*/true).convertToDouble();
}

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

namespace {
/// The elements of a perturbed parameter, or of a direction, where they are
/// read. Values that all elements share are computed where this is made:
/// outside of their loop.
class Direction {
public:
  Direction(KernelBuilder &k, const ParameterView &view, Type type)
      : k(k), type(type), scale(view.scale ? k.load(view.scale, {}) : Value()),
        isAlone(view.isDirection) {
    auto word = [&](int64_t at) { return k.load(view.key, k.index(at)); };
    key = streamKey(k, {word(0), word(1), word(2), word(3)}, view.stream);
  }

  /// Element `index`, of the type, where `stored` is in memory.
  Value at(Value index, Value stored) {
    Value z = randomNormal(k, key, index);
    Value moved = k.convert(type, scale ? k.mul(scale, z) : z);
    return isAlone ? moved : k.add(stored, moved);
  }

private:
  KernelBuilder &k;
  Type type;
  Value scale;
  bool isAlone;
  RandomKey key;
};
} // namespace

Value KernelBuilder::load(Value memref, ValueRange indices) {
  Value element = ScalarBuilder::load(memref, indices);
  return convert(computeType(element.getType()), element);
}

void KernelBuilder::store(Value value, Value memref, ValueRange indices) {
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  ScalarBuilder::store(convert(type, value), memref, indices);
}

Value KernelBuilder::loadAs(Type type, Value memref, ValueRange indices) {
  Value element = convert(type, load(memref, indices));
  ParameterView view = buffers.parameters.lookup(memref);
  if (!view.isRandom())
    return element;
  Value place = index(0);
  for (auto [size, at] :
       llvm::zip_equal(cast<MemRefType>(memref.getType()).getShape(), indices))
    place = add(mul(place, index(size)), at);
  return Direction(*this, view, type).at(place, element);
}

Value KernelBuilder::loadIndex(Value memref, ValueRange indices) {
  return arith::IndexCastOp::create(*this, getIndexType(),
                                    load(memref, indices));
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

Value KernelBuilder::startOf(Value starts, Value row) {
  Value start = loadIndex(starts, row);
  if (!buffers.firstRow)
    return start;
  return arith::MaxSIOp::create(*this, sub(start, buffers.firstRow), index(0));
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

void KernelBuilder::once(function_ref<void()> body) {
  parallel(index(1), {}, [&](Value, ValueRange) { body(); });
}

void KernelBuilder::each(ValueRange bounds,
                         function_ref<void(ValueRange)> body) {
  tile::EachOp::create(
      *this, bounds,
      [&](OpBuilder &, Location, ValueRange point) { body(point); });
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

Value KernelBuilder::countIf(Value count, int64_t most,
                             function_ref<Value(Value)> condition) {
  // Sums of ones are exact as far as a float counts.
  Type real = most <= (int64_t(1) << 24) ? Type(getF32Type()) : getF64Type();
  Value one = this->real(real, 1.0), zero = this->real(real, 0.0);
  Value found = reduce(count, tile::Combine::add, real, [&](Value j) -> Value {
    return arith::SelectOp::create(*this, condition(j), one, zero);
  });
  Value word = arith::FPToSIOp::create(*this, getI64Type(), found);
  return arith::IndexCastOp::create(*this, getIndexType(), word);
}

Value KernelBuilder::search(Value from, Value to, int64_t most,
                            function_ref<Value(Value)> isBelow) {
  // As many steps as the longest range needs. Steps after the end repeat the
  // last comparison, which changes nothing.
  Value last = sub(to, index(1)), state[] = {from, to};
  auto halving = scf::ForOp::create(
      *this, index(0), index(llvm::Log2_64_Ceil(most + 1)), index(1), state,
      [&](OpBuilder &, Location, Value, ValueRange range) {
        Value half = min(div(add(range[0], range[1]), index(2)), last);
        Value below = isBelow(half), next = add(half, index(1));
        Value narrower[] = {
            arith::SelectOp::create(*this, below, next, range[0]),
            arith::SelectOp::create(*this, below, range[1], half)};
        scf::YieldOp::create(*this, narrower);
      });
  return halving.getResult(0);
}

/// Runs body(first, count) for blocks of rows, in parallel.
static void forEachRowBlock(KernelBuilder &k,
                            function_ref<void(Value, Value)> body) {
  int64_t most = k.blocks().rowGroup;
  k.parallel(k.ceilDiv(k.rows(), most), {}, [&](Value block, ValueRange) {
    Value first = k.mul(block, k.index(most));
    body(first, k.min(k.index(most), k.sub(k.rows(), first)));
  });
}

void KernelBuilder::forEachRow(function_ref<void(Value)> body) {
  forEachRowBlock(*this, [&](Value first, Value count) {
    each(count, [&](ValueRange i) { body(add(first, i[0])); });
  });
}

void KernelBuilder::forEachHead(int64_t heads,
                                function_ref<void(Value, Value)> body) {
  if (heads == 1)
    return forEachRow([&](Value row) { body(row, index(0)); });
  forEachRowBlock(*this, [&](Value first, Value count) {
    each({count, index(heads)},
         [&](ValueRange point) { body(add(first, point[0]), point[1]); });
  });
}

/// Columns of a piece of a row: four elements for each thread of a workgroup.
static constexpr int64_t kPieceColumns = 1024;

void KernelBuilder::forEachElement(int64_t columns,
                                   function_ref<void(Value, Value)> body) {
  // A target that cuts rows has many workgroups at a time, whose threads have
  // elements one after another: each gets a piece of a row.
  if (blocks().rows) {
    int64_t most = std::min(columns, kPieceColumns);
    int64_t pieces = llvm::divideCeil(columns, most);
    Value width = index(most), count = index(pieces);
    return parallel(mul(rows(), count), {}, [&](Value i, ValueRange) {
      Value row = div(i, count), from = mul(rem(i, count), width);
      Value size =
          columns % most ? min(width, sub(index(columns), from)) : width;
      map(size, [&](ValueRange point) { body(row, add(from, point[0])); });
    });
  }
  forEachRowBlock(*this, [&](Value first, Value count) {
    map({count, index(columns)},
        [&](ValueRange point) { body(add(first, point[0]), point[1]); });
  });
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

int64_t KernelBuilder::blockColumns(Type element) const {
  return settings.blocks.columns * 32 / element.getIntOrFloatBitWidth();
}

void KernelBuilder::forEachTile(Type element, const Tiling &tiling,
                                function_ref<void(const Tile &)> body) {
  Type sumType = computeType(element);
  int64_t width = blockColumns(sumType, tiling.columns);
  if (tiling.columnBlock)
    width = std::min(width, tiling.columnBlock);
  int64_t count = llvm::divideCeil(tiling.columns, width);
  int64_t height = tiling.rowBlock;
  auto limit = [&](int64_t most) {
    height = height ? std::min(height, most) : most;
  };
  if (settings.blocks.rows)
    limit(settings.blocks.rows);
  SmallVector<MemRefType, 2> memory;
  const bool hasOwnSums = sumType != element && !tiling.parts;
  if (hasOwnSums) {
    if (rowMaximum > settings.blocks.sumRows)
      limit(settings.blocks.sumRows);
    int64_t rows = height ? std::min(height, rowMaximum) : rowMaximum;
    memory.push_back(MemRefType::get({rows, width}, sumType));
  }
  if (tiling.scratch)
    memory.push_back(tiling.scratch);
  // Rows of a single tile are not counted at run time: one tile stays visible
  // as a constant.
  if (getConstantIntValue(tiling.rows).value_or(height + 1) <= height)
    height = 0;
  Value zero = index(0);
  Value tiles = index(count);
  if (height)
    tiles = mul(ceilDiv(tiling.rows, height), tiles);
  int64_t parts = 1;
  if (tiling.parts) {
    parts =
        cast<MemRefType>(tiling.parts.getType()).getDimSize(1) / tiling.columns;
    tiles = mul(tiles, index(parts));
  }
  parallel(tiles, memory, [&](Value i, ValueRange own) {
    Value part;
    if (tiling.parts) {
      part = rem(i, index(parts));
      i = div(i, index(parts));
    }
    Tile tile{zero,
              tiling.rows,
              zero,
              index(tiling.columns),
              width,
              tiling.terms,
              tiling.mayRound && rounds(sumType),
              hasOwnSums ? own.front() : Value(),
              tiling.scratch ? own.back() : Value(),
              tiling.parts,
              part,
              parts};
    Value j = i;
    if (height) {
      int64_t band = settings.blocks.bandTiles;
      Value inBand = index(band * count);
      Value row = div(i, inBand);
      j = rem(i, inBand);
      if (band > 1) {
        row = mul(row, index(band));
        Value high = min(index(band), sub(ceilDiv(tiling.rows, height), row));
        row = add(row, rem(j, high));
        j = div(j, high);
      }
      tile.row = mul(row, index(height));
      tile.rows = min(index(height), sub(tiling.rows, tile.row));
    }
    if (count > 1) {
      tile.column = mul(j, index(width));
      tile.columns = tiling.columns % width == 0
                         ? index(width)
                         : min(index(width), sub(tile.columns, tile.column));
    }
    body(tile);
  });
}

KernelBuilder::Product KernelBuilder::productFor(const Tile &tile, Value c,
                                                 const Piece &a, const Piece &w,
                                                 Value depth) const {
  Product product{
      {c, tile.row, tile.column}, a,         w, tile.rows, tile.columns, depth,
      tile.mostColumns,           tile.terms};
  product.rounded = tile.rounded;
  product.sums = tile.sums;
  product.padded = static_cast<bool>(tile.sums);
  return product;
}

void KernelBuilder::takePart(Product &product, const Tile &tile,
                             int64_t depth) {
  int64_t stages = llvm::divideCeil(depth, kPartTerms);
  int64_t terms = std::min<int64_t>(
      depth, kPartTerms * llvm::divideCeil(stages, tile.partCount));
  Value from = min(mul(tile.part, index(terms)), index(depth));
  auto advance = [&](Value &place) { place = add(place, from); };
  advance(product.transposeA ? product.a.row : product.a.column);
  advance(product.transposeW ? product.w.column : product.w.row);
  product.depth = min(index(terms), sub(index(depth), from));
  int64_t columns = cast<MemRefType>(tile.parts.getType()).getDimSize(1);
  Value before = mul(tile.part, index(columns / tile.partCount));
  product.c = {tile.parts, tile.row, add(before, tile.column)};
}

void KernelBuilder::joinParts(Value parts, Value c, Epilogue epilogue) {
  int64_t columns = cast<MemRefType>(c.getType()).getDimSize(1);
  int64_t all = cast<MemRefType>(parts.getType()).getDimSize(1);
  forEachElement(columns, [&](Value row, Value column) {
    Value sum = load(parts, {row, column});
    for (int64_t from = columns; from < all; from += columns)
      sum = add(sum, load(parts, {row, add(column, index(from))}));
    if (epilogue)
      sum = epilogue(sum, row, column);
    if (!follower)
      return store(sum, c, {row, column});
    store(followed(sum, c, row, column), buffer(follower->getResult(0)),
          {row, column});
  });
  wasFollowed = bool(follower);
}

IntegerAttr KernelBuilder::bitsOf(const ParameterView &view) {
  return view.isPacked() ? getI64IntegerAttr(view.bits) : IntegerAttr();
}

void KernelBuilder::readRow(Value to, Value matrix, Value row, Value column,
                            Value count, bool release) {
  ParameterView view = buffers.parameters.lookup(matrix);
  tile::ReadRowOp::create(*this, to, matrix, row, column, count, release,
                          view.scales, view.biases, bitsOf(view));
  if (!view.isRandom())
    return;
  Type element = cast<MemRefType>(to.getType()).getElementType();
  Value columns = index(cast<MemRefType>(matrix.getType()).getDimSize(1));
  Direction direction(*this, view, element);
  Value first = add(mul(row, columns), column), zero = index(0);
  map(count, [&](ValueRange j) {
    Value read = direction.at(add(first, j[0]), load(to, {zero, j[0]}));
    store(read, to, {zero, j[0]});
  });
}

void KernelBuilder::release(Value matrix, Value row, Value count) {
  ParameterView view = buffers.parameters.lookup(matrix);
  for (Value tensor : {matrix, view.scales, view.biases})
    if (tensor)
      tile::ReleaseOp::create(*this, tensor, row, count);
}

static bool isBFloat16(Value matrix) {
  return cast<MemRefType>(matrix.getType()).getElementType().isBF16();
}

bool KernelBuilder::roundsThin(Value a, Value w) const {
  return settings.roundsProducts && settings.roundsThinProducts &&
         isBFloat16(a) && isBFloat16(w);
}

bool KernelBuilder::sumsRowsInAnyOrder(Value a, Value w) const {
  return settings.roundsProducts && settings.roundsThinProducts &&
         isBFloat16(a) != isBFloat16(w);
}

Value KernelBuilder::followed(Value sum, Value c, Value row, Value column) {
  // It sees the value that would have been stored.
  Type stored = cast<MemRefType>(c.getType()).getElementType();
  Value known = convert(sum.getType(), convert(stored, sum));
  return elementsOf(follower, row, column, known).front();
}

void KernelBuilder::product(const Product &p, Epilogue epilogue) {
  ParameterView view = buffers.parameters.lookup(p.w.matrix);
  Type stored = cast<MemRefType>(p.c.matrix.getType()).getElementType();
  Type element = computeType(stored);
  // Values that all elements of the parameter share are computed outside of
  // their loop.
  std::optional<Direction> direction;
  Value wColumns;
  if (view.isRandom()) {
    direction.emplace(*this, view, element);
    wColumns = index(cast<MemRefType>(p.w.matrix.getType()).getDimSize(1));
  }
  bool isFollowed = follower && p.completes;
  Value into;
  if (isFollowed)
    into = buffer(follower->getResult(0));
  else if (p.sums && p.completes)
    into = p.c.matrix;
  Value intoAt[] = {p.c.row, p.c.column};
  Piece c = p.sums ? Piece{p.sums, index(0), index(0)} : p.c;
  // A step along a direction is smaller than bfloat16 can resolve.
  bool rounded = p.rounded && !view.isRandom();
  auto product = tile::ProductOp::create(
      *this, c.matrix, c.row, c.column, p.a.matrix, p.a.row, p.a.column,
      p.w.matrix, p.w.row, p.w.column, p.rows, p.columns, p.depth, p.terms,
      p.mostColumns, p.accumulate, p.transposeA, p.transposeW, rounded,
      settings.addsInAnyOrder || p.anyOrder, p.readAhead, p.fewRows, p.padded,
      into, into ? ValueRange(intoAt) : ValueRange(), view.scales, view.biases,
      bitsOf(view));
  auto fillRegion = [&](Region &region, Epilogue body) {
    OpBuilder::InsertionGuard guard(*this);
    Block *block =
        createBlock(&region, {}, {element, getIndexType(), getIndexType()},
                    {getLoc(), getLoc(), getLoc()});
    Value result = body(block->getArgument(0), block->getArgument(1),
                        block->getArgument(2));
    tile::YieldOp::create(*this, result);
  };
  if (direction)
    fillRegion(product.getPrologue(),
               [&](Value stored, Value row, Value column) {
                 Value place = add(mul(row, wColumns), column);
                 return direction->at(place, stored);
               });
  if (!isFollowed) {
    if (epilogue)
      fillRegion(product.getEpilogue(), epilogue);
    return;
  }
  wasFollowed = true;
  fillRegion(product.getEpilogue(), [&](Value sum, Value i, Value j) {
    if (epilogue)
      sum = epilogue(sum, i, j);
    return followed(sum, p.c.matrix, add(p.c.row, i), add(p.c.column, j));
  });
}
