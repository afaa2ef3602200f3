//===- FetchRows.cpp - hone-host-fetch-rows -------------------------------===//

#include "targets/host/HostPasses.h"

#include "dialects/Tile/ScalarBuilder.h"
#include "dialects/Tile/TileDialect.h"

namespace hone {
#define GEN_PASS_DEF_FETCHROWS
#include "targets/host/HostPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Makes `op` read the thread's own copies.
static void fetchRow(tile::ReadRowOp op) {
  ScalarBuilder b(op.getLoc(), op);
  auto loop = op->getParentOfType<tile::ParallelOp>();
  auto fetch = [&](OpOperand &tensor, Value column, Value count) {
    auto type = cast<MemRefType>(tensor.get().getType());
    Value own = loop.getBody()->addArgument(type.clone({1, type.getDimSize(1)}),
                                            op.getLoc());
    tile::FetchOp::create(b, own, tensor.get(), op.getRow(), column, count);
    tensor.set(own);
  };
  const int64_t inByte = op.getBits() ? 8 / int64_t(*op.getBits()) : 1;
  Value column = op.getColumn(), count = op.getCount();
  if (inByte > 1) {
    column = b.div(column, b.index(inByte));
    count = b.ceilDiv(count, inByte);
  }
  fetch(op.getWMutable(), column, count);
  for (MutableOperandRange groups :
       {op.getScalesMutable(), op.getBiasesMutable()})
    for (OpOperand &tensor : groups)
      fetch(tensor, b.index(0),
            b.index(cast<MemRefType>(tensor.get().getType()).getDimSize(1)));
  op.getRowMutable().assign(b.index(0));
  op.setRelease(false);
}

namespace {

struct FetchRows : public hone::impl::FetchRowsBase<FetchRows> {
  void runOnOperation() override {
    getOperation().walk([](tile::ReadRowOp op) {
      if (op.getRelease())
        fetchRow(op);
    });
  }
};

} // namespace
