//===- OutlineParallel.cpp - Parallel loops become tasks of the pool ------===//
//
// The closure lives on the caller's stack: hone_parallel_for returns only when
// all iterations have ended. Constants are cloned and not captured, because
// the passes that follow need to see them.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/host/Frame.h"
#include "targets/host/HostPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace hone {
#define GEN_PASS_DEF_SIZESCRATCH
#define GEN_PASS_DEF_OUTLINEPARALLEL
#include "targets/host/HostPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static constexpr int64_t kBufferAlignment = 64;

static int64_t sizeInBytes(MemRefType type) {
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return llvm::alignTo((bits + 7) / 8, kBufferAlignment);
}

/// Bytes of thread scratch that `loop` uses.
static int64_t scratchBytes(tile::ParallelOp loop) {
  int64_t bytes = 0;
  for (BlockArgument buffer : loop.getPrivateBuffers())
    bytes += sizeInBytes(cast<MemRefType>(buffer.getType()));
  return bytes;
}

/// The type that carries a value of `type` in the closure, or null.
static Type closureType(Type type) {
  MLIRContext *context = type.getContext();
  if (type.isIndex())
    return IntegerType::get(context, 64);
  if (isa<MemRefType, tile::MemoryType>(type))
    return LLVM::LLVMPointerType::get(context);
  if (isa<FloatType, IntegerType, LLVM::LLVMPointerType>(type))
    return type;
  return {};
}

namespace {

/// Builds the two ends of one loop: the task and the call.
class TaskOutliner {
public:
  TaskOutliner(tile::ParallelOp loop, int64_t threadBytes)
      : loop(loop), threadBytes(threadBytes), loc(loop.getLoc()),
        pointer(LLVM::LLVMPointerType::get(loop.getContext())),
        word(IntegerType::get(loop.getContext(), 64)) {}

  LogicalResult outline(LLVM::LLVMFuncOp parallelFor, StringRef name);

private:
  /// "BLOCK: OP SITE", as profiles show it.
  std::string kernelName();
  LogicalResult capture();
  LLVM::LLVMFuncOp buildTask(StringRef name);
  void buildCall(LLVM::LLVMFuncOp parallelFor, LLVM::LLVMFuncOp task);

  Value frame() {
    return loop->getParentOfType<FunctionOpInterface>().getArgument(0);
  }
  Value closureField(OpBuilder &b, Value closure, int32_t field) {
    return LLVM::GEPOp::create(b, loc, pointer, closureStruct, closure,
                               ArrayRef<LLVM::GEPArg>{0, field});
  }

  tile::ParallelOp loop;
  int64_t threadBytes;
  Location loc;
  Type pointer, word;
  SmallVector<Value> captured;
  SmallVector<Operation *> constants;
  LLVM::LLVMStructType closureStruct;
};

} // namespace

LogicalResult TaskOutliner::capture() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  // Field 0 is the frame, which the task needs for its scratch anyway.
  captured.push_back(frame());
  for (Value value : used) {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(op);
    else if (value != frame())
      captured.push_back(value);
  }
  SmallVector<Type> fields;
  for (Value value : captured) {
    Type field = closureType(value.getType());
    if (!field)
      return loop.emitOpError("cannot capture a value of type ")
             << value.getType();
    fields.push_back(field);
  }
  closureStruct = LLVM::LLVMStructType::getLiteral(loop.getContext(), fields);
  return success();
}

std::string TaskOutliner::kernelName() {
  StringRef function = loop->getParentOfType<FunctionOpInterface>().getName();
  function.consume_front("hone_entry_");
  std::string name = (function + ":").str();
  for (auto named = dyn_cast<NameLoc>(loc); named;
       named = dyn_cast<NameLoc>(named.getChildLoc()))
    name += (" " + named.getName().getValue()).str();
  return name;
}

LLVM::LLVMFuncOp TaskOutliner::buildTask(StringRef name) {
  Operation *function = loop->getParentOfType<FunctionOpInterface>();
  OpBuilder b(function);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(loop.getContext()), {pointer, word, word});
  auto task =
      LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
  task.setPassthroughAttr(
      b.getArrayAttr(b.getStrArrayAttr({kKernelAttrName, kernelName()})));
  Block *entry = task.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Type index = b.getIndexType();

  IRMapping mapping;
  for (Operation *constant : constants)
    b.clone(*constant, mapping);
  Value zero;
  for (auto [i, value] : llvm::enumerate(captured)) {
    Value address = closureField(b, entry->getArgument(0), i);
    Value field =
        LLVM::LoadOp::create(b, loc, closureStruct.getBody()[i], address);
    if (value.getType().isIndex())
      field = arith::IndexCastOp::create(b, loc, index, field);
    if (isa<MemRefType>(value.getType())) {
      if (!zero)
        zero = arith::ConstantIndexOp::create(b, loc, 0);
      field = tile::ViewOp::create(b, loc, value.getType(),
                                   memoryAt(b, loc, field), zero);
    }
    if (isa<tile::MemoryType>(value.getType()))
      field = memoryAt(b, loc, field);
    mapping.map(value, field);
  }

  mapping.map(loop.getIndex(),
              arith::IndexCastOp::create(b, loc, index, entry->getArgument(1)));
  if (!loop.getPrivateBuffers().empty()) {
    Value scratch = memoryAt(b, loc,
                             loadFrameField(b, loc, mapping.lookup(frame()),
                                            FrameField::ThreadScratch));
    Value thread =
        arith::IndexCastOp::create(b, loc, index, entry->getArgument(2));
    Value stride = arith::ConstantIndexOp::create(b, loc, threadBytes);
    Value start = arith::MulIOp::create(b, loc, thread, stride);
    int64_t offset = 0;
    for (BlockArgument buffer : loop.getPrivateBuffers()) {
      Value delta = arith::ConstantIndexOp::create(b, loc, offset);
      Value at = arith::AddIOp::create(b, loc, start, delta);
      mapping.map(buffer,
                  tile::ViewOp::create(b, loc, buffer.getType(), scratch, at));
      offset += sizeInBytes(cast<MemRefType>(buffer.getType()));
    }
  }
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, mapping);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  return task;
}

void TaskOutliner::buildCall(LLVM::LLVMFuncOp parallelFor,
                             LLVM::LLVMFuncOp task) {
  auto function = loop->getParentOfType<FunctionOpInterface>();
  // In the entry block, or a loop around this one would grow the stack.
  OpBuilder b(loop.getContext());
  b.setInsertionPointToStart(&function.getFunctionBody().front());
  Value one = LLVM::ConstantOp::create(b, loc, word, b.getI64IntegerAttr(1));
  Value closure = LLVM::AllocaOp::create(b, loc, pointer, closureStruct, one);

  b.setInsertionPoint(loop);
  for (auto [i, value] : llvm::enumerate(captured)) {
    Value field = value;
    if (value.getType().isIndex())
      field = arith::IndexCastOp::create(b, loc, word, value);
    if (isa<MemRefType>(value.getType())) {
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
      field = arith::IndexCastOp::create(b, loc, word, address);
      field = LLVM::IntToPtrOp::create(b, loc, pointer, field);
    }
    if (isa<tile::MemoryType>(value.getType()))
      field = pointerTo(b, loc, field);
    LLVM::StoreOp::create(b, loc, field, closureField(b, closure, i));
  }
  Value pool = loadFrameField(b, loc, frame(), FrameField::Pool);
  Value entry = LLVM::AddressOfOp::create(b, loc, task);
  Value count = arith::IndexCastOp::create(b, loc, word, loop.getCount());
  LLVM::CallOp::create(b, loc, parallelFor,
                       ValueRange{pool, entry, closure, count});
}

LogicalResult TaskOutliner::outline(LLVM::LLVMFuncOp parallelFor,
                                    StringRef name) {
  if (failed(capture()))
    return failure();
  buildCall(parallelFor, buildTask(name));
  loop.erase();
  return success();
}

bool hone::isTask(FunctionOpInterface function) {
  auto attributes = function->getAttrOfType<ArrayAttr>("passthrough");
  return attributes && llvm::any_of(attributes, [](Attribute attribute) {
           auto pair = dyn_cast<ArrayAttr>(attribute);
           return pair && !pair.empty() &&
                  pair[0] ==
                      StringAttr::get(pair.getContext(), kKernelAttrName);
         });
}

static LLVM::LLVMFuncOp declareParallelFor(ModuleOp module) {
  static constexpr StringLiteral name = "hone_parallel_for";
  if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return declared;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                  {pointer, pointer, pointer, b.getI64Type()});
  return LLVM::LLVMFuncOp::create(b, module.getLoc(), name, type);
}

namespace {

struct SizeScratch : public hone::impl::SizeScratchBase<SizeScratch> {
  void runOnOperation() override {
    int64_t threadBytes = 0;
    getOperation().walk([&](tile::ParallelOp loop) {
      threadBytes = std::max(threadBytes, scratchBytes(loop));
    });
    getOperation()->setAttr(
        tile::TileDialect::kThreadBytesAttrName,
        Builder(&getContext()).getI64IntegerAttr(threadBytes));
    markAllAnalysesPreserved();
  }
};

struct OutlineParallel
    : public hone::impl::OutlineParallelBase<OutlineParallel> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<tile::ParallelOp> loops;
    module.walk([&](tile::ParallelOp loop) { loops.push_back(loop); });
    auto threadBytes = module->getAttrOfType<IntegerAttr>(
        tile::TileDialect::kThreadBytesAttrName);
    if (!threadBytes) {
      module.emitError("expects the attribute '")
          << tile::TileDialect::kThreadBytesAttrName
          << "'; run hone-host-size-scratch first";
      return signalPassFailure();
    }
    if (loops.empty())
      return;

    LLVM::LLVMFuncOp parallelFor = declareParallelFor(module);
    llvm::DenseMap<Operation *, unsigned> tasksOf;
    for (tile::ParallelOp loop : loops) {
      auto function = loop->getParentOfType<FunctionOpInterface>();
      std::string name = (function.getName() + ".task" +
                          Twine(tasksOf[function.getOperation()]++))
                             .str();
      TaskOutliner outliner(loop, threadBytes.getInt());
      if (failed(outliner.outline(parallelFor, name)))
        return signalPassFailure();
    }
  }
};

} // namespace
