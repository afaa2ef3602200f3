//===- KernelEpilogue.cpp - Operations on a sum before it is stored -------===//
//
// See KernelEpilogue.h. An epilogue that is refused here runs all the same,
// through a scratch tile and a tile.map, and rounds alike.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelEpilogue.h"

#include "targets/cpu/MatrixPointers.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t kLineBytes = 64;

//===----------------------------------------------------------------------===//
// Reading an epilogue
//===----------------------------------------------------------------------===//

namespace {

/// Copies the epilogue's value into a function, without its loads.
class EpilogueReader {
public:
  explicit EpilogueReader(cpu::ContractOp op)
      : region(op.getEpilogue()), source(region.front()),
        alongRows(source, source.getArgument(1), source.getArgument(0)),
        alongColumns(source, source.getArgument(2), source.getArgument(0)) {
    Type element = source.getArgument(0).getType();
    result.function = func::FuncOp::create(
        op.getLoc(), "epilogue",
        FunctionType::get(op.getContext(), element, element));
    (*result.function).addEntryBlock();
    mapping.map(source.getArgument(0), result.body().getArgument(0));
  }

  std::optional<KernelEpilogue> read();

private:
  Value copy(Value value);
  Value addOperand(KernelEpilogue::Operand operand);
  Value addLoad(memref::LoadOp load);

  Region &region;
  Block &source;
  LaneAnalysis alongRows, alongColumns;
  IRMapping mapping;
  KernelEpilogue result;
};

} // namespace

std::optional<KernelEpilogue> EpilogueReader::read() {
  if (!alongColumns.canWiden())
    return std::nullopt;
  Value value = copy(source.getTerminator()->getOperand(0));
  if (!value)
    return std::nullopt;
  OpBuilder b = OpBuilder::atBlockEnd(&result.body());
  func::ReturnOp::create(b, value.getLoc(), value);
  return std::move(result);
}

/// Null for a value that a kernel cannot compute.
Value EpilogueReader::copy(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  bool isInside = region.isAncestor(value.getParentRegion());
  bool isConstant = op && op->hasTrait<OpTrait::ConstantLike>();
  Value copied;
  if (value.getType().isIndex()) {
    return {};
  } else if (!isInside && !isConstant) {
    copied = addOperand({value});
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    copied = addLoad(load);
  } else {
    for (Value operand : op->getOperands())
      if (!copy(operand))
        return {};
    OpBuilder b = OpBuilder::atBlockEnd(&result.body());
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }
  if (copied)
    mapping.map(value, copied);
  return copied;
}

Value EpilogueReader::addOperand(KernelEpilogue::Operand operand) {
  result.operands.push_back(operand);
  return result.body().addArgument(operand.value.getType(),
                                   operand.value.getLoc());
}

Value EpilogueReader::addLoad(memref::LoadOp load) {
  KernelEpilogue::Operand operand{load, /*isLoad=*/true};
  MemRefType type = load.getMemRefType();
  int64_t stride = 1;
  for (int64_t d = type.getRank(); d-- > 0; stride *= type.getDimSize(d)) {
    Value index = load.getIndices()[d];
    LaneForm form = alongRows.formOf(index);
    if (form == LaneForm::varying)
      return {};
    if (form == LaneForm::unit) {
      operand.alongRows = true;
      operand.rowStride += stride;
    }
    operand.alongColumns |= alongColumns.formOf(index) == LaneForm::unit;
  }
  return addOperand(operand);
}

std::optional<KernelEpilogue> KernelEpilogue::of(cpu::ContractOp op) {
  return EpilogueReader(op).read();
}

//===----------------------------------------------------------------------===//
// Names and arguments of kernels
//===----------------------------------------------------------------------===//

StringRef KernelEpilogue::Operand::kind() const {
  if (alongRows)
    return alongColumns ? "ij" : "i";
  return alongColumns ? "j" : "s";
}

std::string KernelEpilogue::name() const {
  std::string name;
  llvm::SmallDenseSet<Value> read;
  for (Operation &op : body().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    name += ("_" + op.getName().stripDialect()).str();
    for (Value value : op.getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getArgNumber() > 0 && read.insert(value).second)
        name += ("_" + operands[argument.getArgNumber() - 1].kind()).str();
    }
  }
  return name;
}

std::string KernelEpilogue::key() const {
  std::string key;
  llvm::raw_string_ostream os(key);
  for (const Operand &operand : operands)
    os << operand.kind() << (operand.isLoad ? " in memory, " : ", ");
  Operation *op = *function;
  op->print(os, OpPrintingFlags().assumeVerified().useLocalScope());
  return key;
}

SmallVector<Type> KernelEpilogue::argumentTypes() const {
  SmallVector<Type> types;
  for (const Operand &operand : operands) {
    MLIRContext *context = operand.value.getContext();
    types.push_back(operand.isLoad ? LLVM::LLVMPointerType::get(context)
                                   : operand.value.getType());
    if (operand.alongRows)
      types.push_back(IntegerType::get(context, 64));
  }
  return types;
}

/// A copy, at the builder's place, of a value that the epilogue computes.
static Value copyIndex(OpBuilder &b, Value value, Region &region,
                       IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (!region.isAncestor(value.getParentRegion()))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyIndex(b, operand, region, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

SmallVector<Value> KernelEpilogue::arguments(OpBuilder &b, Location loc,
                                             Value row, Value column) const {
  SmallVector<Value> arguments;
  IRMapping mapping;
  for (const Operand &operand : operands) {
    if (!operand.isLoad) {
      arguments.push_back(operand.value);
      continue;
    }
    auto load = operand.value.getDefiningOp<memref::LoadOp>();
    Block &epilogue = *load->getBlock();
    mapping.map(epilogue.getArgument(1), row);
    mapping.map(epilogue.getArgument(2), column);
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(copyIndex(b, index, *epilogue.getParent(), mapping));
    if (indices.empty())
      indices.push_back(indexConstant(b, loc, 0));
    arguments.push_back(elementPointer(b, loc, load.getMemRef(), indices));
    if (operand.alongRows)
      arguments.push_back(
          toWord(b, loc, indexConstant(b, loc, operand.rowStride)));
  }
  return arguments;
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

/// The sum, and the operands that move with the columns.
static SmallVector<Value> perLane(const KernelEpilogue &epilogue) {
  ValueRange parameters = epilogue.body().getArguments();
  SmallVector<Value> values = {parameters[0]};
  for (auto [operand, parameter] :
       llvm::zip(epilogue.operands, parameters.drop_front()))
    if (operand.alongColumns)
      values.push_back(parameter);
  return values;
}

EpilogueEmitter::EpilogueEmitter(OpBuilder &b, Location loc,
                                 const KernelEpilogue &epilogue,
                                 ValueRange arguments, Value firstRow,
                                 unsigned lanes)
    : b(b), loc(loc), p(b, loc), epilogue(epilogue), firstRow(firstRow),
      lanes(lanes), analysis(epilogue.body(), /*iv=*/{}, perLane(epilogue)),
      widener(epilogue.body(), /*iv=*/{}, analysis, lanes) {
  for (const KernelEpilogue::Operand &operand : epilogue.operands) {
    values.push_back(arguments.front());
    arguments = arguments.drop_front();
    strides.push_back(operand.alongRows ? arguments.front() : Value());
    arguments = arguments.drop_front(operand.alongRows ? 1 : 0);
  }
}

Value EpilogueEmitter::rowOf(unsigned index, Value r) {
  const KernelEpilogue::Operand &operand = epilogue.operands[index];
  if (!operand.alongRows)
    return values[index];
  Value row = p.add(firstRow, r);
  return p.at(operand.value.getType(), values[index],
              p.multiply(row, strides[index]));
}

void EpilogueEmitter::request(Value r, unsigned vectors) {
  for (auto [index, operand] : llvm::enumerate(epilogue.operands)) {
    if (!operand.alongRows || !operand.alongColumns)
      continue;
    int64_t bytes =
        vectors * lanes * operand.value.getType().getIntOrFloatBitWidth() / 8;
    Value row = rowOf(index, r);
    for (int64_t byte = 0; byte < bytes; byte += kLineBytes)
      LLVM::Prefetch::create(b, loc, p.at(b.getI8Type(), row, p.word(byte)),
                             /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
}

Value EpilogueEmitter::operandAt(unsigned index, unsigned r, unsigned v) {
  const KernelEpilogue::Operand &operand = epilogue.operands[index];
  if (!operand.isLoad)
    return values[index];
  Value &known =
      loaded[{index, operand.alongRows ? r : 0, operand.alongColumns ? v : 0}];
  if (known)
    return known;
  Type type = operand.value.getType();
  Value at = rowOf(index, p.word(r));
  if (!operand.alongColumns)
    return known = p.load(type, at);
  at = p.at(type, at, p.word(v * lanes));
  return known = p.load(VectorType::get(lanes, type), at);
}

Value EpilogueEmitter::apply(Value sums, unsigned r, unsigned v) {
  ValueRange parameters = epilogue.body().getArguments();
  IRMapping scalars;
  llvm::DenseMap<Value, Value> vectors;
  vectors[parameters[0]] = sums;
  for (unsigned index = 0; index < epilogue.operands.size(); ++index) {
    Value parameter = parameters[1 + index], value = operandAt(index, r, v);
    if (epilogue.operands[index].alongColumns)
      vectors[parameter] = value;
    else
      scalars.map(parameter, value);
  }
  widener.emitUniform(b, scalars);
  return widener.emitWide(b, scalars, /*base=*/{}, /*mask=*/{}, vectors)
      .front();
}
