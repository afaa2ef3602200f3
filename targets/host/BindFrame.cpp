//===- BindFrame.cpp - Functions take the frame that the runtime has ------===//
//
// Earlier passes give an entry's memory names; here these become fields of
// hone_frame. Functions that launch kernels or call the runtime take the frame,
// since they find the device, the scratch of its threads and its files in it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/PlacedMemory.h"
#include "dialects/Tile/TileDialect.h"
#include "targets/host/Frame.h"
#include "targets/host/HostPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_BINDFRAME
#include "targets/host/HostPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static bool isEntry(func::FuncOp function) {
  return function->hasAttr(tile::TileDialect::kEntryAttrName);
}

/// Functions that run parallel loops, call the runtime or look up offsets,
/// themselves or through others.
static llvm::SetVector<func::FuncOp> functionsWithFrame(ModuleOp module,
                                                        SymbolTable &symbols) {
  llvm::SetVector<func::FuncOp> found;
  llvm::DenseMap<Operation *, SmallVector<func::FuncOp, 2>> callers;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](Operation *op) {
      if (isa<tile::ParallelOp, tile::OffsetOp>(op) || tile::callsRuntime(op))
        found.insert(function);
      else if (auto call = dyn_cast<func::CallOp>(op))
        callers[symbols.lookup(call.getCallee())].push_back(function);
    });
  for (size_t i = 0; i < found.size(); ++i)
    found.insert_range(callers.lookup(found[i]));
  return found;
}

/// Gives the function `count` pointers in front of its own arguments.
static void prependPointers(func::FuncOp function, unsigned count) {
  Type pointer = LLVM::LLVMPointerType::get(function.getContext());
  for (unsigned i = 0; i < count; ++i)
    (void)function.insertArgument(i, pointer, {}, function.getLoc());
}

/// The buffer or memory at pointer `index` of a table of pointers.
static Value loadFromTable(OpBuilder &b, Location loc, Value table,
                           int64_t index, Type type) {
  Type pointer = table.getType();
  Value address =
      LLVM::GEPOp::create(b, loc, pointer, pointer, table,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  Value start = LLVM::LoadOp::create(b, loc, pointer, address);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return tile::ViewOp::create(b, loc, type, memoryAt(b, loc, start), zero);
}

static FrameField fieldOf(tile::MemoryBase base) {
  switch (base) {
  case tile::MemoryBase::arena:
    return FrameField::Arena;
  case tile::MemoryBase::batch:
    return FrameField::Batch;
  case tile::MemoryBase::work:
    return FrameField::Work;
  }
  llvm_unreachable("unknown base");
}

/// Notes the users of the values that the entry is called with:
/// hone_item::sides.
static void markSides(func::FuncOp entry) {
  SmallVector<int8_t> sides;
  entry.walk([&](tile::ArgumentOp argument) {
    auto index = size_t(argument.getIndex());
    if (index >= sides.size())
      sides.resize(index + 1);
    for (Operation *user : argument.getBuffer().getUsers())
      sides[index] |= isa<tile::NumberOp>(user) ? HONE_ON_HOST : HONE_ON_DEVICE;
  });
  entry->setAttr(tile::TileDialect::kSidesAttrName,
                 DenseI8ArrayAttr::get(entry.getContext(), sides));
}

/// Replaces the numbers that the entry reads by the host's copies.
static void bindNumbers(func::FuncOp entry) {
  Value frame = entry.getArgument(0);
  entry.walk([&](tile::NumberOp number) {
    OpBuilder b(number);
    Location loc = number.getLoc();
    auto argument = number.getBuffer().getDefiningOp<tile::ArgumentOp>();
    Value numbers = loadFrameField(b, loc, frame, FrameField::Numbers);
    Value buffer = loadFromTable(b, loc, numbers, argument.getIndex(),
                                 argument.getBuffer().getType());
    number.getNumber().replaceAllUsesWith(
        memref::LoadOp::create(b, loc, buffer, number.getIndices()));
    number.erase();
  });
}

/// Replaces the entry's names by the addresses in its frame and values.
static void bindNames(func::FuncOp entry) {
  Value frame = entry.getArgument(0), values = entry.getArgument(1);
  Value weights;
  entry.walk([&](Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value bound =
        llvm::TypeSwitch<Operation *, Value>(op)
            .Case([&](tile::BaseOp base) {
              return memoryAt(
                  b, loc,
                  loadFrameField(b, loc, frame, fieldOf(base.getBase())));
            })
            .Case([&](tile::RowsOp) {
              return arith::IndexCastOp::create(
                  b, loc, b.getIndexType(),
                  loadFrameField(b, loc, frame, FrameField::Rows));
            })
            .Case([&](tile::WeightOp weight) {
              if (!weights) {
                OpBuilder first =
                    OpBuilder::atBlockBegin(&entry.getBody().front());
                weights =
                    loadFrameField(first, loc, frame, FrameField::Weights);
              }
              return loadFromTable(b, loc, weights, weight.getIndex(),
                                   weight.getBuffer().getType());
            })
            .Case([&](tile::ArgumentOp argument) {
              return loadFromTable(b, loc, values, argument.getIndex(),
                                   argument.getBuffer().getType());
            })
            .Default(Value());
    if (!bound)
      return;
    op->getResult(0).replaceAllUsesWith(bound);
    op->erase();
  });
}

/// Replaces the offsets that `function` looks up by those of the placement in
/// its frame.
static void bindOffsets(func::FuncOp function) {
  Value table;
  function.walk([&](tile::OffsetOp offset) {
    OpBuilder b(offset);
    Location loc = offset.getLoc();
    if (!table) {
      OpBuilder first = OpBuilder::atBlockBegin(&function.getBody().front());
      table = loadFrameField(first, loc, function.getArgument(0),
                             FrameField::Offsets);
    }
    Type unit = b.getI32Type();
    Value address = LLVM::GEPOp::create(
        b, loc, table.getType(), unit, table,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.getIndex())});
    Value units = LLVM::LoadOp::create(b, loc, unit, address);
    Value count = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), units);
    Value bytes = arith::ConstantIndexOp::create(b, loc, HONE_PLACE_BYTES);
    offset.getOffset().replaceAllUsesWith(
        arith::MulIOp::create(b, loc, count, bytes));
    offset.erase();
  });
}

namespace {

struct BindFrame : public hone::impl::BindFrameBase<BindFrame> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::SetVector<func::FuncOp> withFrame =
        functionsWithFrame(module, symbols);
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (isEntry(function)) {
        prependPointers(function, 2);
        if (!function->hasAttr(tile::TileDialect::kHostAttrName)) {
          markSides(function);
          bindNumbers(function);
        }
        bindNames(function);
        function->removeAttr(tile::TileDialect::kEntryAttrName);
      } else if (withFrame.contains(function)) {
        prependPointers(function, 1);
      }
      bindOffsets(function);
      function->removeAttr(tile::TileDialect::kHostAttrName);
    }
    module.walk([](tile::ViewOp view) {
      view->removeAttr(tile::kPlacedBytesAttrName);
    });
    module.walk([&](func::CallOp call) {
      if (withFrame.contains(symbols.lookup<func::FuncOp>(call.getCallee())))
        call->insertOperands(
            0, call->getParentOfType<func::FuncOp>().getArgument(0));
    });
  }
};

} // namespace
