//===- TeamBuilder.cpp - Code that threads run together -------------------===//

#include "targets/gpu/TeamBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone::simt;

KernelState::KernelState(mlir::gpu::GPUFuncOp kernel,
                         const DeviceFeatures &device)
    : device(device), kernel(kernel) {
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  thread = mlir::gpu::ThreadIdOp::create(b, loc, mlir::gpu::Dimension::x);
  lane = mlir::gpu::LaneIdOp::create(b, loc, /*upper_bound=*/nullptr);
  subgroup = mlir::gpu::SubgroupIdOp::create(b, loc, /*upper_bound=*/nullptr);
}

Value KernelState::scratch(MemRefType type, unsigned number) {
  Value &buffer = buffers[{type, number}];
  if (!buffer)
    buffer = kernel.addWorkgroupAttribution(sharedType(type), kernel.getLoc());
  return buffer;
}

Value KernelState::stages(int64_t bytes) {
  auto typeOf = [&](int64_t size) {
    Type byte = IntegerType::get(kernel.getContext(), 8);
    return sharedType(MemRefType::get(size, byte));
  };
  if (!staged)
    staged = kernel.addWorkgroupAttribution(typeOf(bytes), kernel.getLoc());
  if (cast<MemRefType>(staged.getType()).getNumElements() < bytes)
    staged.setType(typeOf(bytes));
  return staged;
}

/// Tells LLVM to leave the loop as it is.
static void keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto stays = LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true),
                                         {}, {}, {}, {}, {}, {});
  // Upstream hands an LLVM attribute of a loop on to its branch, by its name.
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       context, {}, {}, {}, stays, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}));
}

SmallVector<Value>
TeamBuilder::fold(Value from, Value to, int64_t step, ValueRange values,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      *this, from, to, index(step), values,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        scf::YieldOp::create(*this, body(i, carried));
      });
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> TeamBuilder::foldRolled(
    Value from, Value to, int64_t step, ValueRange values,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  SmallVector<Value> results = fold(from, to, step, values, body);
  keepRolled(results.front().getDefiningOp<scf::ForOp>());
  return results;
}

void TeamBuilder::loopRolled(Value from, Value to,
                             function_ref<void(Value)> body) {
  keepRolled(
      scf::ForOp::create(*this, from, to, index(1), ValueRange(),
                         [&](OpBuilder &, Location, Value i, ValueRange) {
                           body(i);
                           scf::YieldOp::create(*this);
                         }));
}

SmallVector<Value>
TeamBuilder::deal(Value count, ValueRange values,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  return fold(team.member(), count, team.size(), values, body);
}

void TeamBuilder::deal(Value count, function_ref<void(Value)> body) {
  loop(team.member(), count, team.size(), body);
}

void TeamBuilder::once(function_ref<void()> body) {
  when(isEqual(team.member(), index(0)), body);
}

SmallVector<Value> TeamBuilder::alone(TypeRange results,
                                      function_ref<SmallVector<Value>()> body) {
  auto region = scf::ExecuteRegionOp::create(*this, results);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&region.getRegion().emplaceBlock());
  scf::YieldOp::create(*this, body());
  return llvm::to_vector_of<Value>(region.getResults());
}

Value TeamBuilder::isLess(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, a, b);
}

Value TeamBuilder::isEqual(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, b);
}

Value TeamBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value TeamBuilder::shuffle(Value value, int32_t offset,
                           mlir::gpu::ShuffleMode mode) {
  return mlir::gpu::ShuffleOp::create(*this, value, offset, kLanes, mode)
      .getShuffleResult();
}

Value TeamBuilder::exchange(Value value, int32_t distance) {
  return shuffle(value, distance, mlir::gpu::ShuffleMode::XOR);
}

Value TeamBuilder::fromFirstLane(Value value) {
  return shuffle(value, 0, mlir::gpu::ShuffleMode::IDX);
}
