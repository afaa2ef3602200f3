//===- ContractKernel.cpp - The register tile of a matrix product ---------===//
//
// All accumulators live in registers across the k loop. It is deliberately not
// unrolled: measured, that gains nothing, and out-of-order cores see through
// the loop anyway. Each sum is one chain of fused multiply-adds over ascending
// k, so results do not depend on the tile that a row falls into.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

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

/// Names the shape of a kernel: "f32", "bf16".
static std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

func::FuncOp KernelLibrary::contract(Type element, unsigned lanes,
                                     unsigned vectors) {
  unsigned rows = contractRows(vectors);
  std::string name = ("tile_contract_" + Twine(nameOf(element)) + "_" +
                      Twine(rows) + "x" + Twine(vectors * lanes))
                         .str();
  OpBuilder b(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = b.getI64Type();
  auto [function, isNew] =
      declare(b, name, {pointer, i64, i64, i64, pointer, i64, i64, pointer});
  if (!isNew)
    return function;

  Location loc = function.getLoc();
  PointerBuilder p(b, loc);
  Value a = function.getArgument(0), aRow = function.getArgument(1),
        aK = function.getArgument(2), validRows = function.getArgument(3),
        panel = function.getArgument(4), ld = function.getArgument(5),
        k = function.getArgument(6), out = function.getArgument(7);
  auto vector = VectorType::get(lanes, element);

  SmallVector<Value> rowPointers;
  Value lastRow = p.subtract(validRows, p.word(1));
  for (unsigned r = 0; r < rows; ++r)
    rowPointers.push_back(
        p.at(element, a, p.multiply(p.minimum(p.word(r), lastRow), aRow)));

  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  SmallVector<Value> accumulators(rows * vectors, zero);
  auto loop = scf::ForOp::create(
      b, loc, p.word(0), k, p.word(1), accumulators,
      [&](OpBuilder &, Location, Value kk, ValueRange sums) {
        Value panelRow = p.at(element, panel, p.multiply(kk, ld));
        SmallVector<Value> columns;
        for (unsigned v = 0; v < vectors; ++v)
          columns.push_back(
              p.load(vector, p.at(element, panelRow, p.word(v * lanes))));
        Value step = p.multiply(kk, aK);
        SmallVector<Value> next;
        for (unsigned r = 0; r < rows; ++r) {
          Value x = p.load(element, p.at(element, rowPointers[r], step));
          Value broadcast = vector::BroadcastOp::create(b, loc, vector, x);
          for (unsigned v = 0; v < vectors; ++v)
            next.push_back(vector::FMAOp::create(b, loc, broadcast, columns[v],
                                                 sums[r * vectors + v]));
        }
        scf::YieldOp::create(b, loc, next);
      });
  for (auto [i, sum] : llvm::enumerate(loop.getResults()))
    p.store(sum, p.at(element, out, p.word(i * lanes)));
  func::ReturnOp::create(b, loc);
  return function;
}
