//===- OutlineKernels.cpp - A host half and a device half -----------------===//
//
// Kernels come first and are spread over threads afterwards: each is a function
// of its own then, which later passes read without the rest of the module.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "passes/module/KernelNames.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace hone {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// A name that every device's language knows as one.
static std::string symbolFor(StringRef function, unsigned number) {
  function.consume_front("hone_entry_");
  std::string name = function.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name + "_" + std::to_string(number);
}

/// "BLOCK: OP SITE", as profiles show it.
static std::string nameFor(StringRef function, Location loc) {
  function.consume_front("hone_entry_");
  return (function + ": " + namesOf(loc)).str();
}

/// Views of a shared buffer are shared.
static void shareViews(Value buffer) {
  for (Operation *user : buffer.getUsers())
    if (auto view = dyn_cast<tile::ViewOp>(user);
        view && view.getBase() == buffer)
      if (auto type = dyn_cast<MemRefType>(view.getType())) {
        view.getPlace().setType(simt::sharedType(type));
        shareViews(view.getPlace());
      }
}

namespace {

class KernelOutliner {
public:
  KernelOutliner(ModuleOp module, mlir::gpu::GPUModuleOp device)
      : symbols(module), device(device), deviceSymbols(device) {}

  void outline(tile::ParallelOp loop, StringRef symbol, StringRef name);

private:
  /// Makes the table that `global` reads a part of the device half.
  void takeAlong(memref::GetGlobalOp global);

  SymbolTable symbols;
  mlir::gpu::GPUModuleOp device;
  SymbolTable deviceSymbols;
};

} // namespace

void KernelOutliner::takeAlong(memref::GetGlobalOp global) {
  if (deviceSymbols.lookup(global.getName()))
    return;
  deviceSymbols.insert(symbols.lookup(global.getName())->clone());
}

void KernelOutliner::outline(tile::ParallelOp loop, StringRef symbol,
                             StringRef name) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  SmallVector<Operation *> copied;
  SmallVector<Value> captured;
  for (Value value : used) {
    Operation *op = value.getDefiningOp();
    if (op &&
        (op->hasTrait<OpTrait::ConstantLike>() || isa<memref::GetGlobalOp>(op)))
      copied.push_back(op);
    else
      captured.push_back(value);
  }

  Location loc = loop.getLoc();
  OpBuilder b(device.getContext());
  b.setInsertionPointToEnd(device.getBody());
  SmallVector<Type> shared;
  for (BlockArgument buffer : loop.getPrivateBuffers())
    shared.push_back(simt::sharedType(cast<MemRefType>(buffer.getType())));
  auto kernel = mlir::gpu::GPUFuncOp::create(
      b, loc, symbol, b.getFunctionType(ValueRange(captured).getTypes(), {}),
      shared);
  kernel->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(),
                  b.getUnitAttr());
  kernel->setAttr(simt::kNameAttrName, b.getStringAttr(name));
  kernel.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(simt::kThreads), 1, 1}));

  b.setInsertionPointToStart(&kernel.getBody().front());
  IRMapping mapping;
  for (Operation *op : copied) {
    b.clone(*op, mapping);
    if (auto global = dyn_cast<memref::GetGlobalOp>(op))
      takeAlong(global);
  }
  for (auto [value, parameter] :
       llvm::zip(captured, kernel.getBody().getArguments()))
    mapping.map(value, parameter);
  mapping.map(loop.getIndex(),
              mlir::gpu::BlockIdOp::create(b, loc, mlir::gpu::Dimension::x));
  for (auto [buffer, attribution] :
       llvm::zip(loop.getPrivateBuffers(), kernel.getWorkgroupAttributions()))
    mapping.map(buffer, attribution);
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, mapping);
  mlir::gpu::ReturnOp::create(b, loc);
  for (BlockArgument buffer : kernel.getWorkgroupAttributions())
    shareViews(buffer);

  b.setInsertionPoint(loop);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value threads = arith::ConstantIndexOp::create(b, loc, simt::kThreads);
  mlir::gpu::LaunchFuncOp::create(
      b, loc, kernel, mlir::gpu::KernelDim3{loop.getCount(), one, one},
      mlir::gpu::KernelDim3{threads, one, one},
      /*dynamicSharedMemorySize=*/Value(), captured);
  loop.erase();
}

/// Reads `table` in `function` in the place of its argument `at`.
static void readTable(func::FuncOp function, unsigned at,
                      memref::GetGlobalOp table) {
  OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
  function.getArgument(at).replaceAllUsesWith(memref::GetGlobalOp::create(
      b, function.getLoc(), table.getType(), table.getName()));
}

/// Lets functions read the tables that their callers hand them: a table is a
/// part of the device half, and its address on the host is of no use there. A
/// function that is given other tables by others becomes one for each.
static LogicalResult sinkTables(ModuleOp module) {
  SymbolTable symbols(module);
  auto tableOf = [](Value value) {
    return value.getDefiningOp<memref::GetGlobalOp>();
  };
  llvm::MapVector<StringRef, SmallVector<func::CallOp>> callsOf;
  module.walk(
      [&](func::CallOp call) { callsOf[call.getCallee()].push_back(call); });
  for (auto &[name, calls] : callsOf) {
    auto callee = symbols.lookup<func::FuncOp>(name);
    if (!callee || callee.isExternal())
      continue;
    SmallVector<unsigned> tables; // which arguments are
    for (unsigned at = 0; at < callee.getNumArguments(); ++at)
      if (llvm::any_of(calls, [&](func::CallOp call) {
            return bool(tableOf(call.getOperand(at)));
          }))
        tables.push_back(at);
    // By the names of the tables; the first is the function itself.
    llvm::MapVector<ArrayAttr, func::FuncOp> variants;
    for (func::CallOp call : calls) {
      SmallVector<Attribute> given;
      for (unsigned at : tables) {
        memref::GetGlobalOp table = tableOf(call.getOperand(at));
        if (!table)
          return call.emitError("expects '")
                 << callee.getSymName()
                 << "' to be called with a table as operand " << at;
        given.push_back(table.getNameAttr());
      }
      if (given.empty())
        break;
      auto [known, isNew] = variants.try_emplace(
          ArrayAttr::get(module.getContext(), given), callee);
      if (isNew && variants.size() > 1) {
        known->second = callee.clone();
        symbols.insert(known->second, std::next(Block::iterator(callee)));
      }
      call.setCallee(known->second.getSymName());
    }
    for (auto &[given, function] : variants)
      for (unsigned at : tables)
        for (func::CallOp call : calls)
          if (call.getCallee() == function.getSymName()) {
            readTable(function, at, tableOf(call.getOperand(at)));
            break;
          }
  }
  return success();
}

namespace {

struct OutlineKernels : public hone::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(sinkTables(module)))
      return signalPassFailure();
    SmallVector<tile::ParallelOp> loops;
    module.walk([&](tile::ParallelOp loop) { loops.push_back(loop); });
    if (loops.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    module->setAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName(),
                    b.getUnitAttr());
    auto device =
        mlir::gpu::GPUModuleOp::create(b, module.getLoc(), simt::kDeviceModule);
    KernelOutliner outliner(module, device);
    llvm::DenseMap<Operation *, unsigned> kernelsOf;
    for (tile::ParallelOp loop : loops) {
      auto function = loop->getParentOfType<FunctionOpInterface>();
      std::string symbol =
          symbolFor(function.getName(), kernelsOf[function.getOperation()]++);
      outliner.outline(loop, symbol,
                       nameFor(function.getName(), loop.getLoc()));
    }
  }
};

} // namespace
