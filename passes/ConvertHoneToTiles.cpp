//===- ConvertHoneToTiles.cpp - From blocks of tensors to kernels on memory ==//
//
// A block becomes one function whose arguments are all the memory it touches
// outside its scratch; an entry becomes the function that the runtime calls and
// is the only place that knows the arena. Which op has which kernel is a closed
// set: an op without one is an error that names it.
//
//===----------------------------------------------------------------------===//

#include "passes/Lifetimes.h"
#include "passes/ParameterTable.h"
#include "passes/Passes.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_CONVERTTOTILES
#include "passes/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Memory of a tensor: the row count becomes the most rows there may be.
static MemRefType bufferType(Type type, int64_t maxRows) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = maxRows;
  return MemRefType::get(shape, tensor.getElementType());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// What the function of a block takes after frame, rows and scratch: arguments,
/// parameters, inputs, results, gradients; each in order of first use.
struct BlockInterface {
  llvm::MapVector<StringRef, ParameterOp> parameters;
  llvm::MapVector<StringRef, InputOp> inputs;
  llvm::MapVector<StringRef, GradientOp> gradients;
};
} // namespace

static BlockInterface describe(BlockOp block) {
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
    append(ParameterOp(op).getType());
  for (const auto &[name, op] : interface.inputs)
    append(InputOp(op).getType());
  llvm::for_each(block.getResultTypes(), append);
  for (const auto &[name, op] : interface.gradients)
    append(GradientOp(op).getValue().getType());
  return FunctionType::get(context, inputs, {});
}

static Value viewAt(OpBuilder &builder, Location loc, Value base,
                    int64_t offset, MemRefType type) {
  Value bytes = arith::ConstantIndexOp::create(builder, loc, offset);
  return tile::ViewOp::create(builder, loc, type, base, bytes);
}

/// Emits the kernel of one op that computes.
static LogicalResult emitCompute(Operation &op, KernelBuilder &k) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<EmbeddingOp, RmsNormOp, RmsNormAdjointOp, RopeOp, SwigluOp,
            SwigluAdjointOp, AddOp, ScaleOp, LinearOp, LinearAdjointOp,
            LoraLinearOp, LoraLinearAdjointOp, LoraParameterAdjointOp,
            AttentionOp, AttentionAdjointOp, LinearCrossEntropyOp>(
          [&](auto typed) {
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

static LogicalResult convertBlock(BlockOp block,
                                  const BlockInterface &interface,
                                  int64_t panelBytes, int64_t maxRows) {
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
  for (const auto &[name, op] : interface.parameters)
    parameters[name] = next();
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
    KernelBuilder kernel(op.getLoc(), builder, buffers, panelBytes, rows,
                         maxRows);
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

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

namespace {
/// Converts one entry to a function of type hone_entry_fn.
class EntryConversion {
public:
  EntryConversion(EntryOp entry, const ParameterTable &table,
                  const llvm::StringMap<BlockInterface> &interfaces,
                  int64_t panelBytes, int64_t maxRows)
      : entry(entry), module(entry->getParentOfType<ModuleOp>()), table(table),
        interfaces(interfaces), panelBytes(panelBytes), maxRows(maxRows),
        builder(entry) {}

  LogicalResult run();

private:
  /// Field `index` of hone_frame (runtime.h).
  Value frameField(int32_t index, Type type);
  /// A view of a region, from its element `element` on.
  FailureOr<Value> region(Operation *op, const Twine &name, MemRefType type,
                          int64_t element = 0);
  FailureOr<Value> parameter(CallOp call, StringRef name, Type type);
  FailureOr<Value> gradient(CallOp call, StringRef name, Type type);
  LogicalResult convert(CallOp call);
  LogicalResult convert(OutputOp output);
  template <typename UpdateOp>
  LogicalResult convertUpdate(UpdateOp op, int stateCount);

  EntryOp entry;
  ModuleOp module;
  const ParameterTable &table;
  const llvm::StringMap<BlockInterface> &interfaces;
  int64_t panelBytes, maxRows;
  OpBuilder builder;
  Buffers buffers;
  Value frame, arena, weights, rows;
};
} // namespace

Value EntryConversion::frameField(int32_t index, Type type) {
  Type pointer = frame.getType();
  auto frameType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      {pointer, pointer, pointer, pointer, builder.getI64Type()});
  Location loc = entry.getLoc();
  Value address = LLVM::GEPOp::create(builder, loc, pointer, frameType, frame,
                                      ArrayRef<LLVM::GEPArg>{0, index});
  return LLVM::LoadOp::create(builder, loc, type, address);
}

FailureOr<Value> EntryConversion::region(Operation *op, const Twine &name,
                                         MemRefType type, int64_t element) {
  RegionOp place = findRegion(module, name.str());
  if (!place)
    return op->emitOpError("expects a hone.region \"")
           << name << "\"; run hone-place first";
  int64_t bytes = element * type.getElementTypeBitWidth() / 8;
  return viewAt(builder, op->getLoc(), arena, place.getOffset() + bytes, type);
}

FailureOr<Value> EntryConversion::parameter(CallOp call, StringRef name,
                                            Type type) {
  const Parameter *found = table.find(call.getPrefix(), name);
  MemRefType buffer = bufferType(type, maxRows);
  if (found->trainable)
    return region(call, "theta", buffer, found->offset);
  Type pointer = frame.getType();
  Location loc = call.getLoc();
  Value address = LLVM::GEPOp::create(
      builder, loc, pointer, pointer, weights,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(found->index)});
  Value base = LLVM::LoadOp::create(builder, loc, pointer, address);
  return viewAt(builder, loc, base, 0, buffer);
}

FailureOr<Value> EntryConversion::gradient(CallOp call, StringRef name,
                                           Type type) {
  const Parameter *found = table.find(call.getPrefix(), name);
  if (!found || !found->trainable)
    return call.emitOpError("expects '")
           << call.getPrefix() << name
           << "', which its block has a gradient of, to be trainable";
  return region(call, "gradient", bufferType(type, maxRows), found->offset);
}

LogicalResult EntryConversion::convert(CallOp call) {
  auto callee = interfaces.find(call.getBlock());
  if (callee == interfaces.end())
    return call.emitOpError("expects a hone.block @") << call.getBlock();
  Location loc = call.getLoc();
  auto scratch =
      call->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  auto slots = call->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  if (!scratch || (slots ? slots.size() : 0) != call.getNumResults())
    return call.emitOpError("expects slots for its scratch and each result; "
                            "run hone-place first");

  SmallVector<Value> arguments = {frame, rows};
  Value scratchOffset = LLVM::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(scratch.getOffset()));
  arguments.push_back(
      LLVM::GEPOp::create(builder, loc, frame.getType(), builder.getI8Type(),
                          arena, ArrayRef<LLVM::GEPArg>{scratchOffset}));
  auto append = [&](FailureOr<Value> argument) {
    arguments.push_back(argument.value_or(Value()));
    return argument;
  };
  for (Value operand : call.getOperands())
    arguments.push_back(buffers.ofValue.at(operand));
  for (const auto &[name, op] : callee->second.parameters)
    if (failed(append(parameter(call, name, ParameterOp(op).getType()))))
      return failure();
  for (const auto &[name, op] : callee->second.inputs)
    if (failed(append(region(call, "input." + name,
                             bufferType(InputOp(op).getType(), maxRows)))))
      return failure();
  for (OpResult result : call.getResults()) {
    auto slot = cast<SlotAttr>(slots[result.getResultNumber()]);
    Value view = viewAt(builder, loc, arena, slot.getOffset(),
                        bufferType(result.getType(), maxRows));
    buffers.ofValue[result] = view;
    arguments.push_back(view);
  }
  for (const auto &[name, op] : callee->second.gradients)
    if (failed(
            append(gradient(call, name, GradientOp(op).getValue().getType()))))
      return failure();
  func::CallOp::create(builder, loc, call.getBlock(), TypeRange(), arguments);
  return success();
}

LogicalResult EntryConversion::convert(OutputOp output) {
  auto tensor = cast<RankedTensorType>(output.getValue().getType());
  FailureOr<Value> to =
      region(output, "output." + output.getName(), bufferType(tensor, maxRows));
  if (failed(to))
    return failure();
  KernelBuilder k(output.getLoc(), builder, buffers, panelBytes, rows, maxRows);
  Value from = buffers.ofValue.at(output.getValue());
  if (tensor.getRank() == 0) {
    k.store(k.load(from, {}), *to, {});
    return success();
  }
  SmallVector<Value> bounds;
  for (int64_t size : tensor.getShape())
    bounds.push_back(ShapedType::isDynamic(size) ? rows : k.index(size));
  k.map(bounds, [&](ValueRange at) { k.store(k.load(from, at), *to, at); });
  return success();
}

/// Emits an optimizer step with `stateCount` state vectors.
template <typename UpdateOp>
LogicalResult EntryConversion::convertUpdate(UpdateOp op, int stateCount) {
  if (table.trainable().empty())
    return success();
  auto flat = MemRefType::get({table.trainableElements()},
                              table.trainable().front().type.getElementType());
  FailureOr<Value> theta = region(op, "theta", flat);
  FailureOr<Value> gradient = region(op, "gradient", flat);
  if (failed(theta) || failed(gradient))
    return failure();
  UpdateVectors vectors{*theta, *gradient, {}};
  for (int i = 0; i < stateCount; ++i) {
    FailureOr<Value> state = region(op, "state" + Twine(i), flat);
    if (failed(state))
      return failure();
    vectors.state.push_back(*state);
  }
  KernelBuilder k(op.getLoc(), builder, buffers, panelBytes, rows, maxRows);
  emitUpdate(op, vectors, k);
  return success();
}

LogicalResult EntryConversion::run() {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Location loc = entry.getLoc();
  auto function = func::FuncOp::create(
      builder, loc, ("hone_entry_" + entry.getSymName()).str(),
      builder.getFunctionType(pointer, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  frame = body->getArgument(0);
  arena = frameField(1, pointer);
  weights = frameField(3, pointer);
  rows = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    frameField(4, builder.getI64Type()));

  for (Operation &op : entry.getBody().front()) {
    LogicalResult converted =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](InputOp input) {
              FailureOr<Value> view =
                  region(input, "input." + input.getName(),
                         bufferType(input.getType(), maxRows));
              if (failed(view))
                return failure();
              buffers.ofValue[input.getResult()] = *view;
              return success();
            })
            .Case<CallOp, OutputOp>([&](auto typed) { return convert(typed); })
            .Case([&](SgdOp sgd) {
              return convertUpdate(sgd, sgd.getMomentum() ? 1 : 0);
            })
            .Case([&](AdamwOp adamw) { return convertUpdate(adamw, 2); })
            .Case([](ReturnOp) { return success(); })
            .Default([](Operation *op) {
              return op->emitOpError("expects to stand in a block: an entry is "
                                     "a schedule and computes nothing");
            });
    if (failed(converted))
      return failure();
    builder.setInsertionPointToEnd(body);
  }
  func::ReturnOp::create(builder, loc);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertToTiles : public hone::impl::ConvertToTilesBase<ConvertToTiles> {
  using ConvertToTilesBase::ConvertToTilesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto maxRows =
        module->getAttrOfType<IntegerAttr>(HoneDialect::getMaxRowsAttrName());
    if (!maxRows) {
      module.emitError("expects the attribute 'hone.max_rows'");
      return signalPassFailure();
    }
    FailureOr<ParameterTable> table = ParameterTable::build(module);
    if (failed(table))
      return signalPassFailure();

    auto blocks = llvm::to_vector(module.getOps<BlockOp>());
    auto entries = llvm::to_vector(module.getOps<EntryOp>());
    int64_t panelBytes = panelWidth * 4;
    llvm::StringMap<BlockInterface> interfaces;
    for (BlockOp block : blocks) {
      BlockInterface &interface = interfaces[block.getSymName()];
      interface = describe(block);
      if (failed(convertBlock(block, interface, panelBytes, maxRows.getInt())))
        return signalPassFailure();
    }
    for (EntryOp entry : entries)
      if (failed(EntryConversion(entry, *table, interfaces, panelBytes,
                                 maxRows.getInt())
                     .run()))
        return signalPassFailure();
    for (EntryOp entry : entries)
      entry.erase();
    for (BlockOp block : blocks)
      block.erase();
    for (RegionOp region :
         llvm::make_early_inc_range(module.getOps<RegionOp>()))
      region.erase();
  }
};
} // namespace
