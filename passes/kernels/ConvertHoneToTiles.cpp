//===- ConvertHoneToTiles.cpp - hone-convert-to-tiles ---------------------===//
//
// The shell: functions are made beside the blocks and entries they come from
// (passes/kernels), which are then removed together with the regions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Sizes.h"
#include "passes/Passes.h"
#include "passes/kernels/BlockFunctions.h"
#include "passes/place/Lifetimes.h"

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace hone {
#define GEN_PASS_DEF_CONVERTTOTILES
#include "passes/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// The code of entries, which is calls: each address that their layers read or
/// write takes two instructions at most.
static int64_t bytesOfCalls(ModuleOp module) {
  constexpr int64_t addressBytes = 16;
  int64_t bytes = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(tile::TileDialect::kEntryAttrName))
      function.walk([&](Operation *op) {
        if (isa<func::CallOp>(op) || tile::callsRuntime(op))
          bytes += addressBytes * (op->getNumOperands() + 1);
      });
  return bytes;
}

namespace {
struct ConvertToTiles : public hone::impl::ConvertToTilesBase<ConvertToTiles> {
  using ConvertToTilesBase::ConvertToTilesBase;
  ConvertToTiles(const tile::Blocks &cuts, const TargetKernels *kernels)
      : ConvertToTilesBase({cuts.columns, cuts.rows}), cuts(cuts),
        kernels(kernels) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> rows = maxRows(module);
    if (failed(rows))
      return signalPassFailure();
    FailureOr<ParameterTable> table = ParameterTable::build(module);
    if (failed(table))
      return signalPassFailure();

    auto blocks = llvm::to_vector(module.getOps<BlockOp>());
    auto entries = llvm::to_vector(module.getOps<EntryOp>());
    const OffsetTable offsets = OffsetTable::of(module);
    tile::Blocks cut = cuts;
    cut.columns = blockColumns;
    cut.rows = blockRows;
    TileOptions options{
        {cut, module->hasAttr(HoneDialect::getRoundedProductsAttrName()),
         module->hasAttr(HoneDialect::getAnyOrderProductsAttrName()),
         lossColumns(module)},
        *rows,
        offsets,
        kernels};
    llvm::StringMap<BlockInterface> interfaces;
    for (BlockOp block : blocks) {
      BlockInterface &interface = interfaces[block.getSymName()];
      interface = describeBlock(block);
      if (failed(createBlockFunction(block, interface, options)))
        return signalPassFailure();
    }
    SharedFunctions shared;
    for (EntryOp entry : entries)
      if (failed(
              createEntryFunction(entry, *table, interfaces, shared, options)))
        return signalPassFailure();
    module.walk([](ScalarOp scalar) { createScalarEntry(scalar); });
    for (ScheduleOp schedule :
         llvm::make_early_inc_range(module.getOps<ScheduleOp>()))
      schedule.erase();
    for (EntryOp entry : entries)
      entry.erase();
    for (BlockOp block : blocks)
      block.erase();
    for (RegionOp region :
         llvm::make_early_inc_range(module.getOps<RegionOp>()))
      region.erase();
    int64_t tables = bytesOfCalls(module);
    for (unsigned i = 0; i < offsets.placements(); ++i)
      tables += offsets.offsetsIn(i).size() * sizeof(uint32_t);
    for (auto global : module.getOps<memref::GlobalOp>())
      tables += llvm::divideCeil(global.getType().getNumElements() *
                                     global.getType().getElementTypeBitWidth(),
                                 8);
    module->setAttr(tile::TileDialect::kTableBytesAttrName,
                    Builder(module).getI64IntegerAttr(tables));
  }

  tile::Blocks cuts;
  const TargetKernels *kernels = nullptr;
};
} // namespace

std::unique_ptr<Pass> hone::createConvertToTiles(const tile::Blocks &blocks,
                                                 const TargetKernels *kernels) {
  return std::make_unique<ConvertToTiles>(blocks, kernels);
}
