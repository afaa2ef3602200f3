//===- DotsKernel.cpp - A row times rows of a matrix where they are -------===//
//
// Lanes are rows of the matrix: 128 bits of each are transposed in registers
// and multiplied as they come out, so a sum is the chain that it would be with
// a panel. Two vectors of rows at a time: one chain alone would wait for
// itself.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"
#include "targets/cpu/TransposeNetwork.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Vectors of rows that are multiplied side by side.
static constexpr unsigned kStrips = 2;

static constexpr int64_t kLineBytes = 64;

/// "tile_dots_int4_g64_896_64_accumulate"
static std::string nameOf(const DotsShape &shape) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "tile_dots_" << shape.w.name() << "_" << shape.terms;
  if (shape.block < shape.terms)
    os << "_by_" << shape.block;
  os << "_" << shape.columns;
  if (shape.accumulates)
    os << "_accumulate";
  return name;
}

namespace {

/// Emits the body of one kernel.
class DotsEmitter {
public:
  DotsEmitter(OpBuilder &b, Location loc, const DotsShape &shape,
              unsigned lanes, ValueRange arguments)
      : p(b, loc), b(b), loc(loc), shape(shape), element(b.getF32Type()),
        vector(VectorType::get(lanes, element)), lanes(lanes),
        strips(shape.columns % (kStrips * lanes) == 0 ? kStrips : 1),
        network(b, loc, lanes, 32), source(b, loc, shape.w, element, {}),
        rowBytes(shape.terms * shape.w.numberBits() / 8), a(arguments[0]),
        w(arguments[1]), sums(arguments.back()),
        tables(arguments.slice(2, arguments.size() - 3)) {}

  void emit();

private:
  /// Of the rows of one pass.
  struct Pass {
    Value column;              ///< of the sums, and row of w
    Value rows;                ///< their first byte
    SmallVector<Value> groups; ///< memory for scales and for biases
  };
  SmallVector<Value> chunksOf(Value first, int64_t rowBytes);
  void copyGroups(const Pass &pass, Value first, Value end);
  Value groupAt(Value table, unsigned strip, Value group, Value first);
  ValueRange emitBlock(const Pass &pass, Value from, Value to);
  void prefetch(Value pointer, Value byte);
  void request(const Pass &pass, Value byte);
  void requestGroups(const Pass &pass);

  int64_t groupsOfRow() const { return shape.terms / shape.w.group; }

  PointerBuilder p;
  OpBuilder &b;
  Location loc;
  const DotsShape &shape;
  Type element;
  VectorType vector;
  unsigned lanes, strips;
  TransposeNetwork network;
  PanelSource source;
  int64_t rowBytes;
  Value a, w, sums;
  ValueRange tables; ///< scales and biases, or nothing
};

} // namespace

/// Words of `lanes` rows at `first`, a vector for each of their places.
SmallVector<Value> DotsEmitter::chunksOf(Value first, int64_t rowBytes) {
  auto words = VectorType::get(network.chunk(), b.getI32Type());
  SmallVector<Value> rows;
  for (unsigned r = 0; r < lanes; ++r)
    rows.push_back(LLVM::LoadOp::create(
        b, loc, words, p.at(b.getI8Type(), first, p.word(r * rowBytes)),
        /*alignment=*/1));
  return network.transposeChunks(rows);
}

/// Where the lanes' scales or biases of `group` are, in memory whose first
/// group is `first`. A chunk that is read may begin before it.
Value DotsEmitter::groupAt(Value table, unsigned strip, Value group,
                           Value first) {
  Value slot = p.add(p.subtract(group, first), p.word(network.chunk()));
  Value place = p.add(p.multiply(slot, p.word(strips)), p.word(strip));
  return p.at(element, table, p.multiply(place, p.word(lanes)));
}

/// Copies the groups first..end of the rows, each a vector for the lanes.
void DotsEmitter::copyGroups(const Pass &pass, Value first, Value end) {
  int64_t chunk = network.chunk();
  p.loop(first, end, chunk, [&](Value group) {
    // The last chunk is a whole one, too.
    Value from = p.minimum(group, p.word(groupsOfRow() - chunk));
    for (auto [table, copy] : llvm::zip_equal(tables, pass.groups))
      for (unsigned s = 0; s < strips; ++s) {
        Value row = p.add(pass.column, p.word(s * lanes));
        Value at = p.at(element, table,
                        p.add(p.multiply(row, p.word(groupsOfRow())), from));
        int64_t bytes = groupsOfRow() * element.getIntOrFloatBitWidth() / 8;
        for (auto [i, words] : llvm::enumerate(chunksOf(at, bytes)))
          p.store(words, groupAt(copy, s, p.add(from, p.word(i)), first));
      }
  });
}

/// Into the second-level cache.
void DotsEmitter::prefetch(Value pointer, Value byte) {
  LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), pointer, byte), /*rw=*/0,
                         /*hint=*/2, /*cache=*/1);
}

/// While bytes from `byte` on of all rows are multiplied, asks for as many of
/// the rows behind them: those in order of memory, where the processor's own
/// prefetching can follow.
void DotsEmitter::request(const Pass &pass, Value byte) {
  int64_t rows = strips * lanes, chunkBytes = network.chunk() * 4;
  Value next = p.add(p.multiply(byte, p.word(rows)), p.word(rows * rowBytes));
  for (int64_t line = 0; line < rows * chunkBytes; line += kLineBytes)
    prefetch(pass.rows, p.add(next, p.word(line)));
}

/// Asks for all scales and biases of the rows behind those of this pass.
void DotsEmitter::requestGroups(const Pass &pass) {
  int64_t rowBytes = groupsOfRow() * element.getIntOrFloatBitWidth() / 8;
  int64_t rows = strips * lanes;
  Value next = p.multiply(p.add(pass.column, p.word(rows)), p.word(rowBytes));
  for (Value table : tables)
    p.loop(p.word(0), p.word(rows * rowBytes), kLineBytes,
           [&](Value line) { prefetch(table, p.add(next, line)); });
}

/// One sum of the terms from..to for each lane of each strip.
ValueRange DotsEmitter::emitBlock(const Pass &pass, Value from, Value to) {
  const int64_t perWord = source.perWord();
  const int64_t unit = network.chunk() * perWord;
  Value firstGroup;
  if (shape.w.isPacked()) {
    firstGroup = p.divide(from, shape.w.group);
    copyGroups(pass, firstGroup, p.ceilDivide(to, shape.w.group));
  }
  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  auto body = [&](OpBuilder &, Location, Value term, ValueRange inner) {
    Value byte = p.divide(p.multiply(term, p.word(shape.w.numberBits())), 8);
    request(pass, byte);
    Value at = p.at(b.getI8Type(), pass.rows, byte);
    SmallVector<SmallVector<Value>> words;
    SmallVector<PanelSource::Groups> groups(strips);
    for (unsigned s = 0; s < strips; ++s) {
      words.push_back(chunksOf(
          p.at(b.getI8Type(), at, p.word(s * lanes * rowBytes)), rowBytes));
      if (!firstGroup)
        continue;
      Value group = p.divide(term, shape.w.group);
      auto load = [&](Value table) {
        return p.load(vector, groupAt(table, s, group, firstGroup));
      };
      groups[s] = {load(pass.groups[0]), load(pass.groups[1])};
    }
    SmallVector<Value> result = llvm::to_vector(inner);
    for (int64_t t = 0; t < unit; ++t) {
      Value x = p.load(element, p.at(element, a, p.add(term, p.word(t))));
      Value broadcast = vector::BroadcastOp::create(b, loc, vector, x);
      for (unsigned s = 0; s < strips; ++s) {
        Value number =
            source.number(words[s][t / perWord], t % perWord, groups[s]);
        result[s] = vector::FMAOp::create(b, loc, broadcast, number, result[s]);
      }
    }
    scf::YieldOp::create(b, loc, result);
  };
  return scf::ForOp::create(b, loc, from, to, p.word(unit),
                            SmallVector<Value>(strips, zero), body)
      .getResults();
}

void DotsEmitter::emit() {
  Pass pass;
  if (shape.w.isPacked()) {
    int64_t groups = llvm::divideCeil(shape.block, shape.w.group) + 1;
    int64_t size = (groups + 2 * network.chunk()) * strips * lanes;
    for (size_t i = 0; i < tables.size(); ++i)
      pass.groups.push_back(LLVM::AllocaOp::create(
          b, loc, sums.getType(), element, p.word(size), /*alignment=*/64));
  }
  p.loop(p.word(0), p.word(shape.columns), strips * lanes, [&](Value column) {
    pass.column = column;
    pass.rows = p.at(b.getI8Type(), w, p.multiply(column, p.word(rowBytes)));
    if (shape.w.isPacked())
      requestGroups(pass);
    SmallVector<Value> places, start;
    for (unsigned s = 0; s < strips; ++s) {
      places.push_back(p.at(element, sums, p.add(column, p.word(s * lanes))));
      if (shape.accumulates)
        start.push_back(p.load(vector, places.back()));
    }
    auto add = [&](ValueRange totals, ValueRange block) {
      SmallVector<Value> result = llvm::to_vector(block);
      if (!totals.empty())
        for (auto [total, sum] : llvm::zip_equal(totals, result))
          sum = arith::AddFOp::create(b, loc, total, sum);
      return result;
    };
    int64_t first = std::min(shape.block, shape.terms);
    SmallVector<Value> totals =
        add(start, emitBlock(pass, p.word(0), p.word(first)));
    if (first < shape.terms) {
      auto blocks = scf::ForOp::create(
          b, loc, p.word(first), p.word(shape.terms), p.word(shape.block),
          totals, [&](OpBuilder &, Location, Value from, ValueRange inner) {
            Value to = p.minimum(p.add(from, p.word(shape.block)),
                                 p.word(shape.terms));
            scf::YieldOp::create(b, loc, add(inner, emitBlock(pass, from, to)));
          });
      totals.assign(blocks.result_begin(), blocks.result_end());
    }
    for (auto [total, place] : llvm::zip_equal(totals, places))
      p.store(total, place);
  });
  func::ReturnOp::create(b, loc);
}

func::FuncOp KernelLibrary::dots(const DotsShape &shape, unsigned lanes) {
  OpBuilder b(module.getContext());
  SmallVector<Type> arguments(shape.w.isPacked() ? 5 : 3,
                              LLVM::LLVMPointerType::get(module.getContext()));
  auto [function, isNew] = declare(b, nameOf(shape), arguments);
  if (isNew)
    DotsEmitter(b, function.getLoc(), shape, lanes, function.getArguments())
        .emit();
  return function;
}
