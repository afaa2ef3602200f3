//===- CostEstimate.cpp - How long an entry will take ---------------------===//

#include "passes/plan/CostEstimate.h"

#include "dialects/Hone/SequenceTiles.h"
#include "passes/module/KernelNames.h"
#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"
#include "passes/place/Lifetimes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hone {

/// The parameter that `value` is, or is made of where it is read; else null.
static ParameterOp parameterOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->getNumOperands() > 0 && op->hasTrait<Ambient>())
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_if_present<ParameterOp>(op);
}

/// Whether `flops` operations of `op` are products of matrices. An element-wise
/// op has fewer for each number that it reads or writes, unless it makes random
/// ones. It may be written over its operand, which a product may not.
static bool multipliesMatrices(Operation *op, int64_t flops, int64_t rows) {
  if (isa<InPlaceOpInterface>(op))
    return false;
  constexpr int64_t mostElementWise = 8;
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  int64_t numbers = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      numbers += elementsAtRows(tensor, rows);
  return flops > mostElementWise * numbers;
}

namespace {
/// The counts of one op that is not a loop over tiles.
struct OpCounts {
  StepCounts counts;
  StorageAttr stored; ///< of the weight of a product
};
} // namespace

static OpCounts countOp(Operation *op, int64_t rows) {
  OpCounts counted;
  StepCounts &counts = counted.counts;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return counted;
  counts.flops = cost.getFlops(rows);
  counts.launches = 1;
  // A look-up reads rows of its table, and multiplies no panel of it.
  const bool isProduct = llvm::any_of(op->getOperands(), [&](Value operand) {
    return hasRows(operand.getType()) &&
           isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  });
  for (Value operand : op->getOperands()) {
    if (hasRows(operand.getType()))
      counts.rowBytes += bytesAtRows(operand.getType(), rows);
    ParameterOp weight = parameterOf(operand);
    // An adapter is narrow.
    bool isAdapter =
        weight && weight.getTrainable() && weight.getInit() != Init::Pretrained;
    if (!weight || isAdapter || weight.getType().getRank() != 2 ||
        counts.flops == 0 || !isProduct)
      continue;
    counted.stored = weight.getStoredAttr();
    counts.productFlops = counts.flops;
    counts.fills += elementsAtRows(weight.getType(), rows);
    for (const StoredTensor &tensor : storedTensors(weight))
      counts.fillBytes += bytesAtRows(tensor.type, rows);
  }
  for (Type type : op->getResultTypes())
    if (hasRows(type))
      counts.rowBytes += bytesAtRows(type, rows);
  if (counts.productFlops == 0 && multipliesMatrices(op, counts.flops, rows))
    counts.rowProductFlops = counts.flops;
  return counted;
}

/// See FamilyCounts.
static std::string familyOf(Operation *op, const OpCounts &counted,
                            bool roundsProducts) {
  std::string family;
  llvm::raw_string_ostream os(family);
  os << op->getName().stripDialect();
  auto isOfFloats = [](Type type) {
    return hasRows(type) && isa<FloatType>(getElementTypeOrSelf(type));
  };
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  if (auto rows = llvm::find_if(types, isOfFloats); rows != types.end())
    os << " " << getElementTypeOrSelf(*rows);
  if (counted.counts.productFlops > 0) {
    if (counted.stored)
      os << " " << stringifyStoredType(counted.stored.getType());
    if (roundsProducts)
      os << " rounded";
  }
  return family;
}

/// The share of one of `tiles` in `batch`, the counts of an op for `rows` rows,
/// and how many tiles there are. On average half of a block of keys is computed
/// in vain before a tile's first sequence, and half of the longest sequence is
/// left to the next tile. Attention is counted as of a batch without tiles.
static std::pair<StepCounts, int64_t> countTile(RowTilesOp tiles, int64_t rows,
                                                StepCounts batch) {
  constexpr int64_t before = kSequenceTileRows / 2;
  const int64_t taken = std::max<int64_t>(
      rowsOfTile(tiles, rows) - before - longestSequence(tiles) / 2, 1);
  const auto count = static_cast<int64_t>(llvm::divideCeil(rows, taken));
  const double share = double(taken + before) / (double(taken) * double(count));
  for (int64_t *each : {&batch.flops, &batch.productFlops, &batch.rowBytes,
                        &batch.rowProductFlops})
    *each = static_cast<int64_t>(double(*each) * share);
  return {batch, count};
}

/// Calls `visit` with the counts of each op, once for each of its tiles of
/// rows.
static void visitOps(Block &body, int64_t rows,
                     function_ref<void(Operation *, const OpCounts &)> visit) {
  for (Operation &op : body) {
    auto tiles = dyn_cast<RowTilesOp>(op);
    if (!tiles) {
      visit(&op, countOp(&op, rows));
      continue;
    }
    if (longestSequence(tiles) > 0) {
      visitOps(tiles.getBody().front(), rows,
               [&](Operation *inner, const OpCounts &counted) {
                 OpCounts ofTile = counted;
                 int64_t count;
                 std::tie(ofTile.counts, count) =
                     countTile(tiles, rows, counted.counts);
                 for (int64_t i = 0; i < count; ++i)
                   visit(inner, ofTile);
               });
      continue;
    }
    int64_t tileRows = rowsOfTile(tiles, rows);
    for (int64_t first = 0; first < rows; first += tileRows)
      visitOps(tiles.getBody().front(), std::min(tileRows, rows - first),
               visit);
  }
}

static bool roundsProducts(ModuleOp module) {
  return module->hasAttr(HoneDialect::getRoundedProductsAttrName());
}

bool isCheap(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return false;
  int64_t rows = mostRows(op).value_or(numerics::kAttentionBlock);
  return cost.getFlops(rows) <=
         CostOpInterface::cheapFlops *
             elementsAtRows(op->getResult(0).getType(), rows);
}

/// The entries of a step, and how often each is expected to run for one batch:
/// an entry that runs for the first and again for the others counts once.
static llvm::MapVector<EntryOp, int64_t> expectedRuns(ModuleOp module) {
  llvm::MapVector<EntryOp, int64_t> runs;
  SymbolTable symbols(module);
  std::optional<Schedule> schedule = Schedule::find(module, Purpose::Train);
  if (!schedule)
    for (EntryOp entry : entriesOfStep(module))
      runs[entry] = 1;
  for (const Schedule::Item &item :
       schedule ? schedule->items() : ArrayRef<Schedule::Item>()) {
    auto run = dyn_cast<RunOp>(item.op);
    if (!run)
      continue;
    int64_t times = 1;
    for (RepeatOp repeat = item.repeat; repeat;
         repeat = repeat->getParentOfType<RepeatOp>())
      times *= repeat.getExpected();
    // As if every condition held, as of calls.
    auto entry = symbols.lookup<EntryOp>(run.getEntry());
    runs[entry] = std::max(runs[entry], times);
  }
  return runs;
}

/// How often each block is expected to run in a step.
static llvm::MapVector<BlockOp, int64_t> expectedCalls(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::MapVector<BlockOp, int64_t> calls;
  for (auto [ran, expected] : expectedRuns(module)) {
    int64_t times = expected;
    (void)forEachCall(ran, symbols, [&](CallOp call, BlockOp block) {
      // As if every condition held: the block that stands in is cheaper.
      if (block.getSymName() == call.getBlock())
        calls[block] += times;
    });
  }
  return calls;
}

std::vector<KernelCounts> countKernels(ModuleOp module) {
  std::vector<KernelCounts> kernels;
  auto rows = maxRows(module);
  if (failed(rows))
    return kernels;
  for (auto [block, times] : expectedCalls(module)) {
    llvm::MapVector<Operation *, OpCounts> ops; // all tiles of each
    visitOps(block.getBody().front(), *rows,
             [&](Operation *op, const OpCounts &counted) {
               OpCounts &known = ops[op];
               known.stored = counted.stored;
               known.counts += counted.counts;
             });
    for (auto &[op, counted] : ops)
      if (counted.counts.launches > 0)
        kernels.push_back({block.getSymName().str(),
                           namesOf(kernelLocation(op)), counted.counts * times,
                           familyOf(op, counted, roundsProducts(module))});
  }
  return kernels;
}

/// Adds the counts of a call of `block`, `times` times.
static void addFamilies(BlockOp block, int64_t rows, int64_t times,
                        FamilyCounts &families) {
  const bool rounds = roundsProducts(block->getParentOfType<ModuleOp>());
  visitOps(block.getBody().front(), rows,
           [&](Operation *op, const OpCounts &counted) {
             if (counted.counts.launches == 0)
               return;
             families[familyOf(op, counted, rounds)] += counted.counts * times;
           });
}

FamilyCounts countFamilies(ModuleOp module) {
  FamilyCounts all;
  auto rows = maxRows(module);
  if (failed(rows))
    return all;
  for (auto [block, times] : expectedCalls(module))
    addFamilies(block, *rows, times, all);
  return all;
}

std::vector<FamilyCounts> countLayers(ModuleOp module, const Layers &layers) {
  std::vector<FamilyCounts> all(layers.count());
  auto rows = maxRows(module);
  if (failed(rows) || all.empty())
    return all;
  SymbolTable symbols(module);
  for (auto [entry, times] : expectedRuns(module)) {
    int64_t layer = 0;
    (void)forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
      layer = layers.numberOf(call.getPrefix())
                  .value_or(layer == 0 ? 0 : layers.count() - 1);
      addFamilies(block, *rows, /*times=*/1, all[layer]);
    });
  }
  return all;
}

double longestLaunch(ModuleOp module, const MachineCosts &costs,
                     bool bfloat16Products) {
  double longest = 0;
  auto rows = maxRows(module);
  if (failed(rows))
    return longest;
  for (auto [block, times] : expectedCalls(module))
    visitOps(block.getBody().front(), *rows,
             [&](Operation *op, const OpCounts &counted) {
               const std::string family =
                   familyOf(op, counted, bfloat16Products);
               longest = std::max(longest, costs.seconds(family, counted.counts,
                                                         bfloat16Products));
             });
  return longest;
}

} // namespace hone
