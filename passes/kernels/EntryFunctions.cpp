//===- EntryFunctions.cpp - The calls of an entry, and their operands -----===//

#include "passes/kernels/EntryConversion.h"

#include "passes/place/Lifetimes.h"
#include "runtime/src/base/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

FailureOr<PlacedOffset> EntryConversion::regionOffset(Operation *op,
                                                      const Twine &name) {
  RegionOp place = findRegion(module, name.str());
  if (!place)
    return op->emitOpError("expects a hone.region \"")
           << name << "\"; run hone-place first";
  return offsets.of(place);
}

FailureOr<Value> EntryConversion::region(Operation *op, Value base,
                                         const Twine &name, MemRefType type,
                                         int64_t element) {
  FailureOr<PlacedOffset> offset = regionOffset(op, name);
  if (failed(offset))
    return failure();
  int64_t bytes = element * type.getElementTypeBitWidth() / 8;
  return viewAt(builder, op->getLoc(), base, offsets, *offset, type, bytes);
}

Value EntryConversion::boundary(unsigned index, Type type) {
  return tile::ArgumentOp::create(builder, entry.getLoc(),
                                  bufferType(type, maxRows), index);
}

FailureOr<Value> EntryConversion::placeOf(Operation *op, OpResult result,
                                          Attribute attr) {
  OperandRange returned = entry.getBodyBlock().getTerminator()->getOperands();
  unsigned first = entry.getArgumentTypes().size();
  if (isa_and_present<UnitAttr>(attr))
    return boundary(first + (llvm::find(returned, result) - returned.begin()),
                    result.getType());
  if (auto inResult = dyn_cast_if_present<ResultSlotAttr>(attr))
    return boundary(first + inResult.getResult(), result.getType());
  auto slot = dyn_cast_if_present<SlotAttr>(attr);
  if (!slot)
    return op->emitOpError("expects a slot for each result; run hone-place "
                           "first");
  return viewAt(builder, op->getLoc(), work, offsets, slot,
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
  int64_t index = parameter.index;
  for (const StoredTensor &tensor :
       storedTensors(parameter.type, parameter.storage))
    arguments.push_back(tile::WeightOp::create(
        builder, op->getLoc(), bufferType(tensor.type, maxRows), index++));
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
  SmallVector<Value> arguments = {rows, scratch};
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
  for (const auto &[name, op] : callee->second.caches)
    if (failed(append(region(call, cacheRegion(call, op),
                             bufferType(CacheOp(op).getType(), maxRows)))))
      return failure();
  for (Value result : call.getResults())
    arguments.push_back(buffers.ofValue.at(result));
  for (const auto &[name, op] : callee->second.gradients)
    if (failed(
            append(gradient(call, name, GradientOp(op).getValue().getType()))))
      return failure();
  for (const RandomSource &source : callee->second.random) {
    std::string full = (call.getPrefix() + source.name).str();
    uint64_t stream = rt::hashStream(source.purpose, full);
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
  Value scratch = viewAt(builder, loc, work, offsets, slot, work.getType());
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
  // A number of no slot is, as unsigned, above the last one.
  Value number = numberOf(loc, slots, index);
  Value last =
      arith::ConstantIntOp::create(builder, loc, whole.getDimSize(0) - 1, 32);
  number = arith::MinUIOp::create(builder, loc, number, last);
  Value slot = arith::IndexCastUIOp::create(builder, loc,
                                            builder.getIndexType(), number);
  Value bytes =
      offsetOf(builder, loc, offsets, offsets.strides(pool.getType()));
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

LogicalResult EntryConversion::convert(ElementOp op) {
  Value numbers = buffers.ofValue.at(op.getNumbers());
  auto one = MemRefType::get({}, builder.getF64Type());
  Value bytes = arith::ConstantIndexOp::create(builder, op.getLoc(),
                                               op.getIndex() * sizeof(double));
  buffers.ofValue[op.getNumber()] =
      tile::ViewOp::create(builder, op.getLoc(), one, numbers, bytes);
  return success();
}

LogicalResult EntryConversion::convert(OffloadOp op) {
  Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  tile::OffloadOp::create(builder, op.getLoc(), buffers.ofValue.at(op.getX()),
                          zero, rows, op.getOffset());
  return success();
}

LogicalResult EntryConversion::convert(ReloadOp op) {
  FailureOr<Value> place = placeOf(op);
  if (failed(place))
    return failure();
  buffers.ofValue[op.getX()] = *place;
  Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  tile::ReloadOp::create(builder, op.getLoc(), *place, zero, rows,
                         op.getOffset());
  return success();
}

LogicalResult EntryConversion::convert(AwaitOp op) {
  tile::AwaitOp::create(builder, op.getLoc(), buffers.ofValue.at(op.getX()));
  return success();
}

Value EntryConversion::numberOf(Location loc, Value numbers,
                                std::optional<int64_t> element) {
  SmallVector<Value, 1> at;
  if (element)
    at.push_back(arith::ConstantIndexOp::create(builder, loc, *element));
  Value buffer = buffers.ofValue.at(numbers);
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  return tile::NumberOp::create(builder, loc, type, buffer, at);
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

LogicalResult EntryConversion::run() {
  Location loc = entry.getLoc();
  auto function =
      func::FuncOp::create(builder, loc, entryFunctionName(entry.getSymName()),
                           builder.getFunctionType({}, {}));
  function->setAttr(tile::TileDialect::kEntryAttrName, builder.getUnitAttr());
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto memory = [&](tile::MemoryBase base) -> Value {
    Type type = tile::MemoryType::get(builder.getContext());
    return tile::BaseOp::create(builder, loc, type, base);
  };
  arena = memory(tile::MemoryBase::arena);
  batch = memory(tile::MemoryBase::batch);
  work = memory(tile::MemoryBase::work);
  rows = tile::RowsOp::create(builder, loc, builder.getIndexType());
  for (BlockArgument argument : entry.getBodyBlock().getArguments())
    buffers.ofValue[argument] =
        boundary(argument.getArgNumber(), argument.getType());

  for (Operation &op : entry.getBodyBlock()) {
    LogicalResult converted =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<CallOp, LayerGradientOp, FoldGradientOp, PoolOp, KeepOp,
                  KeptOp, ElementOp, OffloadOp, ReloadOp, AwaitOp,
                  ZeroGradientOp, ZeroStateOp, GradientSquaresOp,
                  ParameterSquaresOp, EstimateGradientOp, UpdateOpInterface>(
                [&](auto typed) { return convert(typed); })
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
