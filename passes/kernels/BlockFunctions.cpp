//===- BlockFunctions.cpp - A block as one function of tile ops -----------===//
//
// Every op that computes has a kernel (Kernels.h), or a formula for one
// element.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/BlockFunctions.h"

#include "dialects/Hone/SequenceTiles.h"
#include "dialects/Tile/PlacedMemory.h"
#include "passes/kernels/Kernels.h"
#include "passes/kernels/SequenceLoop.h"
#include "passes/place/Lifetimes.h"
#include "runtime/include/hone/runtime.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

static std::optional<RandomSource> sourceOf(Operation *op) {
  auto random = dyn_cast<RandomOpInterface>(op);
  return random ? random.getRandomSource() : std::nullopt;
}

BlockInterface hone::describeBlock(BlockOp block) {
  BlockInterface interface;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      interface.parameters.insert({parameter.getName(), parameter});
    else if (auto input = dyn_cast<InputOp>(op))
      interface.inputs.insert({input.getName(), input});
    else if (auto cache = dyn_cast<CacheOp>(op))
      interface.caches.insert({cache.getName(), cache});
    else if (auto gradient = dyn_cast<GradientOp>(op))
      interface.gradients.insert({gradient.getOf(), gradient});
    else if (auto random = sourceOf(op);
             random && !llvm::is_contained(interface.random, *random))
      interface.random.push_back(*random);
  });
  return interface;
}

static FunctionType functionType(BlockOp block, const BlockInterface &interface,
                                 int64_t maxRows) {
  MLIRContext *context = block.getContext();
  SmallVector<Type> inputs = {IndexType::get(context),
                              tile::MemoryType::get(context)};
  auto append = [&](Type type) { inputs.push_back(bufferType(type, maxRows)); };
  llvm::for_each(block.getArgumentTypes(), append);
  for (const auto &[name, op] : interface.parameters)
    for (const StoredTensor &tensor : storedTensors(op))
      append(tensor.type);
  for (const auto &[name, op] : interface.inputs)
    append(InputOp(op).getType());
  for (const auto &[name, op] : interface.caches)
    append(CacheOp(op).getType());
  llvm::for_each(block.getResultTypes(), append);
  for (const auto &[name, op] : interface.gradients)
    append(GradientOp(op).getValue().getType());
  inputs.append(interface.random.size(), IntegerType::get(context, 64));
  return FunctionType::get(context, inputs, {});
}

Value hone::viewAt(OpBuilder &builder, Location loc, Value base, int64_t offset,
                   Type type) {
  Value bytes = arith::ConstantIndexOp::create(builder, loc, offset);
  return tile::ViewOp::create(builder, loc, type, base, bytes);
}

Value hone::offsetOf(OpBuilder &builder, Location loc,
                     const OffsetTable &offsets, const PlacedOffset &offset,
                     int64_t bytes) {
  const uint32_t number = offsets.find(offset);
  if (number == HONE_NO_PLACE)
    return arith::ConstantIndexOp::create(builder, loc, offset.front() + bytes);
  auto found =
      tile::OffsetOp::create(builder, loc, builder.getIndexType(), number);
  found->setAttr(tile::kPlacedOffsetsAttrName,
                 builder.getDenseI64ArrayAttr(offset));
  if (bytes == 0)
    return found;
  Value more = arith::ConstantIndexOp::create(builder, loc, bytes);
  return arith::AddIOp::create(builder, loc, found, more);
}

Value hone::viewAt(OpBuilder &builder, Location loc, Value base,
                   const OffsetTable &offsets, const PlacedOffset &offset,
                   Type type, int64_t bytes) {
  return tile::ViewOp::create(builder, loc, type, base,
                              offsetOf(builder, loc, offsets, offset, bytes));
}

Value hone::viewAt(OpBuilder &builder, Location loc, Value base,
                   const OffsetTable &offsets, SlotAttr slot, Type type) {
  Value view = viewAt(builder, loc, base, offsets, offsets.of(slot), type);
  SmallVector<int64_t> bytes;
  for (unsigned i = 0; i < offsets.placements(); ++i)
    bytes.push_back(slot.bytesIn(i));
  // If all are equal, the type has the number, unless it is memory.
  if (!llvm::all_equal(bytes) || isa<tile::MemoryType>(type))
    view.getDefiningOp()->setAttr(tile::kPlacedBytesAttrName,
                                  builder.getDenseI64ArrayAttr(bytes));
  return view;
}

/// Whether ops of the kind compute by a kernel of their own: they have costs,
/// no formula for one element, and no body.
template <typename Op>
static constexpr bool hasOwnKernel =
    Op::template hasTrait<CostOpInterface::Trait>() &&
    !Op::template hasTrait<ElementwiseOpInterface::Trait>() &&
    Op::template hasTrait<OpTrait::ZeroRegions>();

/// Emits the kernel of `op` if it is one of `Ops`, all of the dialect. Does not
/// compile where emitKernel (Kernels.h) lacks one.
template <typename... Ops>
static bool emitOwnKernel(Operation &op, KernelBuilder &k) {
  auto emitIf = [&](auto typed) {
    using Op = decltype(typed);
    if constexpr (hasOwnKernel<Op>)
      if (auto found = dyn_cast<Op>(op)) {
        emitKernel(found, k);
        return true;
      }
    return false;
  };
  return (emitIf(Ops()) || ...);
}

/// Emits the kernel of one op that computes.
static LogicalResult emitCompute(Operation &op, KernelBuilder &k) {
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op)) {
    emitElementwise(elementwise, k);
    return success();
  }
  if (emitOwnKernel<
#define GET_OP_LIST
#include "dialects/Hone/HoneOpList.inc"
          >(op, k))
    return success();
  return op.emitOpError("expects a kernel in passes/kernels but none is known "
                        "for this op");
}

/// The element-wise op that reads the first result of `op` next and alone, and
/// that the kernel of `op` can apply on the way; null if there is none.
static ElementwiseOpInterface followerOf(Operation &op,
                                         const SharedMemory &shared) {
  if (!op.hasTrait<TakesEpilogue>())
    return {};
  Operation *next = op.getNextNode();
  while (next->hasTrait<Ambient>())
    next = next->getNextNode();
  Value product = op.getResult(0);
  auto follower = dyn_cast<ElementwiseOpInterface>(next);
  bool follows = follower && next->getNumResults() == 1 &&
                 next->getResult(0).getType() == product.getType() &&
                 product.hasOneUse() && *product.user_begin() == next;
  return follows && shared.mayWriteDuring(next->getResult(0), &op)
             ? follower
             : ElementwiseOpInterface();
}

namespace {
/// Writes the ops of one block into its function, at the builder's place.
class BodyEmitter {
public:
  BodyEmitter(OpBuilder &builder, const TileOptions &options)
      : builder(builder), options(options) {}

  /// Gives the values of `block` the `arguments` of its function after rows and
  /// scratch, which are in the order of functionType().
  void bind(BlockOp block, const BlockInterface &interface,
            ValueRange arguments);

  /// All ops of `body` for `rows` rows, at most `maxRows`, with the values that
  /// placement put in its memory from `scratch` on.
  LogicalResult emit(mlir::Block &body, Value scratch, Value rows,
                     int64_t maxRows);

private:
  /// Makes a view of the parameter of `op`, a hone.perturbed or a
  /// hone.direction, whose numbers are formed where they are read.
  template <typename Op> void formWhereRead(Op op, bool isDirection);
  LogicalResult place(Operation &op, Value scratch, int64_t maxRows);
  LogicalResult emitTiles(RowTilesOp op, Value scratch, Value rows,
                          int64_t maxRows);
  /// Emits the tile of the `count` rows of the batch from `first` on.
  LogicalResult emitTile(RowTilesOp op, Value inner, Value first, Value count,
                         int64_t tileRows);
  LogicalResult emitSequences(RowTilesOp op, Value inner,
                              const SequenceTile &tile, int64_t tileRows);
  /// Moves the rows of results before the first sequence of `tile` to `memory`,
  /// or back.
  void emitRowsBefore(RowTilesOp op, Value memory, const SequenceTile &tile,
                      bool movesBack);

  OpBuilder &builder;
  const TileOptions &options;
  Buffers buffers;
  llvm::StringMap<Value> gradients; ///< by name
};
} // namespace

template <typename Op>
void BodyEmitter::formWhereRead(Op op, bool isDirection) {
  // A memref of its own: the parameter may be read as it is, too.
  Value stored = buffers.ofValue.at(op.getParameter());
  Value view = viewAt(builder, op.getLoc(), stored, 0,
                      cast<MemRefType>(stored.getType()));
  ParameterView &how = buffers.parameters[view];
  how.key = buffers.ofValue.at(op.getKey());
  if (Value scale = op.getScale())
    how.scale = buffers.ofValue.at(scale);
  how.isDirection = isDirection;
  how.stream = buffers.streams.at(op);
  buffers.ofValue[op.getResult()] = view;
}

void BodyEmitter::bind(BlockOp block, const BlockInterface &interface,
                       ValueRange arguments) {
  auto next = [&] {
    Value argument = arguments.front();
    arguments = arguments.drop_front();
    return argument;
  };
  Block &body = block.getBody().front();
  llvm::StringMap<Value> parameters, inputs, caches;
  for (Value argument : body.getArguments())
    buffers.ofValue[argument] = next();
  for (const auto &[name, op] : interface.parameters) {
    Value numbers = parameters[name] = next();
    if (StorageAttr storage = ParameterOp(op).getStoredAttr();
        storage && storage.isGrouped()) {
      Value scales = next(), biases = next();
      ParameterView &view = buffers.parameters[numbers];
      std::tie(view.scales, view.biases) = std::pair(scales, biases);
      view.bits = storage.getBits();
    }
  }
  for (const auto &[name, op] : interface.inputs)
    inputs[name] = next();
  for (const auto &[name, op] : interface.caches)
    caches[name] = next();
  for (Value result : body.getTerminator()->getOperands())
    buffers.ofValue[result] = next();
  for (const auto &[name, op] : interface.gradients)
    gradients[name] = next();
  block.walk([&](Operation *op) {
    if (auto random = sourceOf(op))
      buffers.streams[op] = arguments[llvm::find(interface.random, *random) -
                                      interface.random.begin()];
    if (auto parameter = dyn_cast<ParameterOp>(op))
      buffers.ofValue[parameter.getResult()] = parameters[parameter.getName()];
    else if (auto input = dyn_cast<InputOp>(op))
      buffers.ofValue[input.getResult()] = inputs[input.getName()];
    else if (auto cache = dyn_cast<CacheOp>(op))
      buffers.ofValue[cache.getResult()] = caches[cache.getName()];
    else if (auto gradient = dyn_cast<GradientOp>(op);
             gradient && isOnlyAddedToGradient(gradient.getValue()))
      buffers.sinks[gradient.getValue()] = gradients[gradient.getOf()];
    else if (auto perturbed = dyn_cast<PerturbedOp>(op))
      formWhereRead(perturbed, /*isDirection=*/false);
    else if (auto direction = dyn_cast<DirectionOp>(op))
      formWhereRead(direction, /*isDirection=*/true);
  });
}

/// Makes views of the op's results and workspace.
LogicalResult BodyEmitter::place(Operation &op, Value scratch,
                                 int64_t maxRows) {
  auto slots = op.getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  auto returned = op.getBlock()->getTerminator()->getOperands();
  for (OpResult result : op.getResults()) {
    if (buffers.ofValue.contains(result) || buffers.sinks.contains(result))
      continue;
    unsigned i = result.getResultNumber();
    Attribute place = slots && i < slots.size() ? slots[i] : Attribute();
    if (auto inResult = dyn_cast_or_null<ResultSlotAttr>(place)) {
      const int64_t index = inResult.getResult();
      if (index < 0 || index >= static_cast<int64_t>(returned.size()))
        return op.emitOpError("expects result #")
               << i << " to be in memory of one of " << returned.size()
               << " results of its block, but got " << inResult;
      Value memory = buffers.ofValue.at(returned[index]);
      buffers.ofValue[result] = memory;
      continue;
    }
    auto slot = dyn_cast_or_null<SlotAttr>(place);
    if (!slot)
      return op.emitOpError("expects a slot for result #")
             << i << "; run hone-place first";
    buffers.ofValue[result] =
        viewAt(builder, op.getLoc(), scratch, options.offsets, slot,
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
  for (auto [i, type] : llvm::enumerate(types)) {
    auto slot = dyn_cast<SlotAttr>(places[i]);
    if (!slot)
      return op.emitOpError("expects a slot for workspace #")
             << i << " but got " << places[i];
    views.push_back(
        viewAt(builder, op.getLoc(), scratch, options.offsets, slot, type));
  }
  return success();
}

LogicalResult BodyEmitter::emit(mlir::Block &body, Value scratch, Value rows,
                                int64_t maxRows) {
  Lifetimes lifetimes(body);
  SharedMemory shared(body, lifetimes);
  Operation *done = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<Ambient>() || &op == done)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    ElementwiseOpInterface follower = followerOf(op, shared);
    done = follower;
    if (failed(place(op, scratch, maxRows)) ||
        (follower && failed(place(*follower, scratch, maxRows))))
      return failure();
    KernelSettings settings = options.settings;
    if (options.kernels) {
      settings.roundsThinProducts = options.kernels->roundsThinProducts();
      settings.blocks = options.kernels->blocksOf(&op, maxRows, settings);
    }
    KernelBuilder kernel(&op, builder, buffers, settings, rows, maxRows,
                         follower);
    if (auto tiles = dyn_cast<RowTilesOp>(op)) {
      if (failed(emitTiles(tiles, scratch, rows, maxRows)))
        return failure();
    } else if (auto gradient = dyn_cast<GradientOp>(op)) {
      if (!buffers.sinks.contains(gradient.getValue()))
        emitGradientSum(kernel.buffer(gradient.getValue()),
                        gradients[gradient.getOf()], kernel);
    } else if (bool isEmitted =
                   options.kernels && options.kernels->emit(&op, kernel);
               !isEmitted && failed(emitCompute(op, kernel))) {
      return failure();
    }
    if (!kernel.didFollower())
      return op.emitOpError("expects its kernel to do its follower's work");
  }
  return success();
}

/// Rows `first` and following of `buffer`, up to `rows`.
static Value rowsFrom(OpBuilder &builder, Location loc, Value buffer,
                      Value first, int64_t rows) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = rows;
  auto slice = MemRefType::get(shape, type.getElementType());
  Value rowBytes = arith::ConstantIndexOp::create(
      builder, loc,
      llvm::divideCeil(
          slice.getNumElements() / rows * type.getElementTypeBitWidth(), 8));
  Value offset = arith::MulIOp::create(builder, loc, first, rowBytes);
  return tile::ViewOp::create(builder, loc, slice, buffer, offset);
}

LogicalResult BodyEmitter::emitTiles(RowTilesOp op, Value scratch, Value rows,
                                     int64_t maxRows) {
  auto slot = op->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  if (!slot)
    return op.emitOpError("expects a slot for its scratch; run hone-place "
                          "first");
  Location loc = op.getLoc();
  int64_t tileRows = rowsOfTile(op, maxRows);
  Value inner =
      viewAt(builder, loc, scratch, options.offsets, slot, scratch.getType());
  if (longestSequence(op) > 0)
    return forEachSequenceTile(
        builder, loc, buffers.ofValue.at(op.getOperands().front()), rows,
        tileRows, [&](const SequenceTile &tile) {
          return emitSequences(op, inner, tile, tileRows);
        });
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  const PlacedOffset heights = options.offsets.heights(op);
  Value step = arith::ConstantIndexOp::create(builder, loc, tileRows);
  if (options.offsets.find(heights) != HONE_NO_PLACE) {
    Value unit = arith::ConstantIndexOp::create(builder, loc, HONE_PLACE_BYTES);
    Value height = offsetOf(builder, loc, options.offsets, heights);
    step = arith::DivUIOp::create(builder, loc, height, unit);
  }
  auto loop = scf::ForOp::create(builder, loc, zero, rows, step);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  Value left = arith::SubIOp::create(builder, loc, rows, first);
  Value count = arith::MinUIOp::create(builder, loc, step, left);
  return emitTile(op, inner, first, count, tileRows);
}

LogicalResult BodyEmitter::emitTile(RowTilesOp op, Value inner, Value first,
                                    Value count, int64_t tileRows) {
  mlir::Block &body = op.getBody().front();
  auto slice = [&](Value outside, Value inside) {
    Value whole = buffers.ofValue.at(outside);
    buffers.ofValue[inside] =
        hasRows(outside.getType())
            ? rowsFrom(builder, op.getLoc(), whole, first, tileRows)
            : whole;
  };
  for (auto [operand, argument] :
       llvm::zip(op.getOperands(), body.getArguments()))
    slice(operand, argument);
  for (auto [result, returned] :
       llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    slice(result, returned);
  buffers.firstRow = first;
  LogicalResult isEmitted = emit(body, inner, count, tileRows);
  buffers.firstRow = {};
  return isEmitted;
}

void BodyEmitter::emitRowsBefore(RowTilesOp op, Value memory,
                                 const SequenceTile &tile, bool movesBack) {
  constexpr int64_t most = kSequenceTileRows - 1;
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value rows = arith::SubIOp::create(builder, loc, tile.start, tile.first);
  Value hasRows =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rows, zero);
  auto branch = scf::IfOp::create(builder, loc, hasRows);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelBuilder k(op, builder, buffers, options.settings, rows, most);
  int64_t offset = 0;
  for (Value result : op.getResults()) {
    MemRefType whole = bufferType(result.getType(), most);
    int64_t columns = whole.getNumElements() / most;
    auto type = MemRefType::get({most, columns}, whole.getElementType());
    Value there =
        rowsFrom(builder, loc, buffers.ofValue.at(result), tile.first, most);
    Value from = viewAt(builder, loc, there, 0, type);
    Value to = viewAt(builder, loc, memory, offset, type);
    if (movesBack)
      std::swap(from, to);
    k.forEachElement(columns, [&](Value row, Value column) {
      k.store(k.load(from, {row, column}), to, {row, column});
    });
    offset += bytesBeforeSequences(result.getType());
  }
}

LogicalResult BodyEmitter::emitSequences(RowTilesOp op, Value inner,
                                         const SequenceTile &tile,
                                         int64_t tileRows) {
  Value values = viewAt(builder, op.getLoc(), inner, bytesBeforeSequences(op),
                        inner.getType());
  emitRowsBefore(op, inner, tile, /*movesBack=*/false);
  if (failed(emitTile(op, values, tile.first, tile.count, tileRows)))
    return failure();
  emitRowsBefore(op, inner, tile, /*movesBack=*/true);
  return success();
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
  BodyEmitter emitter(builder, options);
  emitter.bind(block, interface, arguments.drop_front(2));
  if (failed(emitter.emit(block.getBody().front(), /*scratch=*/arguments[1],
                          /*rows=*/arguments[0], maxRows)))
    return failure();
  func::ReturnOp::create(builder, block.getLoc());
  return success();
}
