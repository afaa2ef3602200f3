//===- LowerTiles.cpp - Tile ops become loops over vectors ----------------===//
//
// Products go first: an epilogue that their kernels cannot compute becomes a
// map.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/ContractLowering.h"
#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/LoopLowering.h"
#include "targets/cpu/MatrixPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hone {
#define GEN_PASS_DEF_LOWERTILES
#include "targets/cpu/CpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Fill
//===----------------------------------------------------------------------===//

static void lowerFill(cpu::FillOp op, KernelLibrary &kernels,
                      const CpuDescription &cpu) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  MemRefType panel = op.getPanel().getType();
  MemRefType source = op.getSource().getType();
  Type element = panel.getElementType();
  int64_t columns = panel.getDimSize(1);
  // A panel of bf16 is one of 32-bit pairs.
  unsigned lanes =
      panelLanes(cpu, element.isBF16() ? b.getF32Type() : element, columns);
  SourceFormat format{source.getElementType()};
  Value zero = indexConstant(b, loc, 0);
  SmallVector<Value> arguments;
  if (op.getScales()) {
    format.bits = *op.getBits();
    format.group = op.getGroup();
    for (Value matrix : {op.getSource(), op.getScales(), op.getBiases()})
      arguments.push_back(elementPointer(b, loc, matrix, {op.getRow(), zero}));
    int64_t numbers = source.getDimSize(1) * 8 / format.bits;
    arguments.push_back(toWord(b, loc, indexConstant(b, loc, numbers)));
    arguments.push_back(toWord(b, loc, op.getColumn()));
  } else {
    arguments.push_back(
        elementPointer(b, loc, op.getSource(), {op.getRow(), op.getColumn()}));
    arguments.push_back(
        toWord(b, loc, indexConstant(b, loc, source.getDimSize(1))));
  }
  arguments.append({elementPointer(b, loc, op.getPanel(), {zero, zero}),
                    toWord(b, loc, op.getHeight()),
                    toWord(b, loc, op.getWidth())});
  func::FuncOp kernel =
      kernels.fill(format, element, lanes, columns, op.getTranspose());
  func::CallOp::create(b, loc, kernel, arguments);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

static void lowerDots(cpu::DotsOp op, KernelLibrary &kernels) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  MemRefType w = op.getW().getType(), sums = op.getSums().getType();
  Value zero = indexConstant(b, loc, 0);
  DotsShape shape{{w.getElementType(),
                   static_cast<int64_t>(op.getBits().value_or(0)),
                   op.getGroup()},
                  op.getA().getType().getElementType(),
                  cpu::DotsOp::numbersOf(w, op.getBits()),
                  sums.getDimSize(1),
                  op.getAccumulate()};
  SmallVector<Value> arguments = {
      elementPointer(b, loc, op.getA(), {op.getARow(), op.getAK()})};
  for (Value matrix :
       {Value(op.getW()), Value(op.getScales()), Value(op.getBiases())})
    if (matrix)
      arguments.push_back(elementPointer(b, loc, matrix, {op.getWRow(), zero}));
  arguments.push_back(elementPointer(b, loc, op.getScratch(), {zero, zero}));
  arguments.push_back(
      elementPointer(b, loc, op.getSums(), {op.getRow(), zero}));
  func::CallOp::create(b, loc, kernels.dots(shape), arguments);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

template <typename OpTy> static SmallVector<OpTy> collect(ModuleOp module) {
  SmallVector<OpTy> ops;
  module.walk([&](OpTy op) { ops.push_back(op); });
  return ops;
}

namespace {

struct LowerTiles : public hone::impl::LowerTilesBase<LowerTiles> {
  using LowerTilesBase::LowerTilesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    CpuDescription cpu{vectorBits, vectorRegisters, maskedMemory, bfloat16Dots,
                       bfloat16Unit};
    KernelLibrary kernels(module, cpu);
    for (auto op : collect<cpu::FillOp>(module))
      lowerFill(op, kernels, cpu);
    for (auto op : collect<cpu::DotsOp>(module))
      lowerDots(op, kernels);
    for (auto op : collect<cpu::ContractOp>(module))
      lowerContract(op, kernels, cpu);
    // Products have become maps by now. Inner loops first: a reduction may
    // stand inside a map that stays scalar.
    for (auto op : collect<tile::ReduceOp>(module))
      lowerReduce(op, cpu);
    for (auto op : collect<tile::MapOp>(module))
      lowerMap(op, cpu);
    for (auto op : collect<tile::EachOp>(module))
      lowerEach(op);
  }
};

} // namespace
