//===- EntryVectors.cpp - Vectors of all trainable elements ---------------===//

#include "passes/kernels/EntryConversion.h"
#include "passes/place/Lifetimes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace hone;

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

LogicalResult EntryConversion::convert(ZeroStateOp op) {
  FailureOr<ThetaSlice> slice = sliceOf(op, op.getLayersAttr());
  if (failed(slice))
    return failure();
  if (slice->parameters.empty())
    return success();
  for (const StateSlot &slot : state.slots()) {
    FailureOr<Value> own = stateOf(op, slot, *slice);
    if (failed(own))
      return failure();
    callShared(op, "zeros", *own,
               [&](KernelBuilder &k, Buffers &, ValueRange given) {
                 emitZeros(given[0], k);
               });
  }
  return success();
}

FailureOr<ThetaSlice> EntryConversion::sliceOf(Operation *op,
                                               ArrayAttr layers) {
  std::optional<ThetaSlice> slice = table.slice(layers);
  if (!slice)
    return op->emitOpError(
        "expects layers that lie one after another in theta");
  return *slice;
}

FailureOr<Value> EntryConversion::stateOf(Operation *op, const StateSlot &slot,
                                          const ThetaSlice &slice) {
  OptimizerState::Range range = state.rangeOf(slot, slice);
  return region(op, slot.name, MemRefType::get(range.elements, slot.element),
                range.offset);
}

Value EntryConversion::tableOf(Operation *op, StringRef name,
                               DenseElementsAttr values) {
  return KernelBuilder(op, builder, buffers, settings, rows, maxRows)
      .table(name, values);
}

template <typename SquaresOp>
LogicalResult EntryConversion::convertSquares(SquaresOp op, StringRef vector,
                                              Type element) {
  FailureOr<ThetaSlice> slice = sliceOf(op, op.getLayersAttr());
  if (failed(slice))
    return failure();
  // (C1)
  ArrayRef<Parameter> parameters = slice->parameters;
  if (op.getSquares().getType().getDimSize(0) != int64_t(parameters.size()))
    return op.emitOpError("expects one sum for each of ")
           << parameters.size() << " trainable parameters";
  FailureOr<Value> squares = placeOf(op);
  FailureOr<Value> from = region(
      op, vector, MemRefType::get(slice->elements, element), slice->offset);
  if (failed(squares) || failed(from))
    return failure();
  buffers.ofValue[op.getSquares()] = *squares;
  Value ranges = tableOf(op, "parameter_ranges",
                         parameterRanges(parameters, builder.getContext()));
  callShared(op, "squares", {ranges, *from, *squares},
             [&](KernelBuilder &k, Buffers &, ValueRange given) {
               emitSquares(given[0], given[1], given[2], k);
             });
  return success();
}

LogicalResult EntryConversion::convert(GradientSquaresOp op) {
  return convertSquares(op, "gradient", table.gradientElement());
}

LogicalResult EntryConversion::convert(ParameterSquaresOp op) {
  return convertSquares(op, "theta", table.thetaElement());
}

LogicalResult EntryConversion::convert(EstimateGradientOp op) {
  FailureOr<ThetaSlice> slice = sliceOf(op, op.getLayersAttr());
  if (failed(slice))
    return failure();
  if (slice->parameters.empty())
    return success();
  FailureOr<Value> gradient = region(
      op, "gradient", MemRefType::get(slice->elements, table.gradientElement()),
      slice->offset);
  if (failed(gradient))
    return failure();
  Value chunks = tableOf(op, "parameter_chunks",
                         parameterChunks(slice->parameters,
                                         settings.blocks.parameterElements,
                                         builder.getContext()));
  SmallVector<Value> arguments = {*gradient, chunks};
  for (Value operand : op->getOperands())
    arguments.push_back(buffers.ofValue.at(operand));
  callShared(op, "estimate", arguments,
             [&](KernelBuilder &k, Buffers &own, ValueRange given) {
               for (auto [operand, argument] :
                    llvm::zip_equal(op->getOperands(), given.drop_front(2)))
                 own.ofValue[operand] = argument;
               emitEstimate(op, given[0], given[1], k);
             });
  return success();
}

void EntryConversion::callShared(
    Operation *op, StringRef name, ArrayRef<Value> arguments,
    function_ref<void(KernelBuilder &, Buffers &, ValueRange)> emitBody) {
  Location loc = op->getLoc();
  SmallVector<Value> all = {rows};
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
    KernelBuilder k(op, builder, own, settings, function.getArgument(0),
                    maxRows);
    emitBody(k, own, function.getArguments().drop_front(1));
    builder.setInsertionPointToEnd(&function.getBody().back());
    func::ReturnOp::create(builder, loc);
  }
  func::CallOp::create(builder, loc, function, all);
}

FailureOr<Value> EntryConversion::sliceOfLayer(LayerGradientOp window) {
  const TrainableLayer *layer = table.findLayer(window.getPrefix());
  if (!layer)
    return window.emitOpError("expects '")
           << window.getPrefix() << "' to be a layer that trains";
  FailureOr<PlacedOffset> gradient = regionOffset(window, "gradient");
  if (failed(gradient))
    return failure();
  int64_t bits = table.gradientElement().getIntOrFloatBitWidth();
  return offsetOf(builder, window.getLoc(), offsets, *gradient,
                  layer->offset * bits / 8);
}

LogicalResult EntryConversion::convert(LayerGradientOp op) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  if (!slots || slots.size() != 1)
    return op.emitOpError("expects a slot for its result; run hone-place "
                          "first");
  Location loc = op.getLoc();
  const auto slot = cast<SlotAttr>(slots[0]);
  auto type = bufferType(op.getGradient().getType(), maxRows);
  Value &view = layerGradients[op.getPrefix()];
  if (!op.getCondition()) {
    view = viewAt(builder, loc, work, offsets, slot, type);
  } else {
    FailureOr<PlacedOffset> region = regionOffset(op, "accumulation");
    FailureOr<Value> slice = sliceOfLayer(op);
    if (failed(region) || failed(slice))
      return failure();
    // Windows have no rows, so all placements have them at one offset.
    Value window = offsetOf(builder, loc, offsets, *region, slot.getOffset());
    Value place = arith::SelectOp::create(
        builder, loc, isTrue(loc, op.getCondition()), window, *slice);
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
  FailureOr<Value> slice = sliceOfLayer(window);
  if (failed(slice))
    return failure();
  Value view = buffers.ofValue.at(op.getWindow());
  layerGradients.erase(window.getPrefix());
  emitWhen(op.getLoc(), window.getCondition(), {}, [&] {
    Value sum = tile::ViewOp::create(
        builder, op.getLoc(), cast<MemRefType>(view.getType()), arena, *slice);
    callShared(op, "fold", {view, sum},
               [&](KernelBuilder &k, Buffers &, ValueRange given) {
                 emitFold(given[0], given[1], k);
               });
  });
  return success();
}

namespace {
/// The arguments of a function that updates: theta, the gradient unless
/// directions stand for it, the state, the scalars, and a table if it needs
/// one.
struct UpdateSignature {
  UpdateSignature(UpdateOpInterface op, ArrayRef<StateSlot> slots,
                  Value window);
  /// The vectors among the arguments `given`; the scalars are `own`'s.
  UpdateVectors vectorsOf(ValueRange given, Buffers &own) const;

  size_t states;
  bool hasGradient, hasTensors, hasChunks;
  SmallVector<Value> scalars;
};
} // namespace

UpdateSignature::UpdateSignature(UpdateOpInterface op,
                                 ArrayRef<StateSlot> slots, Value window)
    : states(slots.size()), hasGradient(!op.getDirectionCoefficients()) {
  auto hasSlotOf = [&](StateSlot::Extent extent) {
    return llvm::any_of(
        slots, [&](const StateSlot &slot) { return slot.extent == extent; });
  };
  hasTensors = hasSlotOf(StateSlot::Extent::Rows);
  hasChunks =
      !hasTensors && (op.getRounding() || !hasGradient || op.getRateOfB() ||
                      hasSlotOf(StateSlot::Extent::Blocks));
  for (Value operand : op->getOperands())
    if (operand != window && operand != op.getMask())
      scalars.push_back(operand);
}

UpdateVectors UpdateSignature::vectorsOf(ValueRange given, Buffers &own) const {
  UpdateVectors vectors{given[0], {}, {}, {}, {}};
  given = given.drop_front();
  if (hasChunks || hasTensors) {
    (hasTensors ? vectors.tensors : vectors.chunks) = given.back();
    given = given.drop_back();
  }
  if (hasGradient) {
    vectors.gradient = given.front();
    given = given.drop_front();
  }
  llvm::append_range(vectors.state, given.take_front(states));
  for (auto [scalar, argument] :
       llvm::zip_equal(scalars, given.drop_front(states)))
    own.ofValue[scalar] = argument;
  return vectors;
}

LogicalResult EntryConversion::convert(UpdateOpInterface op) {
  ArrayAttr layers = op.getLayersAttr();
  Value window = op.getLayerGradient();
  if (window) {
    StringRef prefix = window.getDefiningOp<LayerGradientOp>().getPrefix();
    layers = builder.getStrArrayAttr(prefix);
    layerGradients.erase(prefix);
  }
  FailureOr<ThetaSlice> slice = sliceOf(op, layers);
  if (failed(slice))
    return failure();
  if (slice->parameters.empty())
    return success();
  const auto slots = op.getStateSlots(table.gradientElement());
  const bool roundsState = llvm::any_of(
      slots, [](const StateSlot &slot) { return slot.element.isBF16(); });
  if (bool(op.getRounding()) != (table.isRounded() || roundsState))
    return op->emitOpError("expects 'rounding' exactly when parameters or the "
                           "optimizer's state are stored as bfloat16; "
                           "run hone-schedule-step first");
  const UpdateSignature signature(op, slots, window);
  SmallVector<Value> arguments;
  LogicalResult found = success();
  auto append = [&](FailureOr<Value> view) {
    if (failed(view))
      found = failure();
    arguments.push_back(view.value_or(Value()));
  };
  auto appendSlice = [&](const Twine &name, Type element) {
    append(region(op, name, MemRefType::get(slice->elements, element),
                  slice->offset));
  };
  appendSlice("theta", table.thetaElement());
  if (window)
    arguments.push_back(buffers.ofValue.at(window));
  else if (signature.hasGradient)
    appendSlice("gradient", table.gradientElement());
  for (const StateSlot &slot : slots)
    append(stateOf(op, slot, *slice));
  if (failed(found))
    return failure();
  for (Value scalar : signature.scalars)
    arguments.push_back(buffers.ofValue.at(scalar));
  if (signature.hasTensors)
    arguments.push_back(
        tableOf(op, "parameter_tensors",
                parameterTensors(slice->parameters, builder.getContext())));
  if (signature.hasChunks)
    arguments.push_back(tableOf(
        op, "parameter_chunks",
        parameterChunks(slice->parameters, settings.blocks.parameterElements,
                        builder.getContext())));

  emitWhen(op.getLoc(), op.getMask(), op.getMaskIndex(), [&] {
    callShared(op, "update", arguments,
               [&](KernelBuilder &k, Buffers &own, ValueRange given) {
                 emitUpdate(op, signature.vectorsOf(given, own), k);
               });
  });
  return success();
}
