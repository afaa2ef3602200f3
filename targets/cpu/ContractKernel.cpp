//===- ContractKernel.cpp - The register tile of a matrix product ---------===//
//
// All accumulators live in registers across the k loop and go straight to the
// result. The inner loop is deliberately not unrolled.
// Each sum is one chain of fused multiply-adds over ascending k, so results do
// not depend on the tile that a row falls into. With a panel of pairs the chain
// is one of two-term dot products. Rows that are not of the type that is
// multiplied are converted a few terms at a time, into the nearest cache.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/BFloat16.h"
#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"
#include "targets/cpu/ReadAhead.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Terms between two requests for memory: requests come in small bursts, so
/// that the multiply-adds around them hide the wait. Converting rows needs
/// longer runs.
static constexpr int64_t kTermsPerRequest = 16, kConvertedTerms = 64;

/// Terms that loadRoundedTerms() loads.
static constexpr int64_t kRoundedTerms = 16;
static constexpr int64_t kLineBytes = 64;

/// Where whole tiles end, one or two of at most this many rows follow. A body
/// for each height up to the whole one would be half of a program's code.
static constexpr unsigned kSmallRows = 4;

/// Rows that take more than this come from far away each time.
static constexpr int64_t kNearBytes = 512 * 1024;

std::pair<func::FuncOp, bool>
KernelLibrary::declare(OpBuilder &b, StringRef name, TypeRange inputs) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return {function, false};
  b.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(b, module.getLoc(), name,
                                       b.getFunctionType(inputs, {}));
  function.setPrivate();
  // Inlined, each of these would come back once per product.
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  b.setInsertionPointToStart(function.addEntryBlock());
  return {function, true};
}

/// "tile_contract_f32_6x64_accumulate_addf_j", or of results of bf16
/// "tile_contract_f32_6x64_rounded_addf_ij". Of epilogues that are called
/// alike but are not, all but the first have a number.
std::string KernelLibrary::contractName(const ContractTypes &types,
                                        unsigned rows, unsigned columns,
                                        ContractStore store) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "tile_contract_" << types.panel << "_" << rows << "x" << columns;
  if (types.a != types.sum)
    os << "_from_" << types.a;
  if (types.widensA() && types.transposeA)
    os << "_transposed";
  if (types.depth)
    os << "_of_" << types.depth;
  if (store.accumulates)
    os << "_accumulate";
  if (store.rounds)
    os << "_rounded";
  if (!store.epilogue)
    return name;
  std::string epilogue = store.epilogue->name(), key = store.epilogue->key();
  auto &keys = epilogues[epilogue];
  auto known = llvm::find(keys, key);
  int64_t number = known - keys.begin() + 1;
  if (known == keys.end())
    keys.push_back(key);
  os << epilogue;
  if (number > 1)
    os << "_" << number;
  return name;
}

namespace {

/// Emits the body of one kernel.
class ContractEmitter {
public:
  ContractEmitter(OpBuilder &b, Location loc, const ContractTypes &types,
                  unsigned lanes, unsigned vectors, ContractStore store,
                  ValueRange arguments)
      : p(b, loc), b(b), loc(loc), types(types), element(types.sum),
        stored(store.rounds ? Type(b.getBF16Type()) : element),
        pairs(types.hasPairs()), vector(VectorType::get(lanes, element)),
        lanes(lanes), vectors(vectors),
        termsPerRequest(pairs || types.widensA() ? kConvertedTerms
                                                 : kTermsPerRequest),
        store(store), a(arguments[0]), aRow(arguments[1]), aK(arguments[2]),
        panel(arguments[3]), ld(arguments[4]), k(arguments[5]), c(arguments[6]),
        cRow(arguments[7]), start(arguments[8]), startRow(arguments[9]),
        m(arguments[10]), operands(arguments.drop_front(11).drop_back(4)),
        ahead(ReadAhead::of(arguments)) {}

  void emit(unsigned maxRows);

private:
  /// How rows fall into tiles.
  struct Tiles {
    unsigned maxRows;
    Value whole; ///< tiles of `maxRows`
    Value upper,
        lower; ///< rows of those after them, of which either may have none
    Value count;
  };
  Tiles cutRows(unsigned maxRows);
  void planRequests(const Tiles &tiles);
  /// Pointers to a tile's first row of a, of the result, and of the sums'
  /// start, and its number.
  struct TileStart {
    Value a, c, start, row;
  };
  /// Tile number `number`, of `rows` rows.
  void emitTileOfAnyHeight(const Tiles &tiles, const TileStart &at, Value rows,
                           Value number);
  void emitTile(unsigned rows, const TileStart &at, Value firstRequest);
  Value select(arith::CmpIPredicate relation, Value x, Value y, Value then,
               Value otherwise) {
    Value holds = arith::CmpIOp::create(b, loc, relation, x, y);
    return arith::SelectOp::create(b, loc, holds, then, otherwise);
  }
  ValueRange emitBursts(ArrayRef<Value> rowPointers, Value cTile,
                        Value firstRequest, ValueRange start);
  ValueRange emitStart(unsigned rows, Value startTile);
  void requestResult(Value cTile, Value rows);
  void requestSums(unsigned rows, Value cTile, Value request);
  void emitRowRequests(ArrayRef<Value> rowPointers, Value request);
  void roundRows(ArrayRef<Value> rowPointers, Value from, Value terms);
  SmallVector<Value> pairRows(ArrayRef<Value> rowPointers, Value from,
                              Value terms);
  void widenRows(ArrayRef<Value> rowPointers, Value from, Value terms);
  void widenColumns(Value column, unsigned rows, Value from, Value terms);
  ValueRange emitTerms(ArrayRef<Value> rowPointers, Value step, Value panelRow,
                       Value from, Value to, ValueRange sums);
  ValueRange emitWidened(ArrayRef<Value> rowPointers, Value from, Value to,
                         ValueRange sums);
  ValueRange emitPairs(ArrayRef<Value> rowPointers, Value from, Value to,
                       ValueRange sums);
  void emitStore(unsigned rows, Value cTile, Value firstRow, ValueRange sums);

  PointerBuilder p;
  OpBuilder &b;
  Location loc;
  ContractTypes types;
  Type element; ///< types.sum
  Type stored;  ///< of results
  bool pairs;
  VectorType vector;
  unsigned lanes, vectors;
  int64_t termsPerRequest;
  ContractStore store;
  Value a, aRow, aK, panel, ld, k, c, cRow, start, startRow, m;
  ValueRange operands; // of the epilogue
  ReadAhead ahead;
  Value requests; // of one row tile
  Value asksForRows;
  Value converted; // termsPerRequest numbers of a for each row, as multiplied
};

} // namespace

ContractEmitter::Tiles ContractEmitter::cutRows(unsigned maxRows) {
  assert(maxRows <= 2 * kSmallRows + 1 && "two small tiles hold the rest");
  Value whole = p.divide(m, maxRows);
  Value rest = p.subtract(m, p.multiply(whole, p.word(maxRows)));
  Value upper = select(arith::CmpIPredicate::sgt, rest, p.word(kSmallRows),
                       p.ceilDivide(rest, 2), rest);
  Value lower = p.subtract(rest, upper);
  Value count = p.add(
      whole, p.add(p.minimum(upper, p.word(1)), p.minimum(lower, p.word(1))));
  return {maxRows, whole, upper, lower, count};
}

void ContractEmitter::planRequests(const Tiles &tiles) {
  const int64_t bytes = types.a.getIntOrFloatBitWidth() / 8;
  requests = types.depth ? p.word(1) : p.ceilDivide(k, termsPerRequest);
  ahead.divide(p, p.multiply(tiles.count, requests),
               tiles.maxRows * termsPerRequest * bytes);
  Value rowBytes = p.multiply(aRow, p.word(bytes));
  asksForRows =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                            p.multiply(m, rowBytes), p.word(kNearBytes));
  if (pairs)
    return;
  // Rows one after the other are one stream, which the processor reads ahead
  // in time; pairs are multiplied faster.
  Value rowsApart =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, aRow, k);
  asksForRows = arith::AndIOp::create(b, loc, rowsApart, asksForRows);
}

void ContractEmitter::emitTileOfAnyHeight(const Tiles &tiles,
                                          const TileStart &at, Value rows,
                                          Value number) {
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
  // Here and not in the cases, where addresses that are known would be kept
  // across the loops.
  if (store.rounds)
    requestResult(at.c, rows);
  if (store.epilogue) {
    EpilogueEmitter epilogue(b, loc, *store.epilogue, operands, at.row, lanes);
    p.loop(p.word(0), rows, 1, [&](Value r) { epilogue.request(r, vectors); });
  }
  int64_t small = std::min(kSmallRows, tiles.maxRows - 1);
  auto cases = llvm::to_vector(llvm::seq<int64_t>(1, small + 1));
  auto branch = scf::IndexSwitchOp::create(b, loc, TypeRange(), index, cases,
                                           cases.size());
  auto emitCase = [&](Region &region, unsigned count) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&region.emplaceBlock());
    emitTile(count, at, p.multiply(number, requests));
    scf::YieldOp::create(b, loc);
  };
  for (auto [height, region] : llvm::zip(cases, branch.getCaseRegions()))
    emitCase(region, height);
  emitCase(branch.getDefaultRegion(), tiles.maxRows);
}

void ContractEmitter::emit(unsigned maxRows) {
  if (pairs || types.widensA())
    converted = LLVM::AllocaOp::create(b, loc, a.getType(), types.panel,
                                       p.word(maxRows * termsPerRequest),
                                       /*alignment=*/64);
  const Tiles tiles = cutRows(maxRows);
  planRequests(tiles);
  // The tile's first rows are carried as pointers: from a row's number, the
  // optimiser would compute its address again for each term.
  auto body = [&](OpBuilder &, Location, Value t, ValueRange at) {
    Value left = select(arith::CmpIPredicate::eq, t, tiles.whole, tiles.upper,
                        tiles.lower);
    Value rows = select(arith::CmpIPredicate::slt, t, tiles.whole,
                        p.word(maxRows), left);
    emitTileOfAnyHeight(tiles, {at[0], at[1], at[2], at[3]}, rows, t);
    Value next[] = {p.at(types.a, at[0], p.multiply(rows, aRow)),
                    p.at(stored, at[1], p.multiply(rows, cRow)),
                    p.at(element, at[2], p.multiply(rows, startRow)),
                    p.add(at[3], rows)};
    scf::YieldOp::create(b, loc, next);
  };
  scf::ForOp::create(b, loc, p.word(0), tiles.count, p.word(1),
                     ValueRange{a, c, start, p.word(0)}, body);
  func::ReturnOp::create(b, loc);
}

/// Asks for the lines that a tile will write. They are another thread's, or far
/// away: stores would wait for them, and all that follows for the stores.
void ContractEmitter::requestResult(Value cTile, Value rows) {
  int64_t bytes = vectors * lanes * stored.getIntOrFloatBitWidth() / 8;
  p.loop(p.word(0), rows, 1, [&](Value r) {
    Value row = p.at(stored, cTile, p.multiply(r, cRow));
    for (int64_t byte = 0; byte < bytes; byte += kLineBytes)
      LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), row, p.word(byte)),
                             /*rw=*/1, /*hint=*/3, /*cache=*/1);
  });
}

/// Asks, before a tile's last terms, for the sums that a long product adds to:
/// at the first ones, the panel would take their place in the nearest cache.
void ContractEmitter::requestSums(unsigned rows, Value cTile, Value request) {
  Value last = p.maximum(p.subtract(requests, p.word(1)), p.word(1));
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, request, last);
  scf::IfOp::create(b, loc, isLast, [&](OpBuilder &, Location) {
    requestResult(cTile, p.word(rows));
    scf::YieldOp::create(b, loc);
  });
}

/// Asks for the same terms of a later tile's rows, each on a page of its own,
/// where the processor does not look ahead. Harmless after the last tile. Of
/// pairs it is the tile after the next, in the second-level cache: the panel
/// runs through the nearest one until then.
void ContractEmitter::emitRowRequests(ArrayRef<Value> rowPointers,
                                      Value request) {
  int64_t rowBytes = termsPerRequest * types.a.getIntOrFloatBitWidth() / 8;
  Value from = p.multiply(p.multiply(request, p.word(termsPerRequest)), aK);
  Value tileRows =
      p.multiply(p.word((pairs ? 2 : 1) * rowPointers.size()), aRow);
  Value offset = p.add(from, tileRows);
  scf::IfOp::create(b, loc, asksForRows, [&](OpBuilder &, Location) {
    for (Value row : rowPointers) {
      Value first = p.at(types.a, row, offset);
      for (int64_t byte = 0; byte < rowBytes; byte += kLineBytes)
        LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), first, p.word(byte)),
                               /*rw=*/0, /*hint=*/pairs ? 2 : 3, /*cache=*/1);
    }
    scf::YieldOp::create(b, loc);
  });
}

/// Adds the products of the terms from..to to the sums: of numbers `step` apart
/// in each row, and of the panel's rows from `panelRow` on.
ValueRange ContractEmitter::emitTerms(ArrayRef<Value> rowPointers, Value step,
                                      Value panelRow, Value from, Value to,
                                      ValueRange sums) {
  auto body = [&](OpBuilder &, Location, Value kk, ValueRange inner) {
    Value panelAt = p.at(element, panelRow, p.multiply(kk, ld));
    SmallVector<Value> columns;
    for (unsigned v = 0; v < vectors; ++v)
      columns.push_back(
          p.load(vector, p.at(element, panelAt, p.word(v * lanes))));
    Value offset = p.multiply(kk, step);
    SmallVector<Value> result;
    for (auto [r, row] : llvm::enumerate(rowPointers)) {
      Value x = p.load(element, p.at(element, row, offset));
      Value broadcast = vector::BroadcastOp::create(b, loc, vector, x);
      for (unsigned v = 0; v < vectors; ++v)
        result.push_back(vector::FMAOp::create(b, loc, broadcast, columns[v],
                                               inner[r * vectors + v]));
    }
    scf::YieldOp::create(b, loc, result);
  };
  return scf::ForOp::create(b, loc, from, to, p.word(1), sums, body)
      .getResults();
}

/// converted[r][t] = row r's term from + t.
void ContractEmitter::widenRows(ArrayRef<Value> rowPointers, Value from,
                                Value terms) {
  auto widen = [&](Value t, Type numbers, Type wide) {
    for (auto [r, row] : llvm::enumerate(rowPointers)) {
      Value narrow = p.load(numbers, p.at(types.a, row, p.add(from, t)));
      p.store(arith::ExtFOp::create(b, loc, wide, narrow),
              p.at(element, converted, p.add(p.word(r * termsPerRequest), t)));
    }
  };
  Value whole = p.multiply(p.divide(terms, lanes), p.word(lanes));
  p.loop(p.word(0), whole, lanes,
         [&](Value t) { widen(t, vector.clone(types.a), vector); });
  p.loop(whole, terms, 1, [&](Value t) { widen(t, types.a, element); });
}

/// converted[t][r] = the same, of rows that are columns in memory.
void ContractEmitter::widenColumns(Value column, unsigned rows, Value from,
                                   Value terms) {
  auto narrow = VectorType::get(rows, types.a);
  p.loop(p.word(0), terms, 1, [&](Value t) {
    Value at = p.at(types.a, column, p.multiply(p.add(from, t), aK));
    p.store(arith::ExtFOp::create(b, loc, narrow.clone(element),
                                  p.load(narrow, at)),
            p.at(element, converted, p.multiply(t, p.word(rows))));
  });
}

/// The same as emitTerms for a narrow `a`.
ValueRange ContractEmitter::emitWidened(ArrayRef<Value> rowPointers, Value from,
                                        Value to, ValueRange sums) {
  Value terms = p.subtract(to, from);
  unsigned rows = rowPointers.size();
  bool byColumns = types.transposeA;
  if (byColumns)
    widenColumns(rowPointers.front(), rows, from, terms);
  else
    widenRows(rowPointers, from, terms);
  SmallVector<Value> wideRows;
  for (unsigned r = 0; r < rows; ++r)
    wideRows.push_back(
        p.at(element, converted, p.word(byColumns ? r : r * termsPerRequest)));
  return emitTerms(wideRows, p.word(byColumns ? rows : 1),
                   p.at(element, panel, p.multiply(from, ld)), p.word(0), terms,
                   sums);
}

/// converted[r][t] = row r's term from + t, zero for terms <= t.
void ContractEmitter::roundRows(ArrayRef<Value> rowPointers, Value from,
                                Value terms) {
  int64_t most = types.depth ? types.depth : termsPerRequest;
  for (int64_t t = 0; t < most; t += kRoundedTerms) {
    Value left = p.subtract(terms, p.word(t));
    for (auto [r, row] : llvm::enumerate(rowPointers)) {
      Value at = p.at(types.a, row, p.add(from, p.word(t)));
      p.store(
          loadRoundedTerms(b, loc, types.a, at, left),
          p.at(b.getBF16Type(), converted, p.word(r * termsPerRequest + t)));
    }
  }
}

/// Where pairs of each row begin. Rows of bf16 are read in place, but for an
/// odd number of terms: the second of the last pair may be anything.
SmallVector<Value> ContractEmitter::pairRows(ArrayRef<Value> rowPointers,
                                             Value from, Value terms) {
  Value copies;
  if (types.a.isBF16()) {
    Value odd = arith::AndIOp::create(b, loc, terms, p.word(1));
    copies =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, odd, p.word(0));
    scf::IfOp::create(b, loc, copies, [&](OpBuilder &, Location) {
      roundRows(rowPointers, from, terms);
      scf::YieldOp::create(b, loc);
    });
  } else {
    roundRows(rowPointers, from, terms);
  }
  SmallVector<Value> rows;
  for (auto [r, row] : llvm::enumerate(rowPointers)) {
    Value copy = p.at(b.getBF16Type(), converted, p.word(r * termsPerRequest));
    rows.push_back(copies ? arith::SelectOp::create(b, loc, copies, copy,
                                                    p.at(types.a, row, from))
                          : copy);
  }
  return rows;
}

/// The same as emitTerms for rounded operands, two terms at a time. `from` is
/// even.
ValueRange ContractEmitter::emitPairs(ArrayRef<Value> rowPointers, Value from,
                                      Value to, ValueRange sums) {
  Value terms = p.subtract(to, from);
  SmallVector<Value> rows = pairRows(rowPointers, from, terms);
  Type pair = b.getI32Type();
  VectorType pairVector = vector.clone(pair);
  auto numbers = VectorType::get(2 * lanes, b.getBF16Type());
  auto bitcast = [&](Value value) -> Value {
    return LLVM::BitcastOp::create(b, loc, numbers, value);
  };
  const std::string product =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(lanes * 32);
  Value firstPair = p.divide(from, 2);
  auto body = [&](OpBuilder &, Location, Value q, ValueRange inner) {
    Value panelRow = p.at(pair, panel, p.multiply(p.add(firstPair, q), ld));
    SmallVector<Value> columns;
    for (unsigned v = 0; v < vectors; ++v)
      columns.push_back(
          bitcast(p.load(pairVector, p.at(pair, panelRow, p.word(v * lanes)))));
    SmallVector<Value> result;
    for (auto [r, row] : llvm::enumerate(rows)) {
      Value numbers = LLVM::LoadOp::create(b, loc, pair, p.at(pair, row, q),
                                           /*alignment=*/2);
      Value x =
          bitcast(vector::BroadcastOp::create(b, loc, pairVector, numbers));
      for (unsigned v = 0; v < vectors; ++v)
        result.push_back(LLVM::CallIntrinsicOp::create(
                             b, loc, vector, b.getStringAttr(product),
                             ValueRange{inner[r * vectors + v], x, columns[v]})
                             .getResult(0));
    }
    scf::YieldOp::create(b, loc, result);
  };
  return scf::ForOp::create(b, loc, p.word(0), p.ceilDivide(terms, 2),
                            p.word(1), sums, body)
      .getResults();
}

void ContractEmitter::emitStore(unsigned rows, Value cTile, Value firstRow,
                                ValueRange sums) {
  std::optional<EpilogueEmitter> epilogue;
  if (store.epilogue)
    epilogue.emplace(b, loc, *store.epilogue, operands, firstRow, lanes);
  for (unsigned r = 0; r < rows; ++r) {
    Value row = p.at(stored, cTile, p.multiply(p.word(r), cRow));
    for (unsigned v = 0; v < vectors; ++v) {
      Value value = sums[r * vectors + v];
      Value at = p.at(stored, row, p.word(v * lanes));
      if (store.accumulates)
        value = arith::AddFOp::create(b, loc, p.load(vector, at), value);
      if (epilogue)
        value = epilogue->apply(value, r, v);
      if (store.rounds)
        value = arith::TruncFOp::create(b, loc, vector.clone(stored), value);
      p.store(value, at);
    }
  }
}

/// The sums of a tile before its first term.
ValueRange ContractEmitter::emitStart(unsigned rows, Value startTile) {
  Value null = LLVM::ZeroOp::create(b, loc, start.getType());
  Value isNull =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, start, null);
  auto zeros = [&](OpBuilder &, Location) {
    Value zero =
        arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
    scf::YieldOp::create(b, loc, SmallVector<Value>(rows * vectors, zero));
  };
  auto loads = [&](OpBuilder &, Location) {
    SmallVector<Value> sums;
    for (unsigned r = 0; r < rows; ++r) {
      Value row = p.at(element, startTile, p.multiply(p.word(r), startRow));
      for (unsigned v = 0; v < vectors; ++v)
        sums.push_back(p.load(vector, p.at(element, row, p.word(v * lanes))));
    }
    scf::YieldOp::create(b, loc, sums);
  };
  return scf::IfOp::create(b, loc, isNull, zeros, loads).getResults();
}

void ContractEmitter::emitTile(unsigned rows, const TileStart &at,
                               Value firstRequest) {
  SmallVector<Value> rowPointers;
  for (unsigned r = 0; r < rows; ++r)
    rowPointers.push_back(p.at(types.a, at.a, p.multiply(p.word(r), aRow)));
  ValueRange start = emitStart(rows, at.start);
  ValueRange sums =
      types.depth
          ? emitPairs(rowPointers, p.word(0), p.word(types.depth), start)
          : emitBursts(rowPointers, at.c, firstRequest, start);
  emitStore(rows, at.c, at.row, sums);
}

/// Adds all products to the sums and asks for memory on the way.
ValueRange ContractEmitter::emitBursts(ArrayRef<Value> rowPointers, Value cTile,
                                       Value firstRequest, ValueRange start) {
  auto burst = scf::ForOp::create(
      b, loc, p.word(0), requests, p.word(1), start,
      [&](OpBuilder &, Location, Value request, ValueRange sums) {
        ahead.emit(b, loc, p.add(firstRequest, request));
        emitRowRequests(rowPointers, request);
        if (pairs && store.accumulates)
          requestSums(rowPointers.size(), cTile, request);
        Value from = p.multiply(request, p.word(termsPerRequest));
        Value to = p.minimum(p.add(from, p.word(termsPerRequest)), k);
        ValueRange next =
            pairs ? emitPairs(rowPointers, from, to, sums)
            : types.widensA()
                ? emitWidened(rowPointers, from, to, sums)
                : emitTerms(rowPointers, aK, panel, from, to, sums);
        scf::YieldOp::create(b, loc, next);
      });
  return burst.getResults();
}

func::FuncOp KernelLibrary::contract(const ContractTypes &types, unsigned lanes,
                                     unsigned vectors, ContractStore store) {
  unsigned rows = contractRows(types, vectors);
  OpBuilder b(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = b.getI64Type();
  SmallVector<Type> arguments = {pointer, i64, i64,     pointer, i64, i64,
                                 pointer, i64, pointer, i64,     i64};
  if (store.epilogue)
    arguments.append(store.epilogue->argumentTypes());
  arguments.append({pointer, i64, i64, i64});
  auto [function, isNew] =
      declare(b, contractName(types, rows, vectors * lanes, store), arguments);
  if (!isNew)
    return function;
  if (usesUnit(types))
    emitMatrixUnitContract(b, function, types, vectors, store.accumulates);
  else
    ContractEmitter(b, function.getLoc(), types, lanes, vectors, store,
                    function.getArguments())
        .emit(rows);
  return function;
}
