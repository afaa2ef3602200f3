//===- OutlineParallel.cpp - Parallel loops become tasks of the pool ------===//
//
// A task's closure begins with the frame, through which the scratch of its
// thread is found. Constants are cloned and not captured, because the passes
// that follow need to see them.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/host/Frame.h"
#include "targets/host/HostPasses.h"
#include "targets/host/Launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

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

/// The task that runs the body of `loop`, with the values in `closure`.
static LLVM::LLVMFuncOp buildTask(tile::ParallelOp loop, const Closure &closure,
                                  int64_t threadBytes, StringRef name) {
  Location loc = loop.getLoc();
  auto function = loop->getParentOfType<FunctionOpInterface>();
  OpBuilder b(function);
  Type pointer = LLVM::LLVMPointerType::get(loop.getContext());
  Type word = b.getI64Type(), index = b.getIndexType();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(loop.getContext()), {pointer, word, word});
  auto task =
      LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
  task->setAttr(kTaskAttrName, b.getUnitAttr());
  Block *entry = task.addEntryBlock(b);
  b.setInsertionPointToStart(entry);

  IRMapping mapping;
  for (Operation *constant : closure.constants)
    b.clone(*constant, mapping);
  Value zero;
  for (auto [i, value] : llvm::enumerate(closure.captured)) {
    Value address = LLVM::GEPOp::create(
        b, loc, pointer, closure.type, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    Value field =
        LLVM::LoadOp::create(b, loc, closure.type.getBody()[i], address);
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
    Value frame = mapping.lookup(function.getArgument(0));
    Value scratch = memoryAt(
        b, loc, loadFrameField(b, loc, frame, FrameField::ThreadScratch));
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

/// Builds the two ends of one loop: the task called `name`, and its launch.
static LogicalResult outline(tile::ParallelOp loop, int64_t threadBytes,
                             StringRef name) {
  auto function = loop->getParentOfType<FunctionOpInterface>();
  Value frame = function.getArgument(0);
  FailureOr<Closure> closure = Closure::of(loop, frame);
  if (failed(closure))
    return failure();
  OpBuilder b(loop);
  auto [block, kernel] = kernelName(loop);
  uint32_t number = addKernel(
      loop->getParentOfType<ModuleOp>(),
      tile::KernelAttr::get(loop.getContext(), b.getStringAttr(name),
                            b.getStringAttr(block), b.getStringAttr(kernel),
                            /*threads=*/0, /*sharedBytes=*/0,
                            closure->fields(loop, /*begin=*/1)));
  buildTask(loop, *closure, threadBytes, name);
  buildLaunch(b, loop.getLoc(), frame, number, *closure, loop.getCount());
  loop.erase();
  return success();
}

bool hone::isTask(FunctionOpInterface function) {
  return function->hasAttr(kTaskAttrName);
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

    llvm::DenseMap<Operation *, unsigned> tasksOf;
    for (tile::ParallelOp loop : loops) {
      auto function = loop->getParentOfType<FunctionOpInterface>();
      std::string name = (function.getName() + ".task" +
                          Twine(tasksOf[function.getOperation()]++))
                             .str();
      if (failed(outline(loop, threadBytes.getInt(), name)))
        return signalPassFailure();
    }
  }
};

} // namespace
