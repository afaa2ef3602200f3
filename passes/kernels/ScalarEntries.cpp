//===- ScalarEntries.cpp - A function of scalars as an item's code --------===//
//
// The formula stays as it was written; what is made here loads its arguments
// from where the interpreter says they are, and stores its results.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/BlockFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

void hone::createScalarEntry(ScalarOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = scalarEntryName(op.getFunction());
  if (module.lookupSymbol(name))
    return;
  auto callee = module.lookupSymbol<func::FuncOp>(op.getFunction());
  Location loc = op.getLoc();
  OpBuilder builder(callee);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType({pointer, pointer}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  int32_t next = 0;
  auto view = [&](Type type) -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                        body->getArgument(1),
                                        ArrayRef<LLVM::GEPArg>{next++});
    Value base = LLVM::LoadOp::create(builder, loc, pointer, address);
    return viewAt(builder, loc, base, 0, bufferType(type, /*maxRows=*/0));
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
