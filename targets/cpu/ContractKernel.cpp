//===- ContractKernel.cpp - The register tile of a matrix product ---------===//
//
// All accumulators live in registers across the k loop and go straight to the
// result. The loop is deliberately not unrolled: measured, that gains nothing.
// Each sum is one chain of fused multiply-adds over ascending k, so results do
// not depend on the tile that a row falls into.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Terms between two requests for memory: requests come in small bursts, so
/// that the multiply-adds around them hide the wait.
static constexpr int64_t kTermsPerRequest = 64;
static constexpr int64_t kLineBytes = 64;

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

func::FuncOp KernelLibrary::external(StringRef name, TypeRange inputs) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return function;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(b, module.getLoc(), name,
                                       b.getFunctionType(inputs, {}));
  function.setPrivate();
  return function;
}

/// "tile_contract_f32_6x64_scaled_add".
static std::string contractName(Type element, unsigned rows, unsigned columns,
                                ContractStore store) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "tile_contract_" << element << "_" << rows << "x" << columns;
  if (store.term == ContractStore::Term::scaled)
    os << "_scaled";
  if (store.term == ContractStore::Term::biased)
    os << "_biased";
  if (store.adds)
    os << "_add";
  return name;
}

namespace {

/// Emits the body of one kernel.
class ContractEmitter {
public:
  ContractEmitter(OpBuilder &b, Location loc, Type element, unsigned lanes,
                  unsigned vectors, ContractStore store, ValueRange arguments)
      : p(b, loc), b(b), loc(loc), element(element),
        vector(VectorType::get(lanes, element)), lanes(lanes), vectors(vectors),
        store(store), a(arguments[0]), aRow(arguments[1]), aK(arguments[2]),
        panel(arguments[3]), ld(arguments[4]), k(arguments[5]), c(arguments[6]),
        cRow(arguments[7]), m(arguments[8]),
        argument(store.hasArgument() ? arguments[9] : Value()),
        next(arguments.take_back(4)[0]), nextRow(arguments.take_back(3)[0]),
        rowLines(arguments.take_back(2)[0]), lines(arguments.back()) {}

  void emit(unsigned maxRows);

private:
  void emitTile(unsigned rows, Value firstRow, Value firstRequest);
  void emitRequests(Value request);
  SmallVector<Value> emitTerm(ArrayRef<Value> rowPointers, Value kk,
                              ValueRange sums);
  void emitStore(unsigned rows, Value firstRow, ValueRange sums);

  PointerBuilder p;
  OpBuilder &b;
  Location loc;
  Type element;
  VectorType vector;
  unsigned lanes, vectors;
  ContractStore store;
  Value a, aRow, aK, panel, ld, k, c, cRow, m, argument;
  Value next, nextRow, rowLines, lines;
  Value requests;        // of one row tile
  Value linesPerRequest; // enough for all of them together
};

} // namespace

void ContractEmitter::emit(unsigned maxRows) {
  Value one = p.word(1);
  Value tiles = p.ceilDivide(m, maxRows);
  Value some = p.maximum(tiles, one);
  Value small = p.divide(m, some);
  Value larger = p.subtract(m, p.multiply(small, some));
  requests = p.ceilDivide(k, kTermsPerRequest);
  linesPerRequest =
      p.ceilDivide(lines, p.maximum(p.multiply(tiles, requests), one));
  p.loop(p.word(0), tiles, 1, [&](Value t) {
    Value firstRow = p.add(p.multiply(t, small), p.minimum(t, larger));
    Value isLarger =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, t, larger);
    Value rows = arith::AddIOp::create(
        b, loc, small,
        arith::ExtUIOp::create(b, loc, b.getI64Type(), isLarger));
    Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
    auto cases = llvm::to_vector(llvm::seq<int64_t>(1, maxRows));
    auto branch = scf::IndexSwitchOp::create(b, loc, TypeRange(), index, cases,
                                             cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (unsigned count = 1; count <= maxRows; ++count) {
      Region &region = count == maxRows ? branch.getDefaultRegion()
                                        : branch.getCaseRegions()[count - 1];
      b.setInsertionPointToStart(&region.emplaceBlock());
      emitTile(count, firstRow, p.multiply(t, requests));
      scf::YieldOp::create(b, loc);
    }
  });
  func::ReturnOp::create(b, loc);
}

/// Asks for the lines of one burst.
void ContractEmitter::emitRequests(Value request) {
  Value first = p.multiply(request, linesPerRequest);
  Value end = p.minimum(p.add(first, linesPerRequest), lines);
  p.loop(first, end, 1, [&](Value line) {
    Value row = p.divide(line, rowLines);
    Value column = p.subtract(line, p.multiply(row, rowLines));
    Value offset =
        p.add(p.multiply(row, nextRow), p.multiply(column, p.word(kLineBytes)));
    // For reading, into the second-level cache.
    LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), next, offset), /*rw=*/0,
                           /*hint=*/2, /*cache=*/1);
  });
}

/// Adds the products of term `kk` to the sums.
SmallVector<Value> ContractEmitter::emitTerm(ArrayRef<Value> rowPointers,
                                             Value kk, ValueRange sums) {
  Value panelRow = p.at(element, panel, p.multiply(kk, ld));
  SmallVector<Value> columns;
  for (unsigned v = 0; v < vectors; ++v)
    columns.push_back(
        p.load(vector, p.at(element, panelRow, p.word(v * lanes))));
  Value step = p.multiply(kk, aK);
  SmallVector<Value> result;
  for (auto [r, row] : llvm::enumerate(rowPointers)) {
    Value x = p.load(element, p.at(element, row, step));
    Value broadcast = vector::BroadcastOp::create(b, loc, vector, x);
    for (unsigned v = 0; v < vectors; ++v)
      result.push_back(vector::FMAOp::create(b, loc, broadcast, columns[v],
                                             sums[r * vectors + v]));
  }
  return result;
}

void ContractEmitter::emitStore(unsigned rows, Value firstRow,
                                ValueRange sums) {
  SmallVector<Value> terms(vectors);
  if (store.term == ContractStore::Term::scaled)
    terms.assign(vectors,
                 vector::BroadcastOp::create(b, loc, vector, argument));
  if (store.term == ContractStore::Term::biased)
    for (unsigned v = 0; v < vectors; ++v)
      terms[v] = p.load(vector, p.at(element, argument, p.word(v * lanes)));
  for (unsigned r = 0; r < rows; ++r) {
    Value row = p.at(element, c, p.multiply(p.add(firstRow, p.word(r)), cRow));
    for (unsigned v = 0; v < vectors; ++v) {
      Value value = sums[r * vectors + v];
      Value at = p.at(element, row, p.word(v * lanes));
      if (store.term == ContractStore::Term::scaled)
        value = arith::MulFOp::create(b, loc, value, terms[v]);
      if (store.term == ContractStore::Term::biased)
        value = arith::AddFOp::create(b, loc, value, terms[v]);
      if (store.adds)
        value = arith::AddFOp::create(b, loc, p.load(vector, at), value);
      p.store(value, at);
    }
  }
}

void ContractEmitter::emitTile(unsigned rows, Value firstRow,
                               Value firstRequest) {
  SmallVector<Value> rowPointers;
  for (unsigned r = 0; r < rows; ++r)
    rowPointers.push_back(
        p.at(element, a, p.multiply(p.add(firstRow, p.word(r)), aRow)));
  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  SmallVector<Value> none(rows * vectors, zero);
  auto burst = scf::ForOp::create(
      b, loc, p.word(0), requests, p.word(1), none,
      [&](OpBuilder &, Location, Value request, ValueRange sums) {
        emitRequests(p.add(firstRequest, request));
        Value from = p.multiply(request, p.word(kTermsPerRequest));
        Value to = p.minimum(p.add(from, p.word(kTermsPerRequest)), k);
        auto terms = scf::ForOp::create(
            b, loc, from, to, p.word(1), sums,
            [&](OpBuilder &, Location, Value kk, ValueRange inner) {
              scf::YieldOp::create(b, loc, emitTerm(rowPointers, kk, inner));
            });
        scf::YieldOp::create(b, loc, terms.getResults());
      });
  emitStore(rows, firstRow, burst.getResults());
}

func::FuncOp KernelLibrary::contract(Type element, unsigned lanes,
                                     unsigned vectors, ContractStore store) {
  unsigned rows = contractRows(vectors);
  OpBuilder b(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = b.getI64Type();
  SmallVector<Type> types = {pointer, i64,     i64, pointer, i64,
                             i64,     pointer, i64, i64};
  if (store.term == ContractStore::Term::scaled)
    types.push_back(element);
  if (store.term == ContractStore::Term::biased)
    types.push_back(pointer);
  types.append({pointer, i64, i64, i64});
  auto [function, isNew] =
      declare(b, contractName(element, rows, vectors * lanes, store), types);
  if (isNew)
    ContractEmitter(b, function.getLoc(), element, lanes, vectors, store,
                    function.getArguments())
        .emit(rows);
  return function;
}
