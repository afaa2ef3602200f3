//===- ScalarEntries.cpp - A function of scalars as an item's code --------===//
//
// The formula stays as it was written. The entry loads its arguments from where
// the interpreter says they are, and stores its results. Both run on the host.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/BlockFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

/// Marks `function` and its callees.
static void runOnHost(func::FuncOp function) {
  if (function->hasAttr(tile::TileDialect::kHostAttrName))
    return;
  function->setAttr(tile::TileDialect::kHostAttrName,
                    UnitAttr::get(function.getContext()));
  auto module = function->getParentOfType<ModuleOp>();
  function.walk([&](func::CallOp call) {
    runOnHost(module.lookupSymbol<func::FuncOp>(call.getCallee()));
  });
}

void hone::createScalarEntry(ScalarOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = scalarEntryName(op.getFunction());
  if (module.lookupSymbol(name))
    return;
  auto callee = module.lookupSymbol<func::FuncOp>(op.getFunction());
  Location loc = op.getLoc();
  OpBuilder builder(callee);
  auto function =
      func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
  function->setAttr(tile::TileDialect::kEntryAttrName, builder.getUnitAttr());
  function->setAttr(tile::TileDialect::kHostAttrName, builder.getUnitAttr());
  runOnHost(callee);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  int64_t next = 0;
  auto view = [&](Type type) -> Value {
    return tile::ArgumentOp::create(builder, loc,
                                    bufferType(type, /*maxRows=*/0), next++);
  };
  auto isVector = [](Type type) {
    return cast<RankedTensorType>(type).getRank() > 0;
  };
  SmallVector<Value> arguments, results;
  for (Type type : op.getOperandTypes()) {
    Value from = view(type);
    arguments.push_back(
        isVector(type) ? from : memref::LoadOp::create(builder, loc, from));
  }
  for (Type type : op.getResultTypes()) {
    Value to = view(type);
    (isVector(type) ? arguments : results).push_back(to);
  }
  auto call = func::CallOp::create(builder, loc, callee, arguments);
  for (auto [value, to] : llvm::zip_equal(call.getResults(), results))
    memref::StoreOp::create(builder, loc, value, to);
  func::ReturnOp::create(builder, loc);
}
