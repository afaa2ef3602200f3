//===- OpChecks.cpp - Each op's derivatives, at the model's widths --------===//
//
// All ops are one program, so that kernels they share are compiled once: a
// block for each op, whose operands are inputs, and one entry that calls them
// all. Frozen matrices are the large ones, and all of them are one buffer.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/OpChecks.h"

#include "compiler/import/ModelImport.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/Numbers.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/derive/BlockDerivation.h"
#include "passes/module/Schedule.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Of |u| |Jv|. Sums are of up to some ten thousand terms, in f64.
static constexpr double kIdentityLimit = 1e-12;
/// Of the same: the error that differences leave.
static constexpr double kDifferenceLimit = 1e-7;
static constexpr double kStep = 2e-3;
/// How far from zero operands are: an activation may have a kink there, which
/// differences must not cross.
static constexpr double kFromZero = 1.0 / 16;

namespace {

/// Where a value of the program is: an input, or a result of the entry.
struct Place {
  std::string region;
  Type type;
};

/// An operand with a derivative, and its cotangent by each alternative.
struct Active {
  unsigned operand;
  Place value, direction;
  std::vector<Place> cotangents;
};

struct OpCase {
  explicit OpCase(const OpSubject &subject)
      : subject(subject),
        identity{"adjoint identity", subject.name, 0, kIdentityLimit},
        difference{"finite differences", subject.name, 0, kDifferenceLimit} {}

  const OpSubject &subject;
  std::vector<Active> operands;
  Place cotangent, result;     ///< u and the op's value
  std::vector<Place> tangents; ///< of each form
  Check identity, difference;
};

class OpProgram {
public:
  OpProgram(ModuleOp model, std::vector<OpCase> &cases, int64_t maxRows)
      : model(model), cases(cases), maxRows(maxRows), rows(maxRows),
        module(ModuleOp::create(model.getLoc())) {}

  llvm::Error build(const Target &target);
  /// Along operand `index` of each op, of those that are active.
  void check(size_t index, int64_t rows, rt::Pool &pool);

private:
  LogicalResult writeCase(OpCase &op, size_t number);
  LogicalResult writeDerivatives(OpCase &op, Operation *copy);
  /// An input of f64, of this case alone.
  Value input(llvm::StringRef name, Type type, double fromZero = 0);
  Place place(Value value);
  /// With operand `index` of each op moved by `step` times its direction, and
  /// tangents along that direction alone.
  void run(size_t index, double step, rt::Pool &pool);
  /// Of the op's value with its cotangent.
  double product(const OpCase &op) const {
    return dot(read(op.cotangent), read(op.result));
  }
  std::vector<double> read(const Place &place) const {
    return program.read(place.region, elementsAtRows(place.type, rows));
  }

  ModuleOp model;
  std::vector<OpCase> &cases;
  int64_t maxRows, rows; ///< of the module, of a run
  OwningOpRef<ModuleOp> module;
  EntryProgram program;
  std::vector<double> weight;
  /// Of inputs.
  std::vector<std::pair<Place, std::vector<double>>> values;
  std::map<std::string, std::vector<int32_t>> integers;

  // The case that is being written.
  OpBuilder builder{model.getContext()};
  std::string prefix;
  SmallVector<Value> results;
  size_t numResults = 0; ///< of the cases before
};

} // namespace

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// Ops with the same text compile to the same code.
static std::string describeKind(Operation *op, const llvm::BitVector &active) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << op->getAttrDictionary() << op->getOperandTypes();
  for (unsigned index : active.set_bits())
    os << " " << index;
  return text;
}

/// "self_attn.q_proj", as the importer calls the op; else the op's line.
static std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  std::string text;
  llvm::raw_string_ostream(text) << location;
  return text;
}

std::vector<OpSubject> selfcheck::findOps(ModuleOp module) {
  std::vector<OpSubject> found;
  FailureOr<EntryOp> loss = findLossEntry(module);
  if (failed(loss))
    return found;
  EntryActivity activity(*loss);
  std::map<std::string, size_t> known;
  SymbolTable symbols(module);
  llvm::DenseSet<Operation *> visited;
  for (CallOp call : loss->getBody().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (!visited.insert(block).second)
      continue;
    ActivityAnalysis inside(block, activity.inputsOf(call));
    for (Operation &op : block.getBody().front().without_terminator()) {
      llvm::BitVector active = inside.activeOperands(&op);
      if (active.none())
        continue;
      std::string place =
          "@" + call.getBlock().str() + " " + nameOf(op.getLoc());
      auto [at, isNew] =
          known.try_emplace(describeKind(&op, active), found.size());
      if (isNew)
        found.push_back(
            {&op, active, op.getName().getStringRef().str() + " of " + place});
      else
        found[at->second].name += ", " + place;
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

Value OpProgram::input(StringRef name, Type type, double fromZero) {
  std::string full = prefix + name.str();
  std::vector<double> numbers =
      RandomNumbers(full).take(elementsAtRows(type, maxRows));
  for (double &number : numbers)
    number += std::copysign(fromZero, number);
  values.push_back({{"input." + full, type}, std::move(numbers)});
  return InputOp::create(builder, model.getLoc(), type, full);
}

Place OpProgram::place(Value value) {
  if (auto source = value.getDefiningOp<InputOp>())
    return {("input." + source.getName()).str(), value.getType()};
  auto *found = llvm::find(results, value);
  size_t index = numResults + (found - results.begin());
  if (found == results.end())
    results.push_back(value);
  return {"result." + std::to_string(index), value.getType()};
}

LogicalResult OpProgram::writeCase(OpCase &op, size_t number) {
  prefix = std::to_string(number) + ".";
  results.clear();
  OpBuilder outside = OpBuilder::atBlockEnd(module->getBody());
  std::string name = "op" + std::to_string(number);
  auto block = BlockOp::create(outside, op.subject.op->getLoc(), name,
                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(&block.getBody().front());

  // One of its own for each operand, also where the model has one value twice.
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op.subject.op->getOperands())) {
    Operation *source = operand.getDefiningOp();
    auto type = cast<RankedTensorType>(operand.getType());
    auto parameter = dyn_cast_or_null<ParameterOp>(source);
    if (parameter && !parameter.getTrainable()) {
      auto copy = cast<ParameterOp>(builder.clone(*source));
      copy.setName(prefix + std::to_string(index));
      operands.push_back(copy.getResult());
      weight.resize(std::max<size_t>(weight.size(), type.getNumElements()));
    } else if (isa<FloatType>(type.getElementType())) {
      operands.push_back(input("x" + std::to_string(index), type, kFromZero));
    } else if (auto ofBatch = dyn_cast_or_null<InputOp>(source)) {
      integers[ofBatch.getName().str()] =
          integersOf(ofBatch, vocabularySize(model), maxRows);
      operands.push_back(builder.clone(*source)->getResult(0));
    } else {
      return op.subject.op->emitOpError("expects integers to be inputs, but "
                                        "operand #")
             << index << " is none";
    }
  }
  Operation *copy = builder.clone(*op.subject.op);
  copy->setOperands(operands);
  if (failed(writeDerivatives(op, copy)))
    return failure();

  ReturnOp::create(builder, block.getLoc(), results);
  block.setFunctionType(
      builder.getFunctionType({}, ValueRange(results).getTypes()));
  numResults += results.size();
  return success();
}

LogicalResult OpProgram::writeDerivatives(OpCase &op, Operation *copy) {
  auto forward = dyn_cast<TangentOpInterface>(copy);
  auto reverse = dyn_cast<AdjointOpInterface>(copy);
  if (!forward || !reverse)
    return op.subject.op->emitOpError("has no derivative rule, but depends on "
                                      "trainable parameters");
  IRMapping same;
  for (Value operand : copy->getOperands())
    same.map(operand, operand);
  SmallVector<Operation *> forms = {copy};
  if (reverse.getAuxiliaryType())
    forms.push_back(cloneWithAuxiliary(builder, copy, same,
                                       /*withAuxiliary=*/true));
  Operation *kept = forms.back();
  Value u = input("u", kept->getResult(0).getType());
  op.cotangent = place(u);
  op.result = place(kept->getResult(0));

  SmallVector<Value> directions(copy->getNumOperands());
  for (unsigned index : op.subject.active.set_bits()) {
    directions[index] =
        input("v" + std::to_string(index), copy->getOperand(index).getType());
    op.operands.push_back(
        {index, place(copy->getOperand(index)), place(directions[index]), {}});
  }
  for (Operation *form : forms) {
    auto tangent =
        cast<TangentOpInterface>(form).buildTangent(builder, directions);
    if (failed(tangent))
      return failure();
    op.tangents.push_back(place(*tangent));
  }

  SmallVector<Value> cotangents(kept->getNumResults());
  cotangents[0] = u;
  auto read = [&](Residual residual) -> Value {
    switch (residual.kind) {
    case Residual::Kind::Operand:
      return kept->getOperand(residual.index);
    case Residual::Kind::Result:
      return kept->getResult(residual.index);
    case Residual::Kind::Auxiliary:
      return kept->getResults().back();
    }
    llvm_unreachable("all kinds are handled");
  };
  auto adjoint = cast<AdjointOpInterface>(kept);
  size_t count = adjoint.getResidualAlternatives(op.subject.active).size();
  for (unsigned alternative = 0; alternative < count; ++alternative) {
    auto built = adjoint.buildAdjoint(
        builder,
        AdjointRequest{op.subject.active, cotangents, alternative, read});
    if (failed(built))
      return failure();
    for (Active &active : op.operands)
      active.cotangents.push_back(place((*built)[active.operand]));
  }
  return success();
}

llvm::Error OpProgram::build(const Target &target) {
  for (auto [number, op] : llvm::enumerate(cases))
    if (failed(writeCase(op, number)))
      return llvm::createStringError("an op has no derivative");

  SmallVector<Type> types;
  for (BlockOp block : module->getOps<BlockOp>())
    llvm::append_range(types, block.getResultTypes());
  OpBuilder outside = OpBuilder::atBlockEnd(module->getBody());
  auto entry = EntryOp::create(outside, module->getLoc(), "ops", Phase::Forward,
                               TypeRange(), types);
  outside.setInsertionPointToEnd(&entry.getBodyBlock());
  SmallVector<Value> all;
  for (BlockOp block : module->getOps<BlockOp>())
    llvm::append_range(all, CallOp::create(outside, block.getLoc(),
                                           block.getResultTypes(),
                                           block.getSymName(), "", ValueRange())
                                .getResults());
  ReturnOp::create(outside, module->getLoc(), all);
  for (llvm::StringRef name : {HoneDialect::getMaxRowsAttrName(),
                               HoneDialect::getMaxPositionsAttrName()})
    (*module)->setAttr(name, builder.getI64IntegerAttr(maxRows));

  size_t numWeights = 0;
  module->walk([&](ParameterOp) { ++numWeights; });
  auto built = EntryProgram::build(*module, target);
  if (!built)
    return built.takeError();
  program = std::move(*built);
  weight = RandomNumbers("weight").take(weight.size());
  program.setWeights(std::vector<const void *>(numWeights, weight.data()));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Its numbers
//===----------------------------------------------------------------------===//

/// Writes all inputs, then those that differ, and runs.
void OpProgram::run(size_t index, double step, rt::Pool &pool) {
  program.reset();
  for (const auto &[name, numbers] : integers)
    program.write("input." + name, llvm::ArrayRef(numbers).take_front(rows));
  for (const auto &[place, numbers] : values)
    program.write(place.region, llvm::ArrayRef(numbers).take_front(
                                    elementsAtRows(place.type, rows)));
  for (const OpCase &op : cases)
    for (auto [i, operand] : llvm::enumerate(op.operands)) {
      if (i != index) {
        program.write(
            operand.direction.region,
            std::vector<double>(elementsAtRows(operand.direction.type, rows)));
        continue;
      }
      std::vector<double> value = read(operand.value);
      std::vector<double> direction = read(operand.direction);
      for (size_t j = 0; j < value.size(); ++j)
        value[j] += step * direction[j];
      program.write(operand.value.region, value);
    }
  program.run(rows, pool);
}

/// The largest of |a - b|.
static double farthest(ArrayRef<double> all, ArrayRef<double> others) {
  double apart = 0;
  for (double a : all)
    for (double b : others)
      apart = larger(apart, std::abs(a - b));
  return apart;
}

void OpProgram::check(size_t index, int64_t batch, rt::Pool &pool) {
  rows = batch;
  std::vector<double> slopes(cases.size());
  for (Sample sample : derivativeSamples(kStep)) {
    run(index, sample.at, pool);
    for (auto [slope, op] : llvm::zip_equal(slopes, cases))
      slope += sample.weight * product(op);
  }

  run(index, 0, pool);
  for (auto [slope, op] : llvm::zip_equal(slopes, cases)) {
    if (index >= op.operands.size())
      continue;
    const Active &active = op.operands[index];
    std::vector<double> u = read(op.cotangent), v = read(active.direction);
    double size = 0;
    std::vector<double> forward, reverse;
    for (const Place &place : op.tangents) {
      std::vector<double> tangent = read(place);
      forward.push_back(dot(u, tangent));
      size = std::max(size, norm(u) * norm(tangent));
    }
    for (const Place &place : active.cotangents) {
      std::vector<double> cotangent = read(place);
      reverse.push_back(dot(cotangent, v));
      size = std::max(size, norm(cotangent) * norm(v));
    }
    std::string along = " along operand #" + std::to_string(active.operand);
    double ofAdjoint = farthest(reverse, slope) / size;
    double ofTangent = farthest(forward, slope) / size;
    bool isAdjoint = !(ofAdjoint <= kDifferenceLimit);
    bool isTangent = !(ofTangent <= kDifferenceLimit);
    const char *wrong = isAdjoint == isTangent ? "adjoint or tangent"
                        : isAdjoint            ? "adjoint"
                                               : "tangent";
    op.identity.add(farthest(forward, reverse) / size, wrong + along);
    op.difference.add(ofAdjoint, "adjoint" + along);
    op.difference.add(ofTangent, "tangent" + along);
  }
}

llvm::Error selfcheck::checkOps(ModuleOp module, ArrayRef<OpSubject> ops,
                                ArrayRef<int64_t> rowCounts,
                                const Target &target, rt::Pool &pool,
                                Report &report) {
  if (ops.empty())
    return llvm::Error::success();
  std::vector<OpCase> cases(ops.begin(), ops.end());
  OpProgram program(module, cases, *llvm::max_element(rowCounts));
  if (llvm::Error error = program.build(target))
    return error;
  size_t most = 0;
  for (const OpCase &op : cases)
    most = std::max(most, op.operands.size());
  for (int64_t rows : rowCounts)
    for (size_t index = 0; index < most; ++index)
      program.check(index, rows, pool);
  for (const OpCase &op : cases)
    report.checks.push_back(op.identity);
  for (const OpCase &op : cases)
    report.checks.push_back(op.difference);
  return llvm::Error::success();
}
