//===- VerifyLaunches.cpp - hone-host-verify-launches ---------------------===//
//
// A step that goes on in the middle of an entry calls the entry again, and
// leaves out the launches that ran before. So all that an entry knows between
// two launches must be there again, from memory that no kernel writes.
//
//===----------------------------------------------------------------------===//

#include "targets/host/Frame.h"
#include "targets/host/HostPasses.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYLAUNCHES
#include "targets/host/HostPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static bool isRuntimeCall(LLVM::CallOp call) {
  static constexpr StringLiteral known[] = {"hone_launch",  "hone_prefetch",
                                            "hone_release", "hone_offload",
                                            "hone_reload",  "hone_await"};
  return call.getCallee() && llvm::is_contained(known, *call.getCallee());
}

/// The calls of each function, in order.
using Calls = llvm::StringMap<SmallVector<LLVM::CallOp, 2>>;

static Calls callsOf(ModuleOp module) {
  Calls calls;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    function.walk([&](LLVM::CallOp call) {
      if (call.getCallee())
        calls[*call.getCallee()].push_back(call);
    });
  return calls;
}

/// Functions that launch kernels, themselves or through others: entries, and
/// their callees.
static llvm::SetVector<LLVM::LLVMFuncOp> launchingFunctions(const Calls &all) {
  llvm::SetVector<LLVM::LLVMFuncOp> found;
  auto addCallers = [&](StringRef callee) {
    for (LLVM::CallOp call : all.lookup(callee))
      found.insert(call->getParentOfType<LLVM::LLVMFuncOp>());
  };
  addCallers("hone_launch");
  for (size_t i = 0; i < found.size(); ++i) {
    LLVM::LLVMFuncOp function = found[i];
    addCallers(function.getName());
  }
  return found;
}

/// The value that was put into the struct for `part`.
static Value madeOf(LLVM::ExtractValueOp part) {
  Value container = part.getContainer();
  while (auto insert = container.getDefiningOp<LLVM::InsertValueOp>()) {
    if (insert.getPosition() == part.getPosition())
      return insert.getValue();
    container = insert.getContainer();
  }
  return {};
}

/// The base that an address counts from.
static Value rootOf(Value address) {
  while (Operation *op = address.getDefiningOp()) {
    if (auto gep = dyn_cast<LLVM::GEPOp>(op))
      address = gep.getBase();
    else if (auto part = dyn_cast<LLVM::ExtractValueOp>(op);
             part && madeOf(part))
      address = madeOf(part);
    else
      break;
  }
  return address;
}

static bool isFrame(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && argument.getOwner()->isEntryBlock() &&
         argument.getArgNumber() == 0;
}

/// The field of the frame that `value` was loaded from.
static std::optional<int32_t> loadedField(Value value) {
  auto load = value.getDefiningOp<LLVM::LoadOp>();
  if (!load || !isFrame(rootOf(load.getAddr())))
    return std::nullopt;
  auto gep = load.getAddr().getDefiningOp<LLVM::GEPOp>();
  if (!gep || !isFrame(gep.getBase()) || gep.getIndices().size() != 1)
    return std::nullopt;
  auto index = dyn_cast<IntegerAttr>(gep.getIndices()[0]);
  return index ? std::optional<int32_t>(index.getInt()) : std::nullopt;
}

/// Whether `root` is an argument of `function`, which is no entry, that is an
/// input of the batch wherever it is called. Inputs alone are found through
/// that field: an entry's results are values, in the table that it is called
/// with. No kernel writes an input, since no result has a place there.
static bool isInputOfBatch(Value root, LLVM::LLVMFuncOp function,
                           const Calls &all) {
  auto argument = dyn_cast<BlockArgument>(root);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return false;
  auto calls = all.find(function.getName());
  return calls != all.end() &&
         llvm::all_of(calls->second, [&](LLVM::CallOp call) {
           Value passed = call.getArgOperands()[argument.getArgNumber()];
           return loadedField(rootOf(passed)) == int32_t(FrameField::Batch);
         });
}

/// Whether no kernel writes the memory at `address`.
static bool isConstantMemory(Value address, LLVM::LLVMFuncOp function,
                             const Calls &calls) {
  const auto numbers = int32_t(FrameField::Numbers);
  Value root = rootOf(address);
  if (isFrame(root))
    return true;
  if (isInputOfBatch(root, function, calls))
    return true;
  // The table of values that an entry is called with.
  if (root == function.getArgument(function.getNumArguments() > 1 ? 1 : 0))
    return function.getNumArguments() == 2;
  if (std::optional<int32_t> field = loadedField(root))
    return *field == numbers || *field == int32_t(FrameField::Weights) ||
           *field == int32_t(FrameField::Offsets);
  // A number: it rests while an entry runs that reads it.
  auto load = root.getDefiningOp<LLVM::LoadOp>();
  return load && loadedField(rootOf(load.getAddr())) == numbers;
}

/// Whether all that is written to `space` is a closure for one launch, filled
/// just before it.
static bool isClosure(LLVM::AllocaOp space) {
  SmallVector<Value> addresses = {space.getRes()};
  SmallVector<Operation *> stores;
  Operation *launch = nullptr;
  while (!addresses.empty()) {
    Value address = addresses.pop_back_val();
    for (Operation *user : address.getUsers()) {
      auto store = dyn_cast<LLVM::StoreOp>(user);
      auto call = dyn_cast<LLVM::CallOp>(user);
      if (isa<LLVM::GEPOp>(user))
        addresses.push_back(user->getResult(0));
      else if (store && store.getValue() != address)
        stores.push_back(user);
      else if (call && isRuntimeCall(call) && !launch)
        launch = user;
      else
        return false;
    }
  }
  return launch && llvm::all_of(stores, [&](Operation *store) {
           return store->getBlock() == launch->getBlock() &&
                  store->isBeforeInBlock(launch);
         });
}

static LogicalResult
verifyOp(Operation *op, LLVM::LLVMFuncOp function,
         const llvm::SetVector<LLVM::LLVMFuncOp> &launching, const Calls &calls,
         SymbolTable &symbols) {
  // 1
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    auto callee = call.getCallee()
                      ? symbols.lookup<LLVM::LLVMFuncOp>(*call.getCallee())
                      : nullptr;
    if (isRuntimeCall(call) || (callee && launching.contains(callee)))
      return success();
    return op->emitOpError("expects to be in a kernel: an entry calls only "
                           "functions that launch");
  }
  // 2
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    if (isConstantMemory(load.getAddr(), function, calls))
      return success();
    return op->emitOpError("expects to read memory that no kernel writes: an "
                           "entry's launches may not depend on kernels");
  }
  // 3
  if (auto space = dyn_cast<LLVM::AllocaOp>(op)) {
    if (isClosure(space))
      return success();
    return op->emitOpError("expects to be one launch's closure, filled in its "
                           "block: nothing else is kept between launches");
  }
  // 4
  if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    if (rootOf(store.getAddr()).getDefiningOp<LLVM::AllocaOp>())
      return success();
    return op->emitOpError("expects to be in a kernel: an entry writes "
                           "closures alone");
  }
  if (op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op))
    return success();
  return op->emitOpError("expects to be in a kernel: it touches memory");
}

namespace {

struct VerifyLaunches : public hone::impl::VerifyLaunchesBase<VerifyLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    const Calls calls = callsOf(getOperation());
    const auto launching = launchingFunctions(calls);
    for (LLVM::LLVMFuncOp function : launching) {
      WalkResult walked = function.getBody().walk([&](Operation *op) {
        return failed(verifyOp(op, function, launching, calls, symbols))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
