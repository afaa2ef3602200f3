//===- ContractLowering.cpp - tile.contract becomes calls of kernels ------===//
//
// See ContractLowering.h. Both ways to the result round alike, so it does not
// matter to the bits which one an element takes.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/ContractLowering.h"

#include "targets/cpu/MatrixPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace hone;

/// Columns that may be read from the panel's first one on.
static int64_t columnsOfPanel(cpu::ContractOp op, const CpuDescription &cpu) {
  MemRefType panel = op.getPanel().getType();
  if (op.getPanelAt().empty())
    return panel.getDimSize(1);
  APInt known;
  if (matchPattern(op.getN(), m_ConstantInt(&known)))
    return known.getSExtValue();
  return cpu.panelWidth(panel.getElementTypeBitWidth());
}

namespace {

/// One strip of a product: as many columns as one kernel computes.
struct Strip {
  int64_t firstColumn;
  unsigned vectors;
};

/// The destination of a kernel's sums, and how they are stored.
struct Destination {
  ContractStore store;
  Value c, row, column;
};

class ContractLowering {
public:
  ContractLowering(cpu::ContractOp op, KernelLibrary &kernels,
                   const CpuDescription &cpu)
      : op(op), kernels(kernels), loc(op.getLoc()), element(op.getSumType()),
        panelColumns(columnsOfPanel(op, cpu)),
        lanes(panelLanes(cpu, element, panelColumns)),
        maxVectors(cpu.panelVectors()) {
    if (!op.getEpilogue().empty())
      epilogue = KernelEpilogue::of(op);
  }

  void lower();

private:
  SmallVector<Strip> strips();
  /// Whether complete sums are rounded.
  bool rounds() { return op.getC().getType().getElementType() != element; }
  /// Whether kernels can finish their sums.
  bool canWriteDirectly() {
    if (op.getEpilogue().empty() && !rounds())
      return true;
    return (op.getEpilogue().empty() || epilogue) &&
           kernels.takesEpilogues(types());
  }
  ContractTypes types();
  int64_t width(Strip strip) const { return strip.vectors * lanes; }
  void writeDirectly(OpBuilder &b, Strip strip);
  void writeThroughScratch(OpBuilder &b, Strip strip, Value columns);
  void callKernel(OpBuilder &b, Strip strip, Value i0, Value rows,
                  const Destination &to);
  void emitEpilogue(OpBuilder &b, Strip strip, Value i0, Value rows,
                    Value columns, Value scratch);
  SmallVector<Value> start(OpBuilder &b, Strip strip, Value i0);
  SmallVector<Value> requests(OpBuilder &b, Strip strip);
  Value scratchTile(MemRefType type);

  cpu::ContractOp op;
  KernelLibrary &kernels;
  Location loc;
  Type element;
  int64_t panelColumns;
  unsigned lanes, maxVectors;
  std::optional<KernelEpilogue> epilogue;
};

} // namespace

ContractTypes ContractLowering::types() {
  ContractTypes types{element, op.getPanel().getType().getElementType(),
                      op.getA().getType().getElementType(), op.getTransposeA()};
  APInt depth;
  if (types.hasPairs() && !op.getAhead() &&
      matchPattern(op.getK(), m_ConstantInt(&depth)) &&
      depth.ule(ContractTypes::kFewTerms))
    types.depth = depth.getSExtValue();
  return types;
}

/// Covers the columns that may be needed, the last strip no wider than a known
/// `n` asks for.
SmallVector<Strip> ContractLowering::strips() {
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

void ContractLowering::lower() {
  OpBuilder b(op);
  APInt known;
  bool isKnown = matchPattern(op.getN(), m_ConstantInt(&known));
  for (Strip strip : strips()) {
    Value full = indexConstant(b, loc, width(strip));
    if (isKnown) {
      int64_t columns = known.getSExtValue() - strip.firstColumn;
      if (canWriteDirectly() && columns >= width(strip))
        writeDirectly(b, strip);
      else
        writeThroughScratch(
            b, strip,
            indexConstant(b, loc, std::min<int64_t>(columns, width(strip))));
      continue;
    }
    Value left = arith::SubIOp::create(
        b, loc, op.getN(), indexConstant(b, loc, strip.firstColumn));
    Value columns =
        arith::MaxSIOp::create(b, loc, indexConstant(b, loc, 0),
                               arith::MinSIOp::create(b, loc, full, left));
    if (!canWriteDirectly()) {
      writeThroughScratch(b, strip, columns);
      continue;
    }
    Value isFull =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, left, full);
    auto branch = scf::IfOp::create(b, loc, isFull, /*withElseRegion=*/true);
    OpBuilder then = branch.getThenBodyBuilder();
    writeDirectly(then, strip);
    OpBuilder otherwise = branch.getElseBodyBuilder();
    writeThroughScratch(otherwise, strip, columns);
  }
  op.erase();
}

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

void ContractLowering::writeDirectly(OpBuilder &b, Strip strip) {
  Value first = indexConstant(b, loc, strip.firstColumn);
  Destination to{
      {op.getAccumulate(), rounds(), epilogue ? &*epilogue : nullptr},
      op.getC(),
      op.getCRow(),
      arith::AddIOp::create(b, loc, op.getCColumn(), first)};
  callKernel(b, strip, indexConstant(b, loc, 0), op.getM(), to);
}

void ContractLowering::writeThroughScratch(OpBuilder &b, Strip strip,
                                           Value columns) {
  int64_t tileRows = kernels.contractRows(types(), strip.vectors);
  Value scratch =
      scratchTile(MemRefType::get({tileRows, width(strip)}, element));
  Value step = indexConstant(b, loc, tileRows), zero = indexConstant(b, loc, 0);
  auto loop = scf::ForOp::create(b, loc, zero, op.getM(), step);
  OpBuilder body = OpBuilder::atBlockBegin(loop.getBody());
  Value i0 = loop.getInductionVar();
  Value rows = arith::MinSIOp::create(
      body, loc, step, arith::SubIOp::create(body, loc, op.getM(), i0));
  callKernel(body, strip, i0, rows, {{}, scratch, zero, zero});
  emitEpilogue(body, strip, i0, rows, columns, scratch);
}

/// The start of the sums: a pointer, which may be null, and its stride.
SmallVector<Value> ContractLowering::start(OpBuilder &b, Strip strip,
                                           Value i0) {
  Value sums = op.getSums();
  if (!sums) {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    return {LLVM::ZeroOp::create(b, loc, pointer),
            toWord(b, loc, indexConstant(b, loc, 0))};
  }
  ValueRange at = op.getSumsAt();
  Value row = arith::AddIOp::create(b, loc, at[0], i0);
  Value column = arith::AddIOp::create(
      b, loc, at[1], indexConstant(b, loc, strip.firstColumn));
  int64_t columns = op.getSums().getType().getDimSize(1);
  return {elementPointer(b, loc, sums, {row, column}),
          toWord(b, loc, indexConstant(b, loc, columns))};
}

/// The last four arguments of a kernel. Of several strips, the first asks for
/// the next data.
SmallVector<Value> ContractLowering::requests(OpBuilder &b, Strip strip) {
  Value ahead = op.getAhead();
  if (!ahead || strip.firstColumn != 0) {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value zero = toWord(b, loc, indexConstant(b, loc, 0));
    return {LLVM::ZeroOp::create(b, loc, pointer), zero, zero, zero};
  }
  constexpr int64_t lineBytes = 64;
  auto type = cast<MemRefType>(ahead.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  ValueRange piece = op.getAheadPiece();
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulIOp::create(b, loc, x, y);
  };
  Value rowBytes = multiply(piece[3], indexConstant(b, loc, bytes));
  Value rowLines = arith::DivUIOp::create(
      b, loc,
      arith::AddIOp::create(b, loc, rowBytes,
                            indexConstant(b, loc, lineBytes - 1)),
      indexConstant(b, loc, lineBytes));
  return {elementPointer(b, loc, ahead, {piece[0], piece[1]}),
          toWord(b, loc, indexConstant(b, loc, type.getDimSize(1) * bytes)),
          toWord(b, loc, rowLines),
          toWord(b, loc, multiply(piece[2], rowLines))};
}

void ContractLowering::callKernel(OpBuilder &b, Strip strip, Value i0,
                                  Value rows, const Destination &to) {
  Value aRow = op.getARow(), aColumn = op.getAK();
  Value rowStride = indexConstant(b, loc, op.getA().getType().getDimSize(1));
  Value columnStride = indexConstant(b, loc, 1);
  if (op.getTransposeA()) {
    // Row i of the transposed operand is column ai + i of `a`.
    std::swap(rowStride, columnStride);
    std::swap(aRow, aColumn);
    aColumn = arith::AddIOp::create(b, loc, aColumn, i0);
  } else {
    aRow = arith::AddIOp::create(b, loc, aRow, i0);
  }
  Value panelRow = indexConstant(b, loc, 0);
  // A column of pairs is as wide as one of sums, not as one number.
  Type number = op.getPanel().getType().getElementType();
  unsigned numbersPerColumn =
      element.getIntOrFloatBitWidth() / number.getIntOrFloatBitWidth();
  Value panelColumn =
      indexConstant(b, loc, strip.firstColumn * numbersPerColumn);
  if (ValueRange at = op.getPanelAt(); !at.empty()) {
    panelRow = at[0];
    panelColumn = arith::AddIOp::create(b, loc, at[1], panelColumn);
  }
  int64_t ld = op.getPanel().getType().getDimSize(1);
  int64_t cColumns = cast<MemRefType>(to.c.getType()).getDimSize(1);
  SmallVector<Value> arguments = {
      elementPointer(b, loc, op.getA(), {aRow, aColumn}),
      toWord(b, loc, rowStride),
      toWord(b, loc, columnStride),
      elementPointer(b, loc, op.getPanel(), {panelRow, panelColumn}),
      toWord(b, loc, indexConstant(b, loc, ld)),
      toWord(b, loc, op.getK()),
      elementPointer(b, loc, to.c, {to.row, to.column}),
      toWord(b, loc, indexConstant(b, loc, cColumns))};
  arguments.append(start(b, strip, i0));
  arguments.push_back(toWord(b, loc, rows));
  if (to.store.epilogue)
    arguments.append(to.store.epilogue->arguments(
        b, loc, i0, indexConstant(b, loc, strip.firstColumn)));
  arguments.append(requests(b, strip));
  func::CallOp::create(
      b, loc, kernels.contract(types(), lanes, strip.vectors, to.store),
      arguments);
}

/// c[..] = epilogue((c[..]) + scratch[i][j], i, j).
void ContractLowering::emitEpilogue(OpBuilder &b, Strip strip, Value i0,
                                    Value rows, Value columns, Value scratch) {
  Value first = indexConstant(b, loc, strip.firstColumn);
  tile::MapOp::create(
      b, loc, ValueRange{rows, columns},
      [&](OpBuilder &b, Location loc, ValueRange ivs) {
        Value value = memref::LoadOp::create(b, loc, scratch, ivs);
        Value i = arith::AddIOp::create(b, loc, i0, ivs[0]);
        Value j = arith::AddIOp::create(b, loc, first, ivs[1]);
        SmallVector<Value> at = {
            arith::AddIOp::create(b, loc, op.getCRow(), i),
            arith::AddIOp::create(b, loc, op.getCColumn(), j)};
        if (op.getAccumulate()) {
          Value old = memref::LoadOp::create(b, loc, op.getC(), at);
          value = arith::AddFOp::create(b, loc, old, value);
        }
        if (!op.getEpilogue().empty()) {
          Block &epilogue = op.getEpilogue().front();
          IRMapping mapping;
          mapping.map(epilogue.getArguments(), ValueRange{value, i, j});
          for (Operation &inner : epilogue.without_terminator())
            b.clone(inner, mapping);
          value =
              mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0));
        }
        if (rounds())
          value = arith::TruncFOp::create(b, loc, b.getBF16Type(), value);
        memref::StoreOp::create(b, loc, value, op.getC(), at);
      });
}

void hone::lowerContract(cpu::ContractOp op, KernelLibrary &kernels,
                         const CpuDescription &cpu) {
  ContractLowering(op, kernels, cpu).lower();
}
