//===- LowerTiles.cpp - Tile ops become loops over vectors ----------------===//
//
// A product is a loop over row tiles: a shared kernel leaves its accumulators
// in a small scratch tile, and an ordinary element-wise loop carries them
// through the epilogue to the result. The detour through the first-level cache
// costs little and keeps epilogues out of the kernels.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/LoopLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_LOWERTILES
#include "targets/cpu/CpuPasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static Value index(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

static Value toWord(OpBuilder &b, Location loc, Value value) {
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
}

/// The address of buffer[row][column].
static Value elementPointer(OpBuilder &b, Location loc, Value buffer, Value row,
                            Value column) {
  auto type = cast<MemRefType>(buffer.getType());
  Value width = index(b, loc, type.getDimSize(1));
  Value offset = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, row, width), column);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer);
  start = LLVM::IntToPtrOp::create(b, loc, pointer, toWord(b, loc, start));
  return LLVM::GEPOp::create(b, loc, pointer, type.getElementType(), start,
                             ArrayRef<LLVM::GEPArg>{toWord(b, loc, offset)});
}

/// Lanes of a vector that evenly divides a panel of `columns` columns.
static unsigned panelLanes(const CpuDescription &cpu, Type element,
                           int64_t columns) {
  unsigned lanes = cpu.lanes(element.getIntOrFloatBitWidth());
  while (columns % lanes != 0)
    lanes /= 2;
  return lanes;
}

//===----------------------------------------------------------------------===//
// Fill
//===----------------------------------------------------------------------===//

static void lowerFill(tile::FillOp op, KernelLibrary &kernels,
                      const CpuDescription &cpu) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  MemRefType panel = op.getPanel().getType();
  MemRefType source = op.getSource().getType();
  Type element = panel.getElementType();
  int64_t columns = panel.getDimSize(1);
  unsigned lanes = panelLanes(cpu, element, columns);
  SourceFormat format{source.getElementType()};
  Value zero = index(b, loc, 0);
  SmallVector<Value> arguments;
  if (op.getScales()) {
    format.bits = *op.getBits();
    format.group = op.getGroup();
    for (Value matrix : {op.getSource(), op.getScales(), op.getBiases()})
      arguments.push_back(elementPointer(b, loc, matrix, op.getRow(), zero));
    int64_t numbers = source.getDimSize(1) * 8 / format.bits;
    arguments.push_back(toWord(b, loc, index(b, loc, numbers)));
    arguments.push_back(toWord(b, loc, op.getColumn()));
  } else {
    arguments.push_back(
        elementPointer(b, loc, op.getSource(), op.getRow(), op.getColumn()));
    arguments.push_back(toWord(b, loc, index(b, loc, source.getDimSize(1))));
  }
  arguments.append({elementPointer(b, loc, op.getPanel(), zero, zero),
                    toWord(b, loc, op.getHeight()),
                    toWord(b, loc, op.getWidth())});
  func::FuncOp kernel =
      op.getTranspose()
          ? kernels.fillTransposed(format, element, lanes, columns)
          : kernels.fill(format, element, lanes, columns);
  func::CallOp::create(b, loc, kernel, arguments);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Contract
//===----------------------------------------------------------------------===//

namespace {

/// One strip of a product: as many columns as one kernel computes.
struct Strip {
  int64_t firstColumn;
  unsigned vectors;
};

class ContractLowering {
public:
  ContractLowering(tile::ContractOp op, KernelLibrary &kernels,
                   const CpuDescription &cpu)
      : op(op), kernels(kernels), loc(op.getLoc()),
        element(op.getC().getType().getElementType()),
        panelColumns(op.getPanel().getType().getDimSize(1)),
        lanes(panelLanes(cpu, element, panelColumns)),
        maxVectors(cpu.panelVectors()) {}

  void lower() {
    OpBuilder b(op);
    for (Strip strip : strips())
      lowerStrip(b, strip);
    op.erase();
  }

private:
  /// Covers the columns that may be needed, the last strip no wider than a
  /// known `n` asks for.
  SmallVector<Strip> strips() {
    int64_t columns = panelColumns;
    APInt known;
    if (matchPattern(op.getN(), m_ConstantInt(&known)))
      columns = std::min(columns, known.getSExtValue());
    SmallVector<Strip> result;
    for (int64_t column = 0; column < columns;) {
      unsigned needed = llvm::divideCeil(columns - column, lanes);
      unsigned vectors =
          std::min<unsigned>(llvm::PowerOf2Ceil(needed), maxVectors);
      // The panel is a whole number of vectors but maybe not a power of two.
      while (column + vectors * lanes > panelColumns)
        vectors /= 2;
      result.push_back({column, vectors});
      column += vectors * lanes;
    }
    return result;
  }

  void lowerStrip(OpBuilder &b, Strip strip);
  void callKernel(OpBuilder &b, Strip strip, Value i0, Value rows,
                  Value scratch);
  void emitEpilogue(OpBuilder &b, Strip strip, Value i0, Value rows,
                    Value scratch);
  Value scratchTile(MemRefType type);

  tile::ContractOp op;
  KernelLibrary &kernels;
  Location loc;
  Type element;
  int64_t panelColumns;
  unsigned lanes, maxVectors;
};

} // namespace

/// Returns the function's scratch tile of this type; products share it.
Value ContractLowering::scratchTile(MemRefType type) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  Block &entry = function.getFunctionBody().front();
  for (auto scratch : entry.getOps<memref::AllocaOp>())
    if (scratch.getType() == type)
      return scratch;
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  return memref::AllocaOp::create(b, loc, type, b.getI64IntegerAttr(64));
}

void ContractLowering::lowerStrip(OpBuilder &b, Strip strip) {
  int64_t tileRows = kernels.contractRows(strip.vectors);
  Value scratch =
      scratchTile(MemRefType::get({tileRows, strip.vectors * lanes}, element));
  Value step = index(b, loc, tileRows);
  auto loop = scf::ForOp::create(b, loc, index(b, loc, 0), op.getM(), step);
  OpBuilder body = OpBuilder::atBlockBegin(loop.getBody());
  Value i0 = loop.getInductionVar();
  Value rows = arith::MinSIOp::create(
      body, loc, step, arith::SubIOp::create(body, loc, op.getM(), i0));
  callKernel(body, strip, i0, rows, scratch);
  emitEpilogue(body, strip, i0, rows, scratch);
}

void ContractLowering::callKernel(OpBuilder &b, Strip strip, Value i0,
                                  Value rows, Value scratch) {
  Value aRow = op.getARow(), aColumn = op.getAK();
  Value rowStride = index(b, loc, op.getA().getType().getDimSize(1));
  Value columnStride = index(b, loc, 1);
  if (op.getTransposeA()) {
    // Row i of the transposed operand is column ai + i of `a`.
    std::swap(rowStride, columnStride);
    std::swap(aRow, aColumn);
    aColumn = arith::AddIOp::create(b, loc, aColumn, i0);
  } else {
    aRow = arith::AddIOp::create(b, loc, aRow, i0);
  }
  Value zero = index(b, loc, 0);
  SmallVector<Value> arguments = {
      elementPointer(b, loc, op.getA(), aRow, aColumn),
      toWord(b, loc, rowStride),
      toWord(b, loc, columnStride),
      toWord(b, loc, rows),
      elementPointer(b, loc, op.getPanel(), zero,
                     index(b, loc, strip.firstColumn)),
      toWord(b, loc, index(b, loc, panelColumns)),
      toWord(b, loc, op.getK()),
      elementPointer(b, loc, scratch, zero, zero)};
  func::CallOp::create(b, loc, kernels.contract(element, lanes, strip.vectors),
                       arguments);
}

/// c[..] = (c[..]) + epilogue(scratch[i][j]) as a tile.map, which is lowered
/// like any other.
void ContractLowering::emitEpilogue(OpBuilder &b, Strip strip, Value i0,
                                    Value rows, Value scratch) {
  Value first = index(b, loc, strip.firstColumn);
  Value width = index(b, loc, strip.vectors * lanes);
  APInt known;
  if (matchPattern(op.getN(), m_ConstantInt(&known)))
    width = index(b, loc,
                  std::min<int64_t>(strip.vectors * lanes,
                                    known.getSExtValue() - strip.firstColumn));
  else
    width = arith::MaxSIOp::create(
        b, loc, index(b, loc, 0),
        arith::MinSIOp::create(
            b, loc, width, arith::SubIOp::create(b, loc, op.getN(), first)));

  tile::MapOp::create(
      b, loc, ValueRange{rows, width},
      [&](OpBuilder &b, Location loc, ValueRange ivs) {
        Value value = memref::LoadOp::create(b, loc, scratch, ivs);
        Value i = arith::AddIOp::create(b, loc, i0, ivs[0]);
        Value j = arith::AddIOp::create(b, loc, first, ivs[1]);
        if (!op.getEpilogue().empty()) {
          Block &epilogue = op.getEpilogue().front();
          IRMapping mapping;
          mapping.map(epilogue.getArguments(), ValueRange{value, i, j});
          for (Operation &inner : epilogue.without_terminator())
            b.clone(inner, mapping);
          value =
              mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0));
        }
        SmallVector<Value> at = {
            arith::AddIOp::create(b, loc, op.getCRow(), i),
            arith::AddIOp::create(b, loc, op.getCColumn(), j)};
        if (op.getAccumulate()) {
          Value old = memref::LoadOp::create(b, loc, op.getC(), at);
          value = arith::AddFOp::create(b, loc, old, value);
        }
        memref::StoreOp::create(b, loc, value, op.getC(), at);
      });
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
    CpuDescription cpu{vectorBits, vectorRegisters, maskedMemory};
    KernelLibrary kernels(module, cpu);
    for (auto op : collect<tile::FillOp>(module))
      lowerFill(op, kernels, cpu);
    for (auto op : collect<tile::ContractOp>(module))
      ContractLowering(op, kernels, cpu).lower();
    // Products have become maps by now. Inner loops first: a reduction may
    // stand inside a map that stays scalar.
    for (auto op : collect<tile::ReduceOp>(module))
      lowerReduce(op, cpu);
    for (auto op : collect<tile::MapOp>(module))
      lowerMap(op, cpu);
  }
};

} // namespace
