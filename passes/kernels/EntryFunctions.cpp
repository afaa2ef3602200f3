//===- EntryFunctions.cpp - An entry as the function the runtime calls ----===//
//
// Resolves every name to a place: regions and slots to offsets in the arena,
// parameters by the calling layer's prefix to a weight or a slice of theta.
//
//===----------------------------------------------------------------------===//

#include "passes/Lifetimes.h"
#include "passes/kernels/BlockFunctions.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

namespace {
/// Converts one entry to a function of type hone_entry_fn.
class EntryConversion {
public:
  EntryConversion(EntryOp entry, const ParameterTable &table,
                  const llvm::StringMap<BlockInterface> &interfaces,
                  const TileOptions &options)
      : entry(entry), module(entry->getParentOfType<ModuleOp>()), table(table),
        interfaces(interfaces), panelBytes(options.panelBytes),
        maxRows(options.maxRows), builder(entry) {}

  LogicalResult run();

private:
  /// Field `index` of hone_frame (runtime.h).
  Value frameField(int32_t index, Type type);
  /// A view of a region, from its element `element` on.
  FailureOr<Value> region(Operation *op, const Twine &name, MemRefType type,
                          int64_t element = 0);
  /// Appends the views of a parameter's stored tensors.
  LogicalResult appendParameter(CallOp call, ParameterOp op,
                                SmallVectorImpl<Value> &arguments);
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

LogicalResult
EntryConversion::appendParameter(CallOp call, ParameterOp op,
                                 SmallVectorImpl<Value> &arguments) {
  const Parameter *found = table.find(call.getPrefix(), op.getName());
  if (found->trainable) {
    FailureOr<Value> view =
        region(call, "theta", bufferType(op.getType(), maxRows), found->offset);
    arguments.push_back(view.value_or(Value()));
    return view;
  }
  Type pointer = frame.getType();
  Location loc = call.getLoc();
  auto index = static_cast<int32_t>(found->index);
  for (const StoredTensor &tensor :
       storedTensors(found->type, found->storage)) {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer, weights,
                                        ArrayRef<LLVM::GEPArg>{index++});
    Value base = LLVM::LoadOp::create(builder, loc, pointer, address);
    arguments.push_back(
        viewAt(builder, loc, base, 0, bufferType(tensor.type, maxRows)));
  }
  return success();
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
    if (failed(appendParameter(call, op, arguments)))
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

LogicalResult
hone::createEntryFunction(EntryOp entry, const ParameterTable &table,
                          const llvm::StringMap<BlockInterface> &interfaces,
                          const TileOptions &options) {
  return EntryConversion(entry, table, interfaces, options).run();
}
