//===- Launch.cpp - How host code launches kernels ------------------------===//
//
// The closure lives on the caller's stack: hone_launch is done with it when it
// returns.
//
//===----------------------------------------------------------------------===//

#include "targets/host/Launch.h"

#include "passes/module/KernelNames.h"
#include "targets/host/Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Closures
//===----------------------------------------------------------------------===//

/// The type that carries a value of `type` in the closure, or null.
static Type fieldType(Type type) {
  MLIRContext *context = type.getContext();
  if (type.isIndex())
    return IntegerType::get(context, 64);
  if (isa<MemRefType, tile::MemoryType>(type))
    return LLVM::LLVMPointerType::get(context);
  if (isa<FloatType, IntegerType, LLVM::LLVMPointerType>(type))
    return type;
  return {};
}

FailureOr<Closure> Closure::of(Operation *op, ValueRange values) {
  Closure closure;
  SmallVector<Type> fields;
  for (Value value : values) {
    Type field = fieldType(value.getType());
    if (!field)
      return op->emitOpError("cannot capture a value of type ")
             << value.getType();
    closure.captured.push_back(value);
    fields.push_back(field);
  }
  closure.type = LLVM::LLVMStructType::getLiteral(op->getContext(), fields);
  return closure;
}

FailureOr<Closure> Closure::of(tile::ParallelOp loop, ValueRange first) {
  llvm::SetVector<Value> used(first.begin(), first.end());
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  SmallVector<Operation *> constants;
  SmallVector<Value> values;
  for (Value value : used) {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(op);
    else
      values.push_back(value);
  }
  FailureOr<Closure> closure = of(loop.getOperation(), values);
  if (succeeded(closure))
    closure->constants = std::move(constants);
  return closure;
}

/// The access of `op` to the memory at `address`, one of its operands. Ops that
/// declare no effects may do anything.
static unsigned accessOf(Operation *op, Value address) {
  constexpr auto both = unsigned(tile::Access::both);
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return both;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  unsigned access = 0;
  for (const MemoryEffects::EffectInstance &effect : instances) {
    if (effect.getValue() && effect.getValue() != address)
      continue;
    access |= isa<MemoryEffects::Read>(effect.getEffect())
                  ? unsigned(tile::Access::read)
              : isa<MemoryEffects::Write>(effect.getEffect())
                  ? unsigned(tile::Access::write)
                  : both;
  }
  return access;
}

/// The access of `loop` to the memory at `address`, and to parts of it.
static tile::Access accessIn(tile::ParallelOp loop, Value address) {
  unsigned access = 0;
  SmallVector<Value> addresses = {address};
  while (!addresses.empty()) {
    Value next = addresses.pop_back_val();
    for (Operation *user : next.getUsers()) {
      if (!loop->isProperAncestor(user))
        continue;
      if (auto part = dyn_cast<tile::ViewOp>(user))
        addresses.push_back(part.getPlace());
      else
        access |= accessOf(user, next);
    }
  }
  return static_cast<tile::Access>(access);
}

SmallVector<tile::FieldAttr> Closure::fields(tile::ParallelOp loop,
                                             size_t begin) const {
  return fields([&](Value address) { return accessIn(loop, address); }, begin);
}

SmallVector<tile::FieldAttr>
Closure::fields(function_ref<tile::Access(Value)> accessOf,
                size_t begin) const {
  DataLayout layout;
  SmallVector<tile::FieldAttr> fields;
  uint64_t offset = 0;
  for (auto [i, field] : llvm::enumerate(type.getBody())) {
    uint64_t bytes = isa<LLVM::LLVMPointerType>(field)
                         ? sizeof(void *)
                         : layout.getTypeSize(field).getFixedValue();
    offset = llvm::alignTo(offset, bytes);
    if (i >= begin)
      fields.push_back(tile::FieldAttr::get(type.getContext(), offset, bytes,
                                            isa<LLVM::LLVMPointerType>(field)
                                                ? accessOf(captured[i])
                                                : tile::Access::none));
    offset += bytes;
  }
  return fields;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::pair<std::string, std::string> hone::kernelName(tile::ParallelOp loop) {
  StringRef block = loop->getParentOfType<FunctionOpInterface>().getName();
  block.consume_front("hone_entry_");
  return {block.str(), namesOf(loop.getLoc())};
}

uint32_t hone::addKernel(ModuleOp module, tile::KernelAttr kernel) {
  SmallVector<Attribute> kernels;
  if (auto known =
          module->getAttrOfType<ArrayAttr>(tile::TileDialect::kKernelsAttrName))
    llvm::append_range(kernels, known);
  kernels.push_back(kernel);
  module->setAttr(tile::TileDialect::kKernelsAttrName,
                  ArrayAttr::get(module.getContext(), kernels));
  return kernels.size() - 1;
}

static FailureOr<LLVM::LLVMFuncOp> declareLaunch(OpBuilder &b,
                                                 ModuleOp module) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::lookupOrCreateFn(
      b, module, "hone_launch",
      {pointer, b.getI32Type(), pointer, b.getI64Type()},
      LLVM::LLVMVoidType::get(b.getContext()));
}

void hone::buildLaunch(OpBuilder &b, Location loc, Value frame, uint32_t kernel,
                       const Closure &closure, Value count) {
  Operation *around = b.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<FunctionOpInterface>(around);
  if (!function)
    function = around->getParentOfType<FunctionOpInterface>();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type word = b.getI64Type();
  Value space;
  {
    // In the entry block, or a loop around this one would grow the stack.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(b, loc, word, b.getI64IntegerAttr(1));
    space = LLVM::AllocaOp::create(b, loc, pointer, closure.type, one);
  }
  for (auto [i, value] : llvm::enumerate(closure.captured)) {
    Value field = value;
    if (value.getType().isIndex())
      field = arith::IndexCastOp::create(b, loc, word, value);
    if (isa<MemRefType>(value.getType())) {
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
      field = arith::IndexCastOp::create(b, loc, word, address);
      field = LLVM::IntToPtrOp::create(b, loc, pointer, field);
    }
    if (isa<tile::MemoryType>(value.getType()))
      field = pointerTo(b, loc, field);
    Value at =
        LLVM::GEPOp::create(b, loc, pointer, closure.type, space,
                            ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, loc, field, at);
  }
  auto module = function->getParentOfType<ModuleOp>();
  FailureOr<LLVM::LLVMFuncOp> launch = declareLaunch(b, module);
  Value number =
      LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(kernel)));
  Value indices = arith::IndexCastOp::create(b, loc, word, count);
  LLVM::CallOp::create(b, loc, *launch,
                       ValueRange{frame, number, space, indices});
}
