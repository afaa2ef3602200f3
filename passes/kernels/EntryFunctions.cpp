//===- EntryFunctions.cpp - An entry as the function the runtime calls ----===//
//
// Resolves every name to a place: regions and slots to offsets in the arena,
// parameters by the calling layer's prefix to a weight or a slice of theta.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/BlockFunctions.h"
#include "passes/kernels/Kernels.h"
#include "passes/place/Lifetimes.h"

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
                  SharedFunctions &shared, const TileOptions &options)
      : entry(entry), module(entry->getParentOfType<ModuleOp>()), table(table),
        interfaces(interfaces), shared(shared), panels(options.panels),
        maxRows(options.maxRows), builder(entry) {}

  LogicalResult run();

private:
  /// Field `index` of hone_frame (runtime.h).
  Value frameField(int32_t index, Type type);
  /// A view of a region, from its element `element` on.
  FailureOr<Value> region(Operation *op, const Twine &name, MemRefType type,
                          int64_t element = 0);
  /// Appends the views of the tensors that a frozen parameter is stored in.
  void appendFrozen(Operation *op, const Parameter &parameter,
                    SmallVectorImpl<Value> &arguments);
  LogicalResult appendParameter(CallOp call, ParameterOp op,
                                SmallVectorImpl<Value> &arguments);
  FailureOr<Value> gradient(CallOp call, StringRef name, Type type);
  LogicalResult convert(LayerGradientOp op);
  LogicalResult convert(CallOp call);
  LogicalResult convert(OutputOp output);
  /// Emits the tile op of the same name for each tensor that the call reads.
  template <typename TileOp, typename ResidencyOp>
  LogicalResult convertResidency(ResidencyOp op);
  template <typename UpdateOp> LogicalResult convertUpdate(UpdateOp op);
  /// Calls a function of frame, rows and `arguments` that does `op`, whose body
  /// depends on the kind of `op` and the arguments' types alone. The first call
  /// makes it and names it after `name`: equal layers share one, as they share
  /// blocks.
  void callShared(
      Operation *op, StringRef name, ArrayRef<Value> arguments,
      function_ref<void(KernelBuilder &, Buffers &, ValueRange)> emitBody);

  EntryOp entry;
  ModuleOp module;
  const ParameterTable &table;
  const llvm::StringMap<BlockInterface> &interfaces;
  SharedFunctions &shared;
  Panels panels;
  int64_t maxRows;
  OpBuilder builder;
  Buffers buffers;
  /// Prefix of a layer to where its gradients are, until its update.
  llvm::StringMap<int64_t> layerGradients;
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
    FailureOr<Value> view = region(
        call, "theta", bufferType(storedTensors(op).front().type, maxRows),
        found->offset);
    arguments.push_back(view.value_or(Value()));
    return view;
  }
  appendFrozen(call, *found, arguments);
  return success();
}

void EntryConversion::appendFrozen(Operation *op, const Parameter &parameter,
                                   SmallVectorImpl<Value> &arguments) {
  Type pointer = frame.getType();
  Location loc = op->getLoc();
  auto index = static_cast<int32_t>(parameter.index);
  for (const StoredTensor &tensor :
       storedTensors(parameter.type, parameter.storage)) {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer, weights,
                                        ArrayRef<LLVM::GEPArg>{index++});
    Value base = LLVM::LoadOp::create(builder, loc, pointer, address);
    arguments.push_back(
        viewAt(builder, loc, base, 0, bufferType(tensor.type, maxRows)));
  }
}

template <typename TileOp, typename ResidencyOp>
LogicalResult EntryConversion::convertResidency(ResidencyOp op) {
  SmallVector<Value> tensors;
  for (const auto &[name, parameter] : interfaces.at(op.getBlock()).parameters)
    if (const Parameter *found = table.find(op.getPrefix(), name);
        found && !found->trainable)
      appendFrozen(op, *found, tensors);
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, op.getLoc(), value);
  };
  for (Value tensor : tensors) {
    int64_t rows = cast<MemRefType>(tensor.getType()).getDimSize(0);
    TileOp::create(builder, op.getLoc(), tensor, index(0), index(rows));
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
  const TrainableLayer &layer = table.layers()[found->layer];
  auto own = layerGradients.find(layer.prefix);
  if (own != layerGradients.end()) {
    MemRefType view = bufferType(type, maxRows);
    int64_t bytes =
        (found->offset - layer.offset) * view.getElementTypeBitWidth() / 8;
    return viewAt(builder, call.getLoc(), arena, own->second + bytes, view);
  }
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
  KernelBuilder k(output, builder, buffers, panels, rows, maxRows);
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

void EntryConversion::callShared(
    Operation *op, StringRef name, ArrayRef<Value> arguments,
    function_ref<void(KernelBuilder &, Buffers &, ValueRange)> emitBody) {
  Location loc = op->getLoc();
  SmallVector<Value> all = {frame, rows};
  llvm::append_range(all, arguments);
  auto type = builder.getFunctionType(ValueRange(all).getTypes(), {});
  func::FuncOp &function = shared[{op->getName(), type}];
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(entry);
    function =
        func::FuncOp::create(builder, loc, freshSymbol(module, name), type);
    function.setPrivate();
    builder.setInsertionPointToStart(function.addEntryBlock());
    Buffers own;
    KernelBuilder k(op, builder, own, panels, function.getArgument(1), maxRows);
    emitBody(k, own, function.getArguments().drop_front(2));
    builder.setInsertionPointToEnd(&function.getBody().back());
    func::ReturnOp::create(builder, loc);
  }
  func::CallOp::create(builder, loc, function, all);
}

LogicalResult EntryConversion::convert(LayerGradientOp op) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  if (!slots || slots.size() != 1)
    return op.emitOpError("expects a slot for its result; run hone-place "
                          "first");
  int64_t offset = cast<SlotAttr>(slots[0]).getOffset();
  auto type = bufferType(op.getGradient().getType(), maxRows);
  Value view = viewAt(builder, op.getLoc(), arena, offset, type);
  buffers.ofValue[op.getGradient()] = view;
  layerGradients[op.getPrefix()] = offset;
  callShared(op, "zeros", view,
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitZeros(given[0], k);
             });
  return success();
}

template <typename UpdateOp>
LogicalResult EntryConversion::convertUpdate(UpdateOp op) {
  if (table.trainable().empty())
    return success();
  ArrayRef<Parameter> parameters = table.trainable();
  int64_t first = 0, length = table.trainableElements();
  if (Value own = op.getGradient()) {
    StringRef prefix = own.getDefiningOp<LayerGradientOp>().getPrefix();
    for (auto [index, layer] : llvm::enumerate(table.layers())) {
      if (layer.prefix != prefix)
        continue;
      std::tie(first, length) = std::pair(layer.offset, layer.elements);
      parameters = table.ofLayer(index);
    }
    layerGradients.erase(prefix);
  }
  if (bool(op.getRounding()) !=
      (table.thetaElement() != table.gradientElement()))
    return op.emitOpError("expects 'rounding' exactly when parameters are "
                          "stored as bfloat16; run hone-schedule-update first");
  // The vectors, then the scalars, then the chunks of an update that rounds.
  SmallVector<Value> arguments;
  LogicalResult found = success();
  auto appendSlice = [&](const Twine &name, Type element) {
    FailureOr<Value> view =
        region(op, name, MemRefType::get(length, element), first);
    if (failed(view))
      found = failure();
    arguments.push_back(view.value_or(Value()));
  };
  appendSlice("theta", table.thetaElement());
  if (op.getGradient())
    arguments.push_back(buffers.ofValue.at(op.getGradient()));
  else
    appendSlice("gradient", table.gradientElement());
  for (unsigned i = 0; i < op.getNumStateVectors(); ++i)
    appendSlice("state" + Twine(i), table.gradientElement());
  if (failed(found))
    return failure();
  SmallVector<Value> scalars;
  for (Value operand : op->getOperands())
    if (operand != op.getGradient())
      scalars.push_back(operand);
  for (Value scalar : scalars)
    arguments.push_back(buffers.ofValue.at(scalar));
  if (op.getRounding()) {
    KernelBuilder k(op, builder, buffers, panels, rows, maxRows);
    arguments.push_back(k.table(
        "rounding_chunks", roundingChunks(parameters, builder.getContext())));
  }

  callShared(op, "update", arguments,
             [&](KernelBuilder &k, Buffers &own, ValueRange given) {
               unsigned states = op.getNumStateVectors();
               UpdateVectors vectors{given[0], given[1], {}, {}};
               if (op.getRounding()) {
                 vectors.chunks = given.back();
                 given = given.drop_back();
               }
               llvm::append_range(vectors.state, given.slice(2, states));
               for (auto [scalar, argument] :
                    llvm::zip_equal(scalars, given.drop_front(2 + states)))
                 own.ofValue[scalar] = argument;
               emitUpdate(op, vectors, k);
             });
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
            .Case<CallOp, OutputOp, LayerGradientOp>(
                [&](auto typed) { return convert(typed); })
            .Case<SgdOp, AdamwOp>(
                [&](auto typed) { return convertUpdate(typed); })
            .Case([&](PrefetchOp prefetch) {
              return convertResidency<tile::PrefetchOp>(prefetch);
            })
            .Case([&](ReleaseOp release) {
              return convertResidency<tile::ReleaseOp>(release);
            })
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
                          SharedFunctions &shared, const TileOptions &options) {
  return EntryConversion(entry, table, interfaces, shared, options).run();
}
