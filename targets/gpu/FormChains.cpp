//===- FormChains.cpp - Products whose sums stay in registers -------------===//
//
// A run of ops of one block, from the first product on a piece of memory, or a
// loop of such, to the last. Ops between must not touch that piece: a
// kernel's parameters may be one memory under two names, private buffers are
// not.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/gpu/ProductLowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_FORMCHAINS
#include "targets/gpu/GpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using simt::SumPlace;

static Value rootOf(Value memory) {
  while (auto view = memory.getDefiningOp<tile::ViewOp>())
    memory = view.getBase();
  return memory;
}

static bool isPrivate(Value root) {
  auto type = dyn_cast<MemRefType>(root.getType());
  return type && type.getMemorySpace();
}

/// Whether `op`, or an op in it, may read or write `c`.
static bool mayTouch(Operation *op, Value c) {
  auto effects = getEffectsRecursively(op);
  Value root = rootOf(c);
  return !effects ||
         llvm::any_of(*effects, [&](const MemoryEffects::EffectInstance &each) {
           if (!each.getValue())
             return true;
           Value other = rootOf(each.getValue());
           return other == root || (!isPrivate(other) && !isPrivate(root));
         });
}

/// Whether the product's sums can be read by the next one: nothing has been
/// done to them.
static bool isOpen(tile::ProductOp product) {
  return !product.getInto() && product.getEpilogue().empty();
}

/// Whether the epilogue does not load `c`, which it would find as it was: it
/// reads the product's results only by their name.
static bool closesChain(tile::ProductOp product) {
  Value root = rootOf(product.getC());
  return product.getEpilogue().empty() ||
         !llvm::any_of(product.getEpilogue().front(), [&](Operation &op) {
           auto load = dyn_cast<memref::LoadOp>(op);
           return load && rootOf(load.getMemRef()) == root;
         });
}

static bool areSums(tile::ProductOp product, const SumPlace &place,
                    int64_t columns) {
  return SumPlace::of(product) == place &&
         static_cast<int64_t>(product.getColumns()) == columns;
}

/// The products of a loop, if it does nothing to `place` but add to it.
static bool addsAlone(scf::ForOp loop, const SumPlace &place, int64_t columns) {
  unsigned found = 0;
  for (Operation &op : *loop.getBody()) {
    auto product = dyn_cast<tile::ProductOp>(op);
    if (product && areSums(product, place, columns)) {
      if (!product.getAccumulate() || !isOpen(product))
        return false;
      ++found;
      continue;
    }
    if (mayTouch(&op, place.c))
      return false;
  }
  return found > 0 && loop.getInitArgs().empty();
}

/// Numbers stay out of the chain, so that ops after it may use them, unless one
/// of their operands goes into it.
static bool staysOutside(Operation *op,
                         function_ref<bool(Operation *)> isInside) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           Operation *made = operand.getDefiningOp();
           return made && isInside(made);
         });
}

/// Whether nothing after `end` uses a value that goes into a chain of the ops
/// from `first` on.
static bool canWrap(Operation *first, Block::iterator end) {
  DenseSet<Operation *> inside;
  for (auto op = first->getIterator(); op != end; ++op)
    if (!staysOutside(&*op,
                      [&](Operation *made) { return inside.contains(made); }))
      inside.insert(&*op);
  return llvm::all_of(inside, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return inside.contains(op->getBlock()->findAncestorOpInBlock(*user));
    });
  });
}

namespace {

struct FormChains : public hone::impl::FormChainsBase<FormChains> {
  void visit(Block &block);
  void runOnOperation() override { visit(getOperation().getBody().front()); }
};

} // namespace

/// The first product of `loop` whose place is known outside of it.
static tile::ProductOp firstProductOf(scf::ForOp loop) {
  for (auto product : loop.getBody()->getOps<tile::ProductOp>()) {
    SumPlace place = SumPlace::of(product);
    if (llvm::all_of(
            ArrayRef<Value>{place.c, place.row, place.column, place.m, place.n},
            [&](Value value) { return loop.isDefinedOutsideOfLoop(value); }))
      return product;
  }
  return {};
}

/// The first product of a possible chain from `first` on; null: none.
static tile::ProductOp beginOf(Operation *first) {
  auto loop = dyn_cast<scf::ForOp>(first);
  auto product = loop ? firstProductOf(loop) : dyn_cast<tile::ProductOp>(first);
  if (!product)
    return {};
  bool begins = loop ? addsAlone(loop, SumPlace::of(product),
                                 static_cast<int64_t>(product.getColumns()))
                     : isOpen(product);
  return begins ? product : tile::ProductOp();
}

/// The last op of the chain that `first` begins, with `product`; null if there
/// is none.
static Operation *lastOf(Operation *first, tile::ProductOp product) {
  const SumPlace place = SumPlace::of(product);
  const int64_t columns = product.getColumns();
  const bool isLoop = isa<scf::ForOp>(first);
  Operation *last = first;
  // Whether anything but products belongs to it, or would with a later one.
  bool hasOthers = isLoop, othersPending = false;
  unsigned members = 1;
  for (Operation *next = first->getNextNode(); next;
       next = next->getNextNode()) {
    auto add = [&] {
      last = next;
      hasOthers |= othersPending;
      othersPending = false;
      ++members;
    };
    auto sums = dyn_cast<tile::ProductOp>(next);
    if (sums && areSums(sums, place, columns)) {
      if (!sums.getAccumulate() || !closesChain(sums))
        break;
      add();
      if (!isOpen(sums))
        break;
      continue;
    }
    auto inner = dyn_cast<scf::ForOp>(next);
    if (inner && addsAlone(inner, place, columns)) {
      add();
      hasOthers = true;
      continue;
    }
    if (next->hasTrait<OpTrait::IsTerminator>() || mayTouch(next, place.c))
      break;
    othersPending |= !isMemoryEffectFree(next);
  }
  // More than a tile is computed tile by tile, and the chain's other ops must
  // not run again for each.
  if ((members < 2 && !isLoop) || (hasOthers && !simt::isOneTile(product)))
    return nullptr;
  return last;
}

/// Moves the ops from `first` up to `end` into a chain on `place`, but for
/// those that can stand before it.
static simt::ChainOp wrap(Operation *first, Block::iterator end,
                          const SumPlace &place) {
  OpBuilder b(first);
  auto chain = simt::ChainOp::create(b, first->getLoc(), place.c, place.row,
                                     place.column, place.m, place.n);
  Block &body = chain.getBody().emplaceBlock();
  auto isInside = [&](Operation *other) { return other->getBlock() == &body; };
  for (auto op = first->getIterator(); op != end;) {
    Operation &moved = *op++;
    if (staysOutside(&moved, isInside))
      moved.moveBefore(chain);
    else
      moved.moveBefore(&body, body.end());
  }
  return chain;
}

void FormChains::visit(Block &block) {
  for (auto at = block.begin(); at != block.end();) {
    Operation *first = &*at++;
    tile::ProductOp product = beginOf(first);
    if (!product) {
      for (Region &region : first->getRegions())
        if (!isa_and_present<tile::TileDialect>(first->getDialect()))
          for (Block &inner : region)
            visit(inner);
      continue;
    }
    Operation *last = lastOf(first, product);
    if (!last)
      continue;
    auto end = std::next(last->getIterator());
    if (canWrap(first, end))
      at = std::next(wrap(first, end, SumPlace::of(product))->getIterator());
  }
}
