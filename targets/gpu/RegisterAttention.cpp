//===- RegisterAttention.cpp - Attention of bfloat16 on matrix units ------===//
//
// The same as BlockAttention.cpp, which goes block by block in shared memory,
// but with all scores in registers of the subgroup that wants them:
// AttentionLowering.cpp has how.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/GpuKernels.h"

#include "passes/kernels/AttentionKernels.h"
#include "targets/gpu/AttentionLowering.h"
#include "targets/gpu/TileShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;

/// An H100 takes 275 us for 8 x 1,024 rows with 32, and 325 us with 64: of few
/// workgroups some have most of the work.
static constexpr int64_t kMostKeyRows = 32;

template <typename Op> static bool hasRegisters(Op op, KernelBuilder &k) {
  auto type = cast<RankedTensorType>(op.getQ().getType());
  int64_t headDim = type.getDimSize(1) / static_cast<int64_t>(op.getHeads());
  // Products that round are on matrix units.
  return type.getElementType().isBF16() && k.rounds(k.getF32Type()) &&
         (headDim == 64 || headDim == 128) &&
         op.getScale().convertToDouble() > 0;
}

namespace {

/// How the work of a head is cut for workgroups. No bit depends on rows.
struct Workgroups {
  Workgroups(const AttentionSizes &sizes, KernelBuilder &k,
             const simt::DeviceFeatures &device);

  bool byGroups; ///< four subgroups multiply together
  int64_t parts; ///< of a head's features, each a workgroup's
  int64_t queryRows, keyRows;
  /// A workgroup of keys has a block of them, and the one that is as far from
  /// the end. Early keys of a sequence have the most queries: with as many rows
  /// of each sequence all workgroups have the same work.
  bool pairsKeys = false;

  UnitAttr groups(KernelBuilder &k) const {
    return byGroups ? k.getUnitAttr() : UnitAttr();
  }
  /// body(head, part, block) for each part of each of `heads`. Workgroups that
  /// begin last should be short: late rows of a sequence see the most keys, so
  /// queries begin with the last.
  void forEach(KernelBuilder &k, int64_t heads, int64_t rows, bool lastFirst,
               function_ref<void(Value, Value, const HeadBlock &)> body) const;
  /// The same for each pair of blocks of keys, one after the other.
  void
  forEachPair(KernelBuilder &k, int64_t heads,
              function_ref<void(Value, Value, const HeadBlock &)> body) const;
};

} // namespace

Workgroups::Workgroups(const AttentionSizes &sizes, KernelBuilder &k,
                       const simt::DeviceFeatures &device) {
  auto isWork = [&](int64_t heads, int64_t rows) {
    return heads * k.maxRows() >= rows * simt::kMultiprocessors;
  };
  // A subgroup has 16 of the queries. A window's workgroup has fewer, as it
  // reads all keys that any of its rows sees.
  constexpr int64_t kMost = simt::kMatrixRows * simt::kSubgroups;
  byGroups =
      device.groupMatrixUnits && !sizes.window && isWork(sizes.heads, kMost);
  parts = byGroups ? 1 : sizes.headDim / simt::kResultFeatures;
  queryRows = sizes.window ? numerics::kAttentionRows : kMost;
  while (queryRows > 2 * simt::kMatrixRows &&
         !isWork(sizes.heads * parts, queryRows))
    queryRows /= 2;
  keyRows = simt::kGroupRows;
  if (byGroups) {
    // Where there are more blocks than can run at once, but not more pairs. Of
    // narrow heads a multiprocessor has two at a time.
    pairsKeys = sizes.headDim > simt::kNarrowHead &&
                isWork(sizes.kvHeads, keyRows) &&
                !isWork(sizes.kvHeads, 2 * keyRows);
    return;
  }
  // With more keys queries are read less often. With fewer, more subgroups
  // share the queries of each, so that more of these are in shared memory:
  // heads of 128 features have no room for them.
  keyRows = kMostKeyRows;
  int64_t fewest =
      sizes.headDim > simt::kNarrowHead ? kMostKeyRows : simt::kMatrixRows;
  while (keyRows > fewest && !isWork(sizes.kvHeads * parts, keyRows))
    keyRows /= 2;
}

void Workgroups::forEach(
    KernelBuilder &k, int64_t heads, int64_t rows, bool lastFirst,
    function_ref<void(Value, Value, const HeadBlock &)> body) const {
  Value partCount = k.index(parts);
  forEachHeadBlock(
      k, heads * parts, rows, {}, [&](HeadBlock block, ValueRange) {
        if (lastFirst) {
          Value most = k.index(rows), blocks = k.ceilDiv(k.rows(), rows);
          block.first =
              k.sub(k.mul(k.sub(blocks, k.index(1)), most), block.first);
          block.count = k.min(most, k.sub(k.rows(), block.first));
        }
        body(k.div(block.head, partCount), k.rem(block.head, partCount), block);
      });
}

void Workgroups::forEachPair(
    KernelBuilder &k, int64_t heads,
    function_ref<void(Value, Value, const HeadBlock &)> body) const {
  Value zero = k.index(0), one = k.index(1), two = k.index(2);
  Value blocks = k.ceilDiv(k.rows(), keyRows), pairs = k.ceilDiv(blocks, 2);
  k.parallel(k.mul(k.index(heads), pairs), {}, [&](Value i, ValueRange) {
    Value early = k.rem(i, pairs), late = k.sub(k.sub(blocks, one), early);
    // The block in the middle is alone.
    Value isPair =
        arith::CmpIOp::create(k, arith::CmpIPredicate::ne, early, late);
    Value count = arith::SelectOp::create(k, isPair, two, one);
    k.loop(zero, count, 1, [&](Value number) {
      Value isEarly =
          arith::CmpIOp::create(k, arith::CmpIPredicate::eq, number, zero);
      Value most = k.index(keyRows);
      Value first =
          k.mul(arith::SelectOp::create(k, isEarly, early, late), most);
      Value head = k.div(i, pairs);
      body(head, zero, {head, first, k.min(most, k.sub(k.rows(), first))});
    });
  });
}

static IntegerAttr integer(KernelBuilder &k, int64_t value) {
  return k.getI64IntegerAttr(value);
}

static IntegerAttr windowOf(const AttentionSizes &sizes, KernelBuilder &k) {
  return sizes.window ? integer(k, *sizes.window) : IntegerAttr();
}

bool hone::emitRegisterAttention(AttentionOp op, KernelBuilder &k,
                                 const simt::DeviceFeatures &device) {
  if (!hasRegisters(op, k))
    return false;
  auto sizes = AttentionSizes::of(op, k);
  Workgroups workgroups(sizes, k, device);
  Value normalizer = op.getNormalizer();
  workgroups.forEach(
      k, sizes.heads, workgroups.queryRows, /*lastFirst=*/true,
      [&](Value head, Value part, const HeadBlock &block) {
        simt::AttentionOp::create(
            k, head, part, block.first, block.count, k.buffer(op.getQ()),
            k.buffer(op.getK()), k.buffer(op.getV()), sizes.starts,
            k.buffer(op.getY()), normalizer ? k.buffer(normalizer) : Value(),
            integer(k, sizes.heads), integer(k, sizes.kvHeads),
            windowOf(sizes, k),
            k.getF64FloatAttr(op.getScale().convertToDouble()),
            workgroups.groups(k));
      });
  return true;
}

bool hone::emitRegisterAttention(AttentionAdjointOp op, KernelBuilder &k,
                                 const simt::DeviceFeatures &device) {
  if (!hasRegisters(op, k))
    return false;
  auto sizes = AttentionSizes::of(op, k);
  Workgroups workgroups(sizes, k, device);
  Value dy = k.buffer(op.getDy()), q = k.buffer(op.getQ());
  Value key = k.buffer(op.getK()), v = k.buffer(op.getV());
  Value terms = k.workspace(op, 0), maxima = k.workspace(op, 1);
  Value reciprocals = k.workspace(op, 2), ends = k.workspace(op, 3);
  IntegerAttr heads = integer(k, sizes.heads),
              kvHeads = integer(k, sizes.kvHeads);
  FloatAttr scale = k.getF64FloatAttr(op.getScale().convertToDouble());
  workgroups.forEach(
      k, sizes.heads, workgroups.queryRows, /*lastFirst=*/true,
      [&](Value head, Value part, const HeadBlock &block) {
        Value isFirst = arith::CmpIOp::create(k, arith::CmpIPredicate::eq,
                                              block.head, k.index(0));
        k.when(isFirst, [&] {
          // A row for each thread: searches wait for memory at each
          // step.
          k.map(block.count, [&](ValueRange point) {
            storeKeyEnd(k, sizes, k.add(block.first, point[0]), ends);
          });
        });
        simt::AttentionQueryAdjointOp::create(
            k, head, part, block.first, block.count, q, key, v,
            k.buffer(op.getY()), dy, k.buffer(op.getNormalizer()), sizes.starts,
            k.buffer(op.getDq()), terms, maxima, reciprocals, heads, kvHeads,
            windowOf(sizes, k), scale, workgroups.groups(k));
      });
  auto ofKeys = [&](Value head, Value part, const HeadBlock &block) {
    simt::AttentionKeyAdjointOp::create(
        k, head, part, block.first, block.count, q, key, v, dy, terms, maxima,
        reciprocals, ends, k.buffer(op.getDk()), k.buffer(op.getDv()), heads,
        kvHeads, integer(k, workgroups.keyRows), scale, workgroups.groups(k));
  };
  if (workgroups.pairsKeys)
    workgroups.forEachPair(k, sizes.kvHeads, ofKeys);
  else
    workgroups.forEach(k, sizes.kvHeads, workgroups.keyRows,
                       /*lastFirst=*/false, ofKeys);
  return true;
}
