//===- EntryFunctions.cpp - An entry as the function the runtime calls ----===//
//
// Resolves every name to a place: regions to offsets in the arena, inputs to
// the batch, slots to the working set, boundary values to what the caller gave,
// and parameters by the calling layer's prefix to a weight or a slice of theta.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Frame.h"
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
  /// A view of a region of `base`, from its element `element` on.
  FailureOr<Value> region(Operation *op, Value base, const Twine &name,
                          MemRefType type, int64_t element = 0);
  FailureOr<Value> region(Operation *op, const Twine &name, MemRefType type,
                          int64_t element = 0) {
    return region(op, arena, name, type, element);
  }
  /// Boundary value `index` of the entry: its arguments, then its results.
  Value boundary(unsigned index, Type type);
  /// Where `result` of `op`, whose place is `attr`, is written.
  FailureOr<Value> placeOf(Operation *op, OpResult result, Attribute attr);
  /// Appends the views of the tensors that a frozen parameter is stored in.
  void appendFrozen(Operation *op, const Parameter &parameter,
                    SmallVectorImpl<Value> &arguments);
  LogicalResult appendParameter(CallOp call, ParameterOp op,
                                SmallVectorImpl<Value> &arguments);
  FailureOr<Value> gradient(CallOp call, StringRef name, Type type);
  LogicalResult convert(LayerGradientOp op);
  LogicalResult convert(CallOp call);
  LogicalResult convert(ZeroGradientOp op);
  LogicalResult convert(GradientSquaresOp op);
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
  Value frame, values, arena, batch, work, weights, rows;
};
} // namespace

FailureOr<Value> EntryConversion::region(Operation *op, Value base,
                                         const Twine &name, MemRefType type,
                                         int64_t element) {
  RegionOp place = findRegion(module, name.str());
  if (!place)
    return op->emitOpError("expects a hone.region \"")
           << name << "\"; run hone-place first";
  int64_t bytes = element * type.getElementTypeBitWidth() / 8;
  return viewAt(builder, op->getLoc(), base, place.getOffset() + bytes, type);
}

Value EntryConversion::boundary(unsigned index, Type type) {
  Location loc = entry.getLoc();
  Type pointer = values.getType();
  Value address =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, values,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  Value base = LLVM::LoadOp::create(builder, loc, pointer, address);
  return viewAt(builder, loc, base, 0, bufferType(type, maxRows));
}

FailureOr<Value> EntryConversion::placeOf(Operation *op, OpResult result,
                                          Attribute attr) {
  OperandRange returned = entry.getBodyBlock().getTerminator()->getOperands();
  unsigned first = entry.getArgumentTypes().size();
  if (isa<UnitAttr>(attr))
    return boundary(first + (llvm::find(returned, result) - returned.begin()),
                    result.getType());
  if (auto inResult = dyn_cast<ResultSlotAttr>(attr))
    return boundary(first + inResult.getResult(), result.getType());
  auto slot = dyn_cast<SlotAttr>(attr);
  if (!slot)
    return op->emitOpError("expects a slot for each result; run hone-place "
                           "first");
  return viewAt(builder, op->getLoc(), work, slot.getOffset(),
                bufferType(result.getType(), maxRows));
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
    return viewAt(builder, call.getLoc(), work, own->second + bytes, view);
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
                          work, ArrayRef<LLVM::GEPArg>{scratchOffset}));
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
    if (failed(append(region(call, batch, "input." + name,
                             bufferType(InputOp(op).getType(), maxRows)))))
      return failure();
  for (OpResult result : call.getResults()) {
    if (failed(append(placeOf(call, result, slots[result.getResultNumber()]))))
      return failure();
    buffers.ofValue[result] = arguments.back();
  }
  for (const auto &[name, op] : callee->second.gradients)
    if (failed(
            append(gradient(call, name, GradientOp(op).getValue().getType()))))
      return failure();
  func::CallOp::create(builder, loc, call.getBlock(), TypeRange(), arguments);
  return success();
}

LogicalResult EntryConversion::convert(ZeroGradientOp op) {
  if (table.trainable().empty())
    return success();
  int64_t length = table.trainableElements();
  FailureOr<Value> gradient =
      region(op, "gradient", MemRefType::get(length, table.gradientElement()));
  if (failed(gradient))
    return failure();
  callShared(op, "zeros", *gradient,
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitZeros(given[0], k);
             });
  return success();
}

LogicalResult EntryConversion::convert(GradientSquaresOp op) {
  // (C1)
  int64_t count = op.getSquares().getType().getDimSize(0);
  if (count != static_cast<int64_t>(table.trainable().size()))
    return op.emitOpError("expects one sum for each of ")
           << table.trainable().size() << " trainable parameters";
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  FailureOr<Value> squares =
      placeOf(op, op->getResult(0), slots ? slots[0] : Attribute());
  FailureOr<Value> gradient = region(
      op, "gradient",
      MemRefType::get(table.trainableElements(), table.gradientElement()));
  if (failed(squares) || failed(gradient))
    return failure();
  buffers.ofValue[op.getSquares()] = *squares;
  SmallVector<Value> arguments = {*gradient, *squares};
  callShared(op, "squares", arguments,
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitSquares(table, given[0], given[1], k);
             });
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
  Value view = viewAt(builder, op.getLoc(), work, offset, type);
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
                          "stored as bfloat16; run hone-schedule-step first");
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
  auto function =
      func::FuncOp::create(builder, loc, entryFunctionName(entry.getSymName()),
                           builder.getFunctionType({pointer, pointer}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  frame = body->getArgument(0);
  values = body->getArgument(1);
  auto field = [&](FrameField field) {
    return loadFrameField(builder, loc, frame, field);
  };
  arena = field(FrameField::Arena);
  batch = field(FrameField::Batch);
  work = field(FrameField::Work);
  weights = field(FrameField::Weights);
  rows = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    field(FrameField::Rows));
  for (BlockArgument argument : entry.getBodyBlock().getArguments())
    buffers.ofValue[argument] =
        boundary(argument.getArgNumber(), argument.getType());

  for (Operation &op : entry.getBodyBlock()) {
    LogicalResult converted =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<CallOp, LayerGradientOp, ZeroGradientOp, GradientSquaresOp>(
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
              return op->emitOpError("expects to stand in a block: an entry "
                                     "calls and computes nothing");
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
