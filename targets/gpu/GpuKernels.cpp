//===- GpuKernels.cpp - Ops that a GPU computes in its own way ------------===//

#include "targets/gpu/GpuKernels.h"

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/Sizes.h"
#include "passes/kernels/LossKernels.h"
#include "targets/gpu/ProductLowering.h"
#include "targets/gpu/RowSums.h"
#include "targets/gpu/TileShape.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

/// Whether numbers of `matrix` are bfloat16 in memory.
static bool isInBFloat16(Value matrix) {
  if (auto parameter = matrix.getDefiningOp<ParameterOp>())
    if (StorageAttr stored = parameter.getStoredAttr())
      return stored.getType() == StoredType::BFloat16;
  return cast<ShapedType>(matrix.getType()).getElementType().isBF16();
}

/// Whether four subgroups multiply `a` and `w` together. Numbers that become
/// bfloat16 on the way are no group's.
static bool canMultiplyInGroups(const simt::DeviceFeatures &device, Value a,
                                Value w) {
  return device.groupMatrixUnits && isInBFloat16(a) && isInBFloat16(w);
}

llvm::StringRef GpuKernels::dialect() const {
  return simt::SimtDialect::getDialectNamespace();
}

int64_t GpuKernels::productTiles() const {
  static_assert(kPartRows == simt::kMostPlaces &&
                kPartColumns == simt::kMostPlaces);
  return device.matrixUnits ? simt::kMultiprocessors : 0;
}

bool GpuKernels::emit(Operation *op, KernelBuilder &k) const {
  bool isByMatrices =
      device.matrixUnits &&
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<AttentionOp, AttentionAdjointOp>([&](auto attention) {
            return emitRegisterAttention(attention, k, device);
          })
          .Case([&](LinearCrossEntropyOp loss) {
            int64_t rows = k.maxRows(), features = columnsOf(loss.getX());
            int64_t terms = std::min(lossPartColumns(loss), k.lossColumns());
            RoundedLoss tile{simt::kMostScalarPlaces, simt::kMostScalarPlaces};
            if (simt::hasWorkForLargeTiles(rows, features))
              tile = {simt::kMostPlaces, simt::kMostPlaces};
            if (canMultiplyInGroups(device, loss.getX(), loss.getWeight()) &&
                simt::isWorthWideTiles(rows, features, terms))
              tile.dxColumns = simt::kMostGroupColumns;
            return emitRoundedLoss(loss, k, tile);
          })
          .Default(false);
  if (isByMatrices)
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AttentionOp, CachedAttentionOp, AttentionTangentOp,
            AttentionAdjointOp>([&](auto attention) {
        emitBlockAttention(attention, k, device);
        return true;
      })
      .Default(false);
}

/// Rows of h with which a workgroup has room for x after dropout.
template <typename LoraLike>
static int64_t droppedRows(LoraLike adapter, const tile::Blocks &blocks,
                           const simt::DeviceFeatures &device) {
  auto type = cast<ShapedType>(adapter.getB().getType());
  int64_t bytes =
      computeType(type.getElementType()).getIntOrFloatBitWidth() / 8;
  int64_t width =
      std::min(columnsOf(adapter.getX()), numerics::kDropoutColumns);
  return rowsWithRoom(
      device, bytes * width,
      simt::productBytes(blocks.narrowRows, blocks.columns, device));
}

/// The end of the tiles of `op`, a product: an activation that comes next and
/// is its only user is done there.
static simt::TileEnd endOf(Operation *op) {
  Value result = op->getResult(0);
  Operation *next = op->getNextNode();
  bool gates = isa_and_present<GatedActivationOp>(next) && result.hasOneUse() &&
               *result.user_begin() == next;
  return gates ? simt::TileEnd::Gate : simt::TileEnd::Store;
}

/// Rows of an adapter's narrow results.
static int64_t narrowRowsOf(Operation *op, int64_t rows, tile::Blocks blocks,
                            const simt::DeviceFeatures &device) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoraLinearOp, LoraInnerAdjointOp, LoraLinearAdjointOp,
            LoraParameterAdjointOp>([&](auto adapter) {
        if (device.copiesInFlight &&
            simt::hasWorkForNarrowTiles(rows, columnsOf(adapter.getB())))
          blocks.narrowRows *= 2;
      });
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoraLinearOp, LoraParameterAdjointOp, LoraParameterTangentOp>(
          [&](auto adapter) {
            if (adapter.getDropout())
              blocks.narrowRows = std::min(
                  blocks.narrowRows, droppedRows(adapter, blocks, device));
          });
  return blocks.narrowRows;
}

/// Cuts an adapter's gradients. Sums over all rows are long and few: the
/// smaller a tile, the more of them run at a time.
static void cutRowSums(LoraParameterAdjointOp adapter, bool roundsProducts,
                       const simt::DeviceFeatures &device,
                       tile::Blocks &blocks) {
  const int64_t rank = columnsOf(adapter.getB()),
                in = columnsOf(adapter.getX()),
                out = columnsOf(adapter.getDy());
  if (device.matrixUnits && roundsProducts && simt::RowSums::isRank(rank) &&
      isInBFloat16(adapter.getX())) {
    blocks.columns = simt::RowSums::placesFor(in);
    blocks.narrowColumns = simt::RowSums::placesFor(out);
    return;
  }
  blocks.columns = simt::adapterColumns(rank, in, blocks.columns);
  blocks.narrowColumns = simt::thinTilePlaces(out);
}

namespace {

/// Cuts products that are a matrix unit's.
class MatrixCut {
public:
  MatrixCut(int64_t rows, const simt::DeviceFeatures &device,
            tile::Blocks &blocks)
      : rows(rows), device(device), blocks(blocks) {}

  /// The product of the first operand of `op` with `weight`.
  void cut(Operation *op, Value weight, bool canWiden, bool hasParts = false);
  /// The scores of a loss, of which `columns` exist at a time.
  void cut(LinearCrossEntropyOp loss, int64_t columns);

private:
  /// Of `columns` that are sums of `terms`.
  void widen(int64_t columns, int64_t terms, bool isByGroups,
             simt::TileEnd end);

  int64_t rows;
  const simt::DeviceFeatures &device;
  tile::Blocks &blocks;
};

} // namespace

void MatrixCut::widen(int64_t columns, int64_t terms, bool isByGroups,
                      simt::TileEnd end) {
  blocks.rows = blocks.columns = simt::kMostPlaces;
  if (!isByGroups || !simt::isWorthWideTiles(rows, columns, terms, end))
    return;
  blocks.columns = simt::kMostGroupColumns;
  blocks.bandTiles = simt::bandTiles(rows);
}

void MatrixCut::cut(Operation *op, Value weight, bool canWiden, bool hasParts) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!computeType(type.getElementType()).isF32())
    return;
  bool isByGroups = canMultiplyInGroups(device, op->getOperand(0), weight);
  int64_t columns = type.getDimSize(1);
  if (hasParts ||
      (canWiden && (isByGroups ? simt::hasWorkForGroups(rows, columns)
                               : simt::hasWorkForLargeTiles(rows, columns))))
    widen(columns, columnsOf(op->getOperand(0)), isByGroups, endOf(op));
  else
    blocks.rows = simt::matrixTileRows(rows, columns);
}

void MatrixCut::cut(LinearCrossEntropyOp loss, int64_t columns) {
  auto x = cast<RankedTensorType>(loss.getX().getType());
  if (!loss.getSmoothing() && computeType(x.getElementType()).isF32() &&
      simt::hasWorkForLargeTiles(rows, columns))
    widen(columns, columnsOf(loss.getX()),
          canMultiplyInGroups(device, loss.getX(), loss.getWeight()),
          simt::TileEnd::Scores);
}

tile::Blocks GpuKernels::blocksOf(Operation *op, int64_t rows,
                                  const KernelSettings &settings) const {
  tile::Blocks blocks = settings.blocks;
  blocks.narrowRows = narrowRowsOf(op, rows, blocks, device);
  if (auto adapter = dyn_cast<LoraParameterAdjointOp>(op);
      adapter && device.copiesInFlight && !adapter.getDropout()) {
    cutRowSums(adapter, settings.roundsProducts, device, blocks);
    return blocks;
  }
  if (!device.matrixUnits || !settings.roundsProducts)
    return blocks;
  MatrixCut matrices(rows, device, blocks);
  llvm::TypeSwitch<Operation *>(op)
      .Case<LinearOp, LinearAdjointOp>([&](auto linear) {
        matrices.cut(linear, linear.getWeight(), /*canWiden=*/true);
      })
      .Case([&](LinearCrossEntropyOp loss) {
        auto weight = cast<RankedTensorType>(loss.getWeight().getType());
        matrices.cut(loss,
                     std::min(weight.getDimSize(0), settings.lossColumns));
      })
      // Dropout between the two products of an adapter is applied to a whole
      // tile, so that has to be other products' tile, too.
      .Case<LoraLinearOp, LoraLinearAdjointOp>([&](auto linear) {
        bool isWhole = !linear.getDropout();
        matrices.cut(linear, linear.getWeight(), /*canWiden=*/isWhole,
                     isWhole && productParts(linear, linear.getWeight()) > 1);
      });
  return blocks;
}

std::string GpuKernels::refusal(Operation *op) const {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<AttentionOp, CachedAttentionOp, AttentionTangentOp,
            AttentionAdjointOp>([&](auto attention) -> std::string {
        auto type = cast<RankedTensorType>(attention.getQ().getType());
        auto heads = static_cast<int64_t>(attention.getHeads());
        int64_t features = type.getDimSize(1) / heads;
        int64_t most = *mostHeadFeatures(attention, device);
        if (features <= most)
          return {};
        // The message has the size for which all of the program's ops have
        // room.
        op->getParentOfType<ModuleOp>().walk([&](Operation *other) {
          if (std::optional<int64_t> room = mostHeadFeatures(other, device))
            most = std::min(most, *room);
        });
        return "expected heads of at most " + std::to_string(most) +
               " features, for which a workgroup has memory, but found " +
               std::to_string(features);
      })
      .Default(std::string());
}

int64_t hone::rowsWithRoom(const simt::DeviceFeatures &device,
                           int64_t bytesPerRow, int64_t bytes) {
  for (int64_t rows : {64, 32})
    if (bytes + rows * bytesPerRow <= device.sharedBytesOfEach(2))
      return rows;
  // Products compute 16 rows at least, so fewer are only for kernels that have
  // no room for them.
  for (int64_t rows : {16, 8})
    if (bytes + rows * bytesPerRow <= device.sharedBytes)
      return rows;
  return kFewestAttentionRows;
}
