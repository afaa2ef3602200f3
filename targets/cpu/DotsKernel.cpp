//===- DotsKernel.cpp - A row times rows of a matrix where they are -------===//
//
// Lanes are words of a row, so the matrix is read in the order of memory. A
// word holds neighbouring numbers; the row that multiplies them is first dealt
// out in the same way, so that number j of all words meets one vector of it.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/LoopLowering.h"
#include "targets/cpu/PointerBuilder.h"
#include "targets/cpu/TransposeNetwork.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t kLineBytes = 64, kWordBytes = 4;

/// Bytes that are multiplied in the time of a miss, at least.
static constexpr int64_t kAheadBytes = 4096;

/// "tile_dots_int4_g64_f32_896_64_accumulate"
static std::string nameOf(const DotsShape &shape) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "tile_dots_" << shape.w.name() << "_" << shape.a << "_" << shape.terms
     << "_" << shape.columns;
  if (shape.accumulates)
    os << "_accumulate";
  return name;
}

/// Rows of w that share the loads of a's row.
static int64_t rowsAtATime(int64_t columns) {
  return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
}

namespace {

/// Emits the body of one kernel.
class DotsEmitter {
public:
  DotsEmitter(OpBuilder &b, Location loc, const DotsShape &shape,
              unsigned mostLanes, ValueRange arguments)
      : p(b, loc), b(b), loc(loc), shape(shape),
        source(b, loc, shape.w, b.getF32Type(), {}), perWord(source.perWord()),
        lanes(lanesFor(mostLanes)), vector(VectorType::get(lanes, element())),
        rows(rowsAtATime(shape.columns)),
        rowBytes(shape.terms * shape.w.numberBits() / 8), a(arguments[0]),
        w(arguments[1]), scratch(arguments.drop_back().back()),
        sums(arguments.back()),
        tables(arguments.slice(2, arguments.size() - 4)) {}

  void emit();

private:
  Type element() const { return b.getF32Type(); }
  int64_t lanesFor(int64_t most) const;
  /// Vectors of words in a row, and the words that are left.
  int64_t wholeVectors() const { return rowBytes / kWordBytes / lanes; }
  int64_t restWords() const { return rowBytes / kWordBytes % lanes; }
  Value arranged(Value index);
  Value extend(Value narrow);
  Value load(Type number, Value pointer, int64_t count);
  void arrange(Value index, int64_t words);
  Value groupsOf(Value table, Value row, Value index, int64_t words);
  SmallVector<Value> add(Value column, Value index, int64_t words,
                         ValueRange totals);
  /// How far ahead memory is asked: whole passes.
  int64_t rowsAhead() const {
    return rows * llvm::divideCeil(kAheadBytes, rows * rowBytes);
  }
  void prefetch(Value pointer, Value byte);
  void request(Value column, Value index);
  void requestGroups(Value column);
  void multiply(Value column);

  PointerBuilder p;
  OpBuilder &b;
  Location loc;
  const DotsShape &shape;
  PanelSource source;
  int64_t perWord, lanes;
  VectorType vector;
  int64_t rows, rowBytes;
  Value a, w, scratch, sums;
  ValueRange tables; ///< scales and biases, or nothing
};

} // namespace

/// As many that a vector of words lies in one group or has whole ones.
int64_t DotsEmitter::lanesFor(int64_t most) const {
  auto fits = [&](int64_t numbers) {
    return shape.w.group % numbers == 0 || numbers % shape.w.group == 0;
  };
  while (shape.w.isPacked() && !fits(most * perWord))
    most /= 2;
  return most;
}

/// Where the row's numbers for a vector of words are: a vector for each place
/// in a word, and if w is packed, one with their sums.
Value DotsEmitter::arranged(Value index) {
  int64_t vectors = perWord + (shape.w.isPacked() ? 1 : 0);
  return p.at(element(), scratch, p.multiply(index, p.word(vectors * lanes)));
}

/// Fills lanes up with zeros.
Value DotsEmitter::extend(Value narrow) {
  auto type = cast<VectorType>(narrow.getType());
  int64_t count = type.getNumElements();
  if (count == lanes)
    return narrow;
  Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  SmallVector<int64_t> indices;
  for (int64_t lane = 0; lane < lanes; ++lane)
    indices.push_back(std::min(lane, count));
  return vector::ShuffleOp::create(b, loc, narrow, zero, indices);
}

/// `count` numbers, of which there may be fewer than lanes, or none.
Value DotsEmitter::load(Type number, Value pointer, int64_t count) {
  if (count <= 0)
    return arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  auto type = VectorType::get(std::min(count, lanes), number);
  Value loaded = LLVM::LoadOp::create(b, loc, type, pointer, /*alignment=*/1);
  if (number != element() && !number.isInteger())
    loaded = arith::ExtFOp::create(b, loc, type.clone(element()), loaded);
  return extend(loaded);
}

/// Deals the numbers of a's row out for vector `index` of words.
void DotsEmitter::arrange(Value index, int64_t words) {
  Value first = p.multiply(index, p.word(lanes * perWord));
  SmallVector<Value> numbers;
  for (int64_t at = 0; at < lanes * perWord; at += lanes)
    numbers.push_back(load(shape.a, p.at(shape.a, a, p.add(first, p.word(at))),
                           words * perWord - at));
  TransposeNetwork network(b, loc, lanes, element().getIntOrFloatBitWidth());
  numbers = network.deal(numbers, /*unit=*/1);
  if (shape.w.isPacked()) {
    Value sum = numbers[0];
    for (Value next : ArrayRef(numbers).drop_front())
      sum = arith::AddFOp::create(b, loc, sum, next);
    numbers.push_back(sum);
  }
  Value to = arranged(index);
  for (auto [place, number] : llvm::enumerate(numbers))
    p.store(number, p.at(element(), to, p.word(place * lanes)));
}

/// The scale or bias of each lane's group.
Value DotsEmitter::groupsOf(Value table, Value row, Value index,
                            int64_t words) {
  int64_t group = shape.w.group;
  Value first = p.divide(p.multiply(index, p.word(lanes * perWord)), group);
  Value at = p.at(element(), table,
                  p.add(p.multiply(row, p.word(shape.terms / group)), first));
  int64_t count = std::max<int64_t>(words * perWord / group, 1);
  Value loaded = p.load(VectorType::get(count, element()), at);
  SmallVector<int64_t> indices;
  for (int64_t lane = 0; lane < lanes; ++lane)
    indices.push_back(std::min(lane * perWord / group, count - 1));
  return vector::ShuffleOp::create(b, loc, loaded, loaded, indices);
}

/// Adds the products of vector `index` of words to `totals`, one for each row
/// from `column` on.
SmallVector<Value> DotsEmitter::add(Value column, Value index, int64_t words,
                                    ValueRange totals) {
  SmallVector<Value> places, loaded;
  for (int64_t r = 0; r < rows; ++r) {
    places.push_back(p.add(column, p.word(r)));
    Value byte = p.add(p.multiply(places[r], p.word(rowBytes)),
                       p.multiply(index, p.word(lanes * kWordBytes)));
    loaded.push_back(load(b.getI32Type(), p.at(b.getI8Type(), w, byte), words));
  }
  SmallVector<Value> result = llvm::to_vector(totals), products = result;
  bool isPacked = shape.w.isPacked();
  Value from = arranged(index);
  auto arrangedAt = [&](int64_t place) {
    return p.load(vector, p.at(element(), from, p.word(place * lanes)));
  };
  for (int64_t place = 0; place < perWord; ++place) {
    Value x = arrangedAt(place);
    for (int64_t r = 0; r < rows; ++r) {
      Value number = isPacked ? source.integer(loaded[r], place)
                              : source.number(loaded[r], place, {});
      products[r] = isPacked && place == 0
                        ? arith::MulFOp::create(b, loc, number, x).getResult()
                        : vector::FMAOp::create(b, loc, number, x, products[r])
                              .getResult();
    }
  }
  if (!isPacked)
    return products;
  Value sum = arrangedAt(perWord);
  for (int64_t r = 0; r < rows; ++r) {
    auto scaled = [&](Value table, Value factor) {
      result[r] = vector::FMAOp::create(
          b, loc, groupsOf(table, places[r], index, words), factor, result[r]);
    };
    scaled(tables[0], products[r]);
    scaled(tables[1], sum);
  }
  return result;
}

/// Into the second-level cache.
void DotsEmitter::prefetch(Value pointer, Value byte) {
  LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), pointer, byte), /*rw=*/0,
                         /*hint=*/2, /*cache=*/1);
}

/// Asks for as many bytes as vector `index` of words has in all rows, those of
/// a few rows further on: in order of memory, where the processor's own
/// prefetching can follow.
void DotsEmitter::request(Value column, Value index) {
  int64_t bytes = rows * lanes * kWordBytes;
  Value first =
      p.add(p.multiply(p.add(column, p.word(rowsAhead())), p.word(rowBytes)),
            p.multiply(index, p.word(bytes)));
  for (int64_t line = 0; line < bytes; line += kLineBytes)
    prefetch(w, p.add(first, p.word(line)));
}

/// Asks for the scales and biases of these rows.
void DotsEmitter::requestGroups(Value column) {
  int64_t bytes = shape.terms / shape.w.group * sizeof(float);
  Value first = p.multiply(p.add(column, p.word(rowsAhead())), p.word(bytes));
  for (Value table : tables)
    p.loop(p.word(0), p.word(rows * bytes), kLineBytes,
           [&](Value line) { prefetch(table, p.add(first, line)); });
}

/// The sums of the rows from `column` on.
void DotsEmitter::multiply(Value column) {
  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  Value whole = p.word(wholeVectors());
  if (shape.w.isPacked())
    requestGroups(column);
  auto loop = scf::ForOp::create(
      b, loc, p.word(0), whole, p.word(1), SmallVector<Value>(rows, zero),
      [&](OpBuilder &, Location, Value index, ValueRange totals) {
        request(column, index);
        scf::YieldOp::create(b, loc, add(column, index, lanes, totals));
      });
  SmallVector<Value> totals(loop.getResults());
  if (restWords() != 0)
    totals = add(column, whole, restWords(), totals);
  for (auto [r, total] : llvm::enumerate(totals)) {
    Value sum = joinLanes(b, loc, tile::Combine::add, total);
    Value place = p.at(element(), sums, p.add(column, p.word(r)));
    if (shape.accumulates)
      sum = arith::AddFOp::create(b, loc, p.load(element(), place), sum);
    p.store(sum, place);
  }
}

void DotsEmitter::emit() {
  p.loop(p.word(0), p.word(wholeVectors()), 1,
         [&](Value index) { arrange(index, lanes); });
  if (restWords() != 0)
    arrange(p.word(wholeVectors()), restWords());
  p.loop(p.word(0), p.word(shape.columns), rows,
         [&](Value column) { multiply(column); });
  func::ReturnOp::create(b, loc);
}

func::FuncOp KernelLibrary::dots(const DotsShape &shape) {
  OpBuilder b(module.getContext());
  SmallVector<Type> arguments(shape.w.isPacked() ? 6 : 4,
                              LLVM::LLVMPointerType::get(module.getContext()));
  auto [function, isNew] = declare(b, nameOf(shape), arguments);
  if (isNew)
    DotsEmitter(b, function.getLoc(), shape, cpu.lanes(kWordBytes * 8),
                function.getArguments())
        .emit();
  return function;
}
