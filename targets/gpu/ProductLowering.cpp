//===- ProductLowering.cpp - tile.product on a workgroup ------------------===//
//
// Which tile a product has, and products on one `c` in turn. TileProduct.cpp
// has a workgroup's work on a tile.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/ProductLowering.h"

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/TileProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

std::optional<int64_t> simt::upperBound(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  auto least = value.getDefiningOp<arith::MinUIOp>();
  if (!least)
    return std::nullopt;
  std::optional<int64_t> a = upperBound(least.getLhs()),
                         b = upperBound(least.getRhs());
  return a && b ? std::min(*a, *b) : a ? a : b;
}

bool simt::areBFloat16(tile::ProductOp op) {
  auto isBFloat16 = [](Value matrix) {
    return cast<MemRefType>(matrix.getType()).getElementType().isBF16();
  };
  return isBFloat16(op.getA()) && isBFloat16(op.getW());
}

/// The tile of all products on one `c`.
static TileShape shapeOf(ArrayRef<tile::ProductOp> products, bool byMatrices,
                         const DeviceFeatures &device) {
  tile::ProductOp op = products.front();
  int64_t rows = upperBound(op.getM()).value_or(kMostPlaces);
  int64_t columns = op.getColumns();
  if (op.getFewRows() && !byMatrices)
    if (std::optional<TileShape> narrow = TileShape::narrow(rows, columns))
      return *narrow;
  // Numbers that become bfloat16 on the way are no group's.
  bool byGroups =
      device.groupMatrixUnits && llvm::any_of(products, areBFloat16);
  return TileShape::of(rows, columns, byMatrices, byGroups);
}

int64_t simt::productBytes(int64_t rows, int64_t columns,
                           const DeviceFeatures &device) {
  int64_t most = 0;
  for (bool byMatrices : {false, device.matrixUnits}) {
    TileShape shape =
        TileShape::of(rows, columns, byMatrices, device.groupMatrixUnits);
    most = std::max(most, stageBytes(shape.rows) + stageBytes(shape.columns));
  }
  return most * (device.copiesInFlight ? kStagesInFlight : 1);
}

/// Whether three workgroups with such products have registers and memory: up to
/// 16 sums of a thread, and stages of bfloat16.
static bool isSmallProduct(tile::ProductOp op, const DeviceFeatures &device) {
  if (!device.matrixUnits || !op.getRounded() || op.getFewRows())
    return false;
  TileShape shape = shapeOf(op, /*byMatrices=*/true, device);
  bool isShort = upperBound(op.getK()).value_or(kMostPlaces) <= kMatrixTerms;
  int64_t bytes =
      kStagesInFlight * 2 * kStageBytes * (shape.rows + shape.columns);
  return std::max(shape.rows, shape.columns) <= kMostScalarPlaces &&
         bytes <= device.sharedBytesOfEach(3) &&
         (isShort || (op.getReadAhead() && areBFloat16(op)));
}

int64_t simt::workgroupsAtOnce(mlir::gpu::GPUFuncOp kernel,
                               const DeviceFeatures &device) {
  bool hasProducts = false, hasOthers = false, isWide = false;
  bool hasWideTile = false;
  kernel.walk([&](Operation *op) {
    if (auto adjoint = dyn_cast<AttentionKeyAdjointOp>(op))
      isWide |= adjoint.getHeadDim() > kNarrowHead &&
                (adjoint.getByGroups() || device.spillsWideKeys);
    if (auto product = dyn_cast<tile::ProductOp>(op)) {
      hasProducts = true;
      hasWideTile |=
          shapeOf(product, usesMatrixUnits(product, device), device).isWide();
      hasOthers |= !isSmallProduct(product, device) ||
                   shapeOf(product, true, device).rows < kMostScalarPlaces;
    } else {
      hasOthers |=
          isa_and_present<tile::TileDialect, SimtDialect>(op->getDialect()) &&
          !isa<tile::ViewOp, tile::YieldOp, ChainOp>(op);
    }
  });
  if (isWide || hasWideTile)
    return 1;
  return hasProducts && !hasOthers ? 3 : 2;
}

SmallVector<Value> simt::multiplyOnce(TeamBuilder &b, ArrayRef<Value> as,
                                      ArrayRef<Value> ws,
                                      ArrayRef<Value> before) {
  Type real = before.front().getType();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                               SmallVector<Type>(4, real));
  std::array<int64_t, 3> size = {kMatrixRows, kMatrixColumns, kMatrixTerms};
  Value sums = NVVM::MmaOp::create(
      b, type, as, ws, before, size, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt,
      std::array{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value> after;
  for (int64_t i = 0; i < 4; ++i)
    after.push_back(LLVM::ExtractValueOp::create(b, sums, i));
  return after;
}

void simt::fenceForGroups(TeamBuilder &b) {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

/// How blocks of `op` are split, if they are. Only those of few rows are:
/// others stand where shared memory is spoken for.
static std::optional<BlockSplit> splitOf(tile::ProductOp op, const Team &team) {
  std::optional<int64_t> rows = upperBound(op.getM());
  if (!op.getFewRows() || !rows || usesMatrixUnits(op, team.state.device))
    return std::nullopt;
  return BlockSplit::of(*rows, op.getColumns(), op.getTerms(),
                        upperBound(op.getK()), team.state.device);
}

void hone::simt::lowerProduct(tile::ProductOp op, const Team &team) {
  const DeviceFeatures &device = team.state.device;
  // `add` is given a tile's sums before the product.
  auto lower = [&](const TileShape &shape, auto add) {
    TileProduct product(op, shape, team);
    product.forEachTile([&](Value i, Value j) {
      product.finish(i, j, add(product, i, j, product.before(i, j)));
    });
  };
  if (std::optional<ThinTile> tile = ThinTile::of(op, device))
    return lower(TileShape::dealtOut(tile->rows, tile->columns),
                 [&](TileProduct &product, Value, Value, ValueRange had) {
                   return product.addThin(*tile, had);
                 });
  if (std::optional<RowSums> tile = RowSums::of(op, device))
    return lower(TileShape::dealtOut(tile->rows(), tile->columns()),
                 [&](TileProduct &product, Value, Value, ValueRange had) {
                   return product.addRowSums(*tile, had);
                 });
  if (std::optional<BlockSplit> split = splitOf(op, team))
    return lower(TileShape::dealtOut(split->shape.rows, split->shape.columns),
                 [&](TileProduct &product, Value, Value, ValueRange had) {
                   return product.addSplit(*split, had);
                 });
  lower(shapeOf(op, usesMatrixUnits(op, device), device),
        [](TileProduct &product, Value i, Value j, ValueRange had) {
          return product.addTo(i, j, had);
        });
}

bool hone::simt::isOneTile(tile::ProductOp op) {
  auto isWithin = [](std::optional<int64_t> size, int64_t most) {
    return size && *size <= most;
  };
  int64_t columns = op.getColumns();
  return isWithin(upperBound(op.getM()), kMostScalarPlaces) &&
         isWithin(upperBound(op.getN()).value_or(columns), kMostScalarPlaces);
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {

class ChainLowering {
public:
  ChainLowering(ChainOp chain, const Team &team,
                function_ref<LogicalResult(Operation *)> distribute)
      : chain(chain), team(team), distribute(distribute),
        products(chain.getProducts()),
        shape(shapeOf(products,
                      llvm::any_of(products,
                                   [&](tile::ProductOp op) {
                                     return usesMatrixUnits(op,
                                                            team.state.device);
                                   }),
                      team.state.device)),
        first(products.front(), shape, team,
              OpBuilder(chain).saveInsertionPoint()),
        b(first.b) {}

  LogicalResult lower();

private:
  /// Moves the ops of `block` to where the builder is. The sums of tile `i`,
  /// `j` after them.
  SmallVector<Value> build(Block &block, Value i, Value j, ValueRange sums);

  ChainOp chain;
  const Team &team;
  function_ref<LogicalResult(Operation *)> distribute;
  SmallVector<tile::ProductOp> products;
  const TileShape shape;
  TileProduct first;
  TeamBuilder &b; ///< where code goes
  bool failedOnce = false;
};

} // namespace

SmallVector<Value> ChainLowering::build(Block &block, Value i, Value j,
                                        ValueRange given) {
  SmallVector<Value> sums(given);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    auto holds = [&](tile::ProductOp product) { return chain.holds(product); };
    auto product = dyn_cast<tile::ProductOp>(op);
    auto loop = dyn_cast<scf::ForOp>(op);
    bool isLoopOfIt =
        loop && llvm::any_of(loop.getBody()->getOps<tile::ProductOp>(), holds);
    if (isLoopOfIt) {
      auto carrying = scf::ForOp::create(
          b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), sums,
          [&](OpBuilder &, Location, Value at, ValueRange carried) {
            loop.getInductionVar().replaceAllUsesWith(at);
            scf::YieldOp::create(b, build(*loop.getBody(), i, j, carried));
          });
      sums = llvm::to_vector_of<Value>(carrying.getResults());
      loop.erase();
      continue;
    }
    op.moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    if (product && holds(product)) {
      sums = TileProduct(product, shape, team).addTo(i, j, sums);
    } else {
      failedOnce |= failed(distribute(&op));
    }
  }
  return sums;
}

LogicalResult ChainLowering::lower() {
  first.forEachTile([&](Value i, Value j) {
    SmallVector<Value> sums =
        build(chain.getBody().front(), i, j, first.before(i, j));
    TileProduct(products.back(), shape, team, b.saveInsertionPoint())
        .finish(i, j, sums);
  });
  for (tile::ProductOp product : products)
    product.erase();
  chain.erase();
  return failure(failedOnce);
}

LogicalResult
hone::simt::lowerChain(ChainOp chain, const Team &team,
                       function_ref<LogicalResult(Operation *)> distribute) {
  return ChainLowering(chain, team, distribute).lower();
}
