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
#include "runtime/src/base/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  FailureOr<int64_t> regionOffset(Operation *op, const Twine &name);
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
  /// Where the only result of `op` is written.
  FailureOr<Value> placeOf(Operation *op) {
    auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
    return placeOf(op, op->getResult(0), slots ? slots[0] : Attribute());
  }
  /// Appends the views of the tensors that a frozen parameter is stored in.
  void appendFrozen(Operation *op, const Parameter &parameter,
                    SmallVectorImpl<Value> &arguments);
  LogicalResult appendParameter(CallOp call, ParameterOp op,
                                SmallVectorImpl<Value> &arguments);
  FailureOr<Value> gradient(CallOp call, StringRef name, Type type);
  /// Bytes from the arena to what the gradient of all parameters has for the
  /// layer of `window`.
  FailureOr<int64_t> sliceOfLayer(LayerGradientOp window);
  /// One of the entry's arguments: a number, or element `element` of several.
  Value numberOf(Location loc, Value numbers, std::optional<int64_t> element);
  /// Whether that number is not zero.
  Value isTrue(Location loc, Value condition,
               std::optional<int64_t> element = std::nullopt);
  /// Emits `body` for where that is so, and `otherwise` for where it is not;
  /// without a condition, `body` for always.
  void emitWhen(Location loc, Value condition, std::optional<int64_t> element,
                function_ref<void()> body,
                function_ref<void()> otherwise = nullptr);
  /// What the function of `block` takes when `call`, whose results have their
  /// places, runs it with `scratch`.
  FailureOr<SmallVector<Value>> argumentsOf(CallOp call, StringRef block,
                                            Value scratch);
  /// The slot of `pool` whose number is element `index` of `slots`.
  Value slotOf(Location loc, Value pool, Value slots, int64_t index);
  LogicalResult convert(LayerGradientOp op);
  LogicalResult convert(FoldGradientOp op);
  LogicalResult convert(PoolOp op);
  LogicalResult convert(KeepOp op);
  LogicalResult convert(KeptOp op);
  LogicalResult convert(CallOp call);
  LogicalResult convert(ZeroGradientOp op);
  LogicalResult convert(GradientSquaresOp op);
  LogicalResult convert(ReadGradientOp op);
  LogicalResult convert(AddGradientOp op);
  /// The gradient of all parameters; `op` has a value of it, of type `own`.
  FailureOr<Value> wholeGradient(Operation *op, RankedTensorType own);
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
  llvm::StringMap<Value> layerGradients;
  Value frame, values, arena, batch, work, weights, rows;
};
} // namespace

FailureOr<int64_t> EntryConversion::regionOffset(Operation *op,
                                                 const Twine &name) {
  RegionOp place = findRegion(module, name.str());
  if (!place)
    return op->emitOpError("expects a hone.region \"")
           << name << "\"; run hone-place first";
  return static_cast<int64_t>(place.getOffset());
}

FailureOr<Value> EntryConversion::region(Operation *op, Value base,
                                         const Twine &name, MemRefType type,
                                         int64_t element) {
  FailureOr<int64_t> offset = regionOffset(op, name);
  if (failed(offset))
    return failure();
  int64_t bytes = element * type.getElementTypeBitWidth() / 8;
  return viewAt(builder, op->getLoc(), base, *offset + bytes, type);
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
    return viewAt(builder, call.getLoc(), own->second, bytes, view);
  }
  return region(call, "gradient", bufferType(type, maxRows), found->offset);
}

FailureOr<SmallVector<Value>>
EntryConversion::argumentsOf(CallOp call, StringRef block, Value scratch) {
  auto callee = interfaces.find(block);
  if (callee == interfaces.end())
    return call.emitOpError("expects a hone.block @") << block;
  SmallVector<Value> arguments = {frame, rows, scratch};
  auto append = [&](FailureOr<Value> argument) {
    arguments.push_back(argument.value_or(Value()));
    return argument;
  };
  for (Value value : call.getValues())
    arguments.push_back(buffers.ofValue.at(value));
  for (const auto &[name, op] : callee->second.parameters)
    if (failed(appendParameter(call, op, arguments)))
      return failure();
  for (const auto &[name, op] : callee->second.inputs)
    if (failed(append(region(call, batch, "input." + name,
                             bufferType(InputOp(op).getType(), maxRows)))))
      return failure();
  for (Value result : call.getResults())
    arguments.push_back(buffers.ofValue.at(result));
  for (const auto &[name, op] : callee->second.gradients)
    if (failed(
            append(gradient(call, name, GradientOp(op).getValue().getType()))))
      return failure();
  for (StringRef name : callee->second.perturbed) {
    std::string full = (call.getPrefix() + name).str();
    uint64_t stream = rt::hashStream(rt::RandomPurpose::Perturb, full);
    arguments.push_back(arith::ConstantOp::create(
        builder, call.getLoc(),
        builder.getI64IntegerAttr(static_cast<int64_t>(stream))));
  }
  return arguments;
}

LogicalResult EntryConversion::convert(CallOp call) {
  Location loc = call.getLoc();
  auto slot = call->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  auto slots = call->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  if (!slot || (slots ? slots.size() : 0) != call.getNumResults())
    return call.emitOpError("expects slots for its scratch and each result; "
                            "run hone-place first");
  Value offset = LLVM::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(slot.getOffset()));
  Value scratch =
      LLVM::GEPOp::create(builder, loc, frame.getType(), builder.getI8Type(),
                          work, ArrayRef<LLVM::GEPArg>{offset});
  for (OpResult result : call.getResults()) {
    FailureOr<Value> place =
        placeOf(call, result, slots[result.getResultNumber()]);
    if (failed(place))
      return failure();
    buffers.ofValue[result] = *place;
  }
  LogicalResult isConverted = success();
  auto run = [&](StringRef block) {
    auto arguments = argumentsOf(call, block, scratch);
    if (failed(arguments))
      isConverted = failure();
    else
      func::CallOp::create(builder, loc, block, TypeRange(), *arguments);
  };
  auto runOther = [&] { run(*call.getOtherwise()); };
  emitWhen(
      loc, call.getMask(), call.getMaskIndex(), [&] { run(call.getBlock()); },
      call.getOtherwise() ? function_ref<void()>(runOther) : nullptr);
  return isConverted;
}

LogicalResult EntryConversion::convert(PoolOp op) {
  FailureOr<Value> place = placeOf(op);
  buffers.ofValue[op.getPool()] = place.value_or(Value());
  return place;
}

Value EntryConversion::slotOf(Location loc, Value pool, Value slots,
                              int64_t index) {
  Value memory = buffers.ofValue.at(pool);
  auto whole = cast<MemRefType>(memory.getType());
  auto one =
      MemRefType::get(whole.getShape().drop_front(), whole.getElementType());
  // What is no slot is, as unsigned, above the last one.
  Value number = numberOf(loc, slots, index);
  Value last =
      arith::ConstantIntOp::create(builder, loc, whole.getDimSize(0) - 1, 32);
  number = arith::MinUIOp::create(builder, loc, number, last);
  Value slot = arith::IndexCastUIOp::create(builder, loc,
                                            builder.getIndexType(), number);
  Value bytes = arith::ConstantIndexOp::create(
      builder, loc, one.getNumElements() * one.getElementTypeBitWidth() / 8);
  Value offset = arith::MulIOp::create(builder, loc, slot, bytes);
  return tile::ViewOp::create(builder, loc, one, memory, offset);
}

LogicalResult EntryConversion::convert(KeepOp op) {
  Location loc = op.getLoc();
  Value from = buffers.ofValue.at(op.getX());
  emitWhen(loc, op.getMask(), op.getMaskIndex(), [&] {
    Value to = slotOf(loc, op.getPool(), op.getSlots(), op.getSlotIndex());
    callShared(op, "keep", {from, to},
               [](KernelBuilder &k, Buffers &, ValueRange given) {
                 emitRowCopy(given[0], given[1], k);
               });
  });
  return success();
}

LogicalResult EntryConversion::convert(KeptOp op) {
  buffers.ofValue[op.getX()] =
      slotOf(op.getLoc(), op.getPool(), op.getSlots(), op.getSlotIndex());
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
  FailureOr<Value> squares = placeOf(op);
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

FailureOr<Value> EntryConversion::wholeGradient(Operation *op,
                                                RankedTensorType own) {
  // (C1)
  auto type =
      MemRefType::get(table.trainableElements(), table.gradientElement());
  if (bufferType(own, maxRows) != type)
    return op->emitOpError("expects a value of ")
           << type.getShape()[0] << " " << type.getElementType()
           << ", as many as are trained";
  return region(op, "gradient", type);
}

LogicalResult EntryConversion::convert(ReadGradientOp op) {
  FailureOr<Value> from = wholeGradient(op, op.getValue().getType());
  FailureOr<Value> to = placeOf(op);
  if (failed(from) || failed(to))
    return failure();
  buffers.ofValue[op.getValue()] = *to;
  callShared(op, "copy", {*from, *to},
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitCopy(given[0], given[1], k);
             });
  return success();
}

LogicalResult EntryConversion::convert(AddGradientOp op) {
  FailureOr<Value> to = wholeGradient(op, op.getValue().getType());
  if (failed(to))
    return failure();
  callShared(op, "fold", {buffers.ofValue.at(op.getValue()), *to},
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitFold(given[0], given[1], k);
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

FailureOr<int64_t> EntryConversion::sliceOfLayer(LayerGradientOp window) {
  const TrainableLayer *layer = table.findLayer(window.getPrefix());
  if (!layer)
    return window.emitOpError("expects '")
           << window.getPrefix() << "' to be a layer that trains";
  FailureOr<int64_t> gradient = regionOffset(window, "gradient");
  if (failed(gradient))
    return failure();
  int64_t bits = table.gradientElement().getIntOrFloatBitWidth();
  return *gradient + layer->offset * bits / 8;
}

Value EntryConversion::numberOf(Location loc, Value numbers,
                                std::optional<int64_t> element) {
  SmallVector<Value, 1> at;
  if (element)
    at.push_back(arith::ConstantIndexOp::create(builder, loc, *element));
  return memref::LoadOp::create(builder, loc, buffers.ofValue.at(numbers), at);
}

Value EntryConversion::isTrue(Location loc, Value condition,
                              std::optional<int64_t> element) {
  Value word = numberOf(loc, condition, element);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(word.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word,
                               zero);
}

void EntryConversion::emitWhen(Location loc, Value condition,
                               std::optional<int64_t> element,
                               function_ref<void()> body,
                               function_ref<void()> otherwise) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, isTrue(loc, condition, element),
                                  /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

LogicalResult EntryConversion::convert(LayerGradientOp op) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  if (!slots || slots.size() != 1)
    return op.emitOpError("expects a slot for its result; run hone-place "
                          "first");
  Location loc = op.getLoc();
  int64_t offset = cast<SlotAttr>(slots[0]).getOffset();
  auto type = bufferType(op.getGradient().getType(), maxRows);
  Value &view = layerGradients[op.getPrefix()];
  if (!op.getCondition()) {
    view = viewAt(builder, loc, work, offset, type);
  } else {
    FailureOr<int64_t> region = regionOffset(op, "accumulation");
    FailureOr<int64_t> slice = sliceOfLayer(op);
    if (failed(region) || failed(slice))
      return failure();
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value place =
        arith::SelectOp::create(builder, loc, isTrue(loc, op.getCondition()),
                                index(*region + offset), index(*slice));
    view = tile::ViewOp::create(builder, loc, type, arena, place);
  }
  buffers.ofValue[op.getGradient()] = view;
  emitWhen(loc, op.getCondition(), {}, [&] {
    callShared(op, "zeros", view,
               [&](KernelBuilder &k, Buffers &, ValueRange given) {
                 emitZeros(given[0], k);
               });
  });
  return success();
}

LogicalResult EntryConversion::convert(FoldGradientOp op) {
  LayerGradientOp window = op.getLayerGradient();
  FailureOr<int64_t> slice = sliceOfLayer(window);
  if (failed(slice))
    return failure();
  Value view = buffers.ofValue.at(op.getWindow());
  layerGradients.erase(window.getPrefix());
  emitWhen(op.getLoc(), window.getCondition(), {}, [&] {
    Value sum = viewAt(builder, op.getLoc(), arena, *slice,
                       cast<MemRefType>(view.getType()));
    callShared(op, "fold", {view, sum},
               [&](KernelBuilder &k, Buffers &, ValueRange given) {
                 emitFold(given[0], given[1], k);
               });
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
    if (const TrainableLayer *layer = table.findLayer(prefix)) {
      std::tie(first, length) = std::pair(layer->offset, layer->elements);
      parameters = table.ofLayer(layer - table.layers().data());
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
            .Case<CallOp, LayerGradientOp, FoldGradientOp, PoolOp, KeepOp,
                  KeptOp, ZeroGradientOp, GradientSquaresOp, ReadGradientOp,
                  AddGradientOp>([&](auto typed) { return convert(typed); })
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
