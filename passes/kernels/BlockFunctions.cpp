//===- BlockFunctions.cpp - A block as one function of tile ops -----------===//
//
// Which op has which kernel is a closed set: an op without one is an error that
// names it.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/BlockFunctions.h"

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

MemRefType hone::bufferType(Type type, int64_t maxRows) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = maxRows;
  return MemRefType::get(shape, tensor.getElementType());
}

SmallVector<StoredTensor, 3> hone::storedTensors(ParameterOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (op.getTrainable())
    return {{"", type}};
  return storedTensors(type, op.getStoredAttr());
}

BlockInterface hone::describeBlock(BlockOp block) {
  BlockInterface interface;
  for (Operation &op : block.getBody().front()) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      interface.parameters.insert({parameter.getName(), parameter});
    else if (auto input = dyn_cast<InputOp>(op))
      interface.inputs.insert({input.getName(), input});
    else if (auto gradient = dyn_cast<GradientOp>(op))
      interface.gradients.insert({gradient.getOf(), gradient});
  }
  return interface;
}

static FunctionType functionType(BlockOp block, const BlockInterface &interface,
                                 int64_t maxRows) {
  MLIRContext *context = block.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> inputs = {pointer, IndexType::get(context), pointer};
  auto append = [&](Type type) { inputs.push_back(bufferType(type, maxRows)); };
  llvm::for_each(block.getArgumentTypes(), append);
  for (const auto &[name, op] : interface.parameters)
    for (const StoredTensor &tensor : storedTensors(op))
      append(tensor.type);
  for (const auto &[name, op] : interface.inputs)
    append(InputOp(op).getType());
  llvm::for_each(block.getResultTypes(), append);
  for (const auto &[name, op] : interface.gradients)
    append(GradientOp(op).getValue().getType());
  return FunctionType::get(context, inputs, {});
}

Value hone::viewAt(OpBuilder &builder, Location loc, Value base, int64_t offset,
                   MemRefType type) {
  Value bytes = arith::ConstantIndexOp::create(builder, loc, offset);
  return tile::ViewOp::create(builder, loc, type, base, bytes);
}

/// Emits the kernel of one op that computes.
static LogicalResult emitCompute(Operation &op, KernelBuilder &k) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<EmbeddingOp, RmsNormOp, RmsNormAdjointOp, RmsNormTangentOp, RopeOp,
            SwigluOp, SwigluAdjointOp, SwigluTangentOp, AddOp, ScaleOp, DotOp,
            LinearOp, LinearAdjointOp, LoraLinearOp, LoraLinearAdjointOp,
            LoraParameterAdjointOp, LoraParameterTangentOp, AttentionOp,
            AttentionAdjointOp, AttentionTangentOp, LinearCrossEntropyOp,
            LinearCrossEntropyTangentOp>([&](auto typed) {
        emitKernel(typed, k);
        return success();
      })
      .Default([](Operation *op) {
        return op->emitOpError("expects a kernel in passes/kernels but none "
                               "is known for this op");
      });
}

/// Makes views of the op's results and workspace in the block's scratch.
static LogicalResult placeOp(Operation &op, Value scratch, int64_t maxRows,
                             OpBuilder &builder, Buffers &buffers) {
  auto slots = op.getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  for (OpResult result : op.getResults()) {
    if (buffers.ofValue.contains(result) || buffers.sinks.contains(result))
      continue;
    unsigned i = result.getResultNumber();
    auto slot =
        slots && i < slots.size() ? dyn_cast<SlotAttr>(slots[i]) : SlotAttr();
    if (!slot)
      return op.emitOpError("expects a slot for result #")
             << i << "; run hone-place first";
    buffers.ofValue[result] =
        viewAt(builder, op.getLoc(), scratch, slot.getOffset(),
               bufferType(result.getType(), maxRows));
  }

  auto owner = dyn_cast<WorkspaceOpInterface>(op);
  if (!owner)
    return success();
  SmallVector<MemRefType> types = owner.getWorkspace(maxRows);
  auto places =
      op.getAttrOfType<ArrayAttr>(HoneDialect::getWorkspaceAttrName());
  if (types.size() != (places ? places.size() : 0))
    return op.emitOpError("expects a slot for each of its ")
           << types.size() << " workspace buffers; run hone-place first";
  SmallVector<Value> &views = buffers.workspaces[&op];
  for (auto [i, type] : llvm::enumerate(types))
    views.push_back(viewAt(builder, op.getLoc(), scratch,
                           cast<SlotAttr>(places[i]).getOffset(), type));
  return success();
}

/// A value that is only added to one gradient, by an op that can add.
static bool isOnlyAddedToGradient(GradientOp gradient) {
  return gradient.getValue().getDefiningOp<LoraParameterAdjointOp>() &&
         gradient.getValue().hasOneUse();
}

LogicalResult hone::createBlockFunction(BlockOp block,
                                        const BlockInterface &interface,
                                        const TileOptions &options) {
  int64_t maxRows = options.maxRows;
  OpBuilder builder(block);
  auto function =
      func::FuncOp::create(builder, block.getLoc(), block.getSymName(),
                           functionType(block, interface, maxRows));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  ValueRange arguments = entry->getArguments();
  Value rows = arguments[1], scratch = arguments[2];
  arguments = arguments.drop_front(3);
  auto next = [&] {
    Value argument = arguments.front();
    arguments = arguments.drop_front();
    return argument;
  };
  Block &body = block.getBody().front();
  Buffers buffers;
  llvm::StringMap<Value> parameters, inputs, gradients;
  for (Value argument : body.getArguments())
    buffers.ofValue[argument] = next();
  for (const auto &[name, op] : interface.parameters) {
    Value numbers = parameters[name] = next();
    if (StorageAttr storage = ParameterOp(op).getStoredAttr();
        storage && storage.isGrouped()) {
      Value scales = next(), biases = next();
      buffers.groups[numbers] = {scales, biases, storage.getBits()};
    }
  }
  for (const auto &[name, op] : interface.inputs)
    inputs[name] = next();
  for (Value result : body.getTerminator()->getOperands())
    buffers.ofValue[result] = next();
  for (const auto &[name, op] : interface.gradients)
    gradients[name] = next();
  for (Operation &op : body) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      buffers.ofValue[parameter.getResult()] = parameters[parameter.getName()];
    else if (auto input = dyn_cast<InputOp>(op))
      buffers.ofValue[input.getResult()] = inputs[input.getName()];
    else if (auto gradient = dyn_cast<GradientOp>(op);
             gradient && isOnlyAddedToGradient(gradient))
      buffers.sinks[gradient.getValue()] = gradients[gradient.getOf()];
  }

  for (Operation &op : body) {
    if (isa<ParameterOp, InputOp, ReturnOp>(op))
      continue;
    if (failed(placeOp(op, scratch, maxRows, builder, buffers)))
      return failure();
    KernelBuilder kernel(op.getLoc(), builder, buffers, options.panelBytes,
                         rows, maxRows);
    auto gradient = dyn_cast<GradientOp>(op);
    if (!gradient && failed(emitCompute(op, kernel)))
      return failure();
    if (gradient && !buffers.sinks.contains(gradient.getValue()))
      emitGradientSum(kernel.buffer(gradient.getValue()),
                      gradients[gradient.getOf()], kernel);
    builder.setInsertionPointToEnd(entry);
  }
  func::ReturnOp::create(builder, block.getLoc());
  return success();
}
