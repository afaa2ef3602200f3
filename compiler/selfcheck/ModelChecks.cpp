//===- ModelChecks.cpp - The gradient of the whole, small model -----------===//
//
// See ModelChecks.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/ModelChecks.h"

#include "base/Philox.h"
#include "compiler/import/ModelImport.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/Numbers.h"
#include "passes/Passes.h"
#include "passes/derive/PerturbParameters.h"
#include "passes/derive/TangentCopy.h"
#include "passes/module/Schedule.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Of the slope: what differences leave.
static constexpr double kDifferenceLimit = 1e-6;
static constexpr double kStep = 1.6e-5;
/// Of what are the same sums in two places.
static constexpr double kIdentityLimit = 1e-12;
/// How far a loss is taken along a direction: mezo's default.
static constexpr double kScale = 1e-2;

namespace {

/// Loss and gradient of the one batch.
struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
};

/// Adds an entry to a module with the entry @loss, which is taken out then.
using Derive = llvm::function_ref<FailureOr<EntryOp>(EntryOp loss)>;

/// What a method has of the model, as a program with its weights.
class ModelProgram {
public:
  static llvm::Expected<ModelProgram> build(ModuleOp model, Derive derive,
                                            const Target &target,
                                            CheckValues::Tensors weights);
  /// Everything but arguments.
  void setInputs(const std::vector<double> &theta);
  template <typename T> void setArgument(unsigned index, ArrayRef<T> values) {
    program.write("argument." + std::to_string(index), values);
  }
  void run(rt::Pool &pool) { program.run(kRows, pool); }
  double number(unsigned result) const {
    return program.read("result." + std::to_string(result), 1)[0];
  }
  /// Of a program that derives the gradient.
  Outcome gradientAt(const std::vector<double> &theta, rt::Pool &pool);

  CheckValues::Tensors takeWeights() { return std::move(weights); }

private:
  EntryProgram program;
  CheckValues::Tensors weights;
  std::map<std::string, std::vector<int32_t>> inputs;
};

} // namespace

/// Leaves `entry` and what it calls.
static void keepOnly(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  for (EntryOp other : llvm::make_early_inc_range(module.getOps<EntryOp>()))
    if (other != entry)
      other.erase();
  for (BlockOp block : llvm::make_early_inc_range(module.getOps<BlockOp>()))
    if (SymbolTable::symbolKnownUseEmpty(block, module))
      block.erase();
}

llvm::Expected<ModelProgram> ModelProgram::build(ModuleOp model, Derive derive,
                                                 const Target &target,
                                                 CheckValues::Tensors weights) {
  OwningOpRef<ModuleOp> module(model.clone());
  ModelProgram result;
  module->walk([&](InputOp op) {
    result.inputs[op.getName().str()] = integersOf(op, vocabularySize(model));
  });
  FailureOr<EntryOp> loss = findLossEntry(*module);
  FailureOr<EntryOp> entry =
      succeeded(loss) ? derive(*loss) : FailureOr<EntryOp>();
  if (failed(entry))
    return llvm::createStringError("the model cannot be derived");
  keepOnly(*entry);
  auto built = EntryProgram::build(*module, target);
  if (!built)
    return built.takeError();
  result.program = std::move(*built);
  result.weights = std::move(weights);
  result.program.setWeights(result.weights.table);
  return result;
}

void ModelProgram::setInputs(const std::vector<double> &theta) {
  program.reset();
  program.write("theta", theta);
  for (const auto &[name, values] : inputs)
    program.write("input." + name, values);
}

Outcome ModelProgram::gradientAt(const std::vector<double> &theta,
                                 rt::Pool &pool) {
  setInputs(theta);
  setArgument<double>(0, 1.0);
  run(pool);
  return {number(0), program.read("gradient", theta.size())};
}

static FailureOr<EntryOp> deriveGradient(EntryOp loss, StringRef residuals) {
  auto module = loss->getParentOfType<ModuleOp>();
  PassManager derive(module->getContext());
  DeriveBackwardOptions options;
  options.residuals = residuals.str();
  derive.addPass(createDeriveBackward(options));
  if (failed(derive.run(module)))
    return failure();
  return findGradientEntry(module);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {

class ModelComparison {
public:
  ModelComparison(EntryOp loss, const ParameterTable &parameters,
                  Report &report)
      : parameters(parameters), report(report) {
    for (CallOp call : loss.getBody().getOps<CallOp>())
      blocks.try_emplace(call.getPrefix(), call.getBlock());
  }

  /// Of `gradient`, which is of `program` at `theta`.
  void compareWithDifferences(ModelProgram &program,
                              const std::vector<double> &theta,
                              const std::vector<double> &gradient,
                              rt::Pool &pool);
  /// Of what `estimate` is made of, with what the gradient says of it.
  llvm::Error compareEstimates(const ModelCheckRequest &request,
                               ModelProgram &program,
                               const std::vector<double> &theta,
                               const std::vector<double> &gradient,
                               rt::Pool &pool);
  void compare(const std::string &method, const Outcome &one,
               const Outcome &other, double limit);

private:
  /// "gradient of @decoder model.layers.0"
  std::string describe(const TrainableLayer &layer) const {
    return "gradient of @" + blocks.lookup(layer.prefix).str() + " " +
           llvm::StringRef(layer.prefix).rtrim('.').str();
  }

  const ParameterTable &parameters;
  Report &report;
  llvm::StringMap<llvm::StringRef> blocks; ///< by prefix
};

} // namespace

static llvm::ArrayRef<double> slice(const std::vector<double> &vector,
                                    const Parameter &parameter) {
  return llvm::ArrayRef(vector).slice(parameter.offset,
                                      parameter.type.getNumElements());
}

/// Sets the tensor's part of `direction`: as much along its gradient as across
/// it, so that no tensor is too small to be seen and no slope is near zero.
static void setDirection(const Parameter &parameter,
                         const std::vector<double> &gradient,
                         std::vector<double> &direction) {
  llvm::ArrayRef<double> along = slice(gradient, parameter);
  std::vector<double> across =
      RandomNumbers("direction of " + parameter.name).take(along.size());
  double length = std::max(norm(along), 1e-300), width = norm(across);
  for (size_t i = 0; i < along.size(); ++i)
    direction[parameter.offset + i] = along[i] / length + across[i] / width;
}

static std::vector<double> moved(std::vector<double> theta, double step,
                                 ArrayRef<double> direction) {
  for (size_t i = 0; i < theta.size(); ++i)
    theta[i] += step * direction[i];
  return theta;
}

/// Relative error of <gradient, direction>.
static double slopeError(ModelProgram &program,
                         const std::vector<double> &theta,
                         ArrayRef<double> gradient, ArrayRef<double> direction,
                         rt::Pool &pool) {
  double slope = 0;
  for (Sample sample : derivativeSamples(kStep))
    slope += sample.weight *
             program.gradientAt(moved(theta, sample.at, direction), pool).loss;
  double expected = dot(gradient, direction);
  return std::abs(slope - expected) / std::abs(expected);
}

void ModelComparison::compareWithDifferences(
    ModelProgram &program, const std::vector<double> &theta,
    const std::vector<double> &gradient, rt::Pool &pool) {
  auto errorAlong = [&](ArrayRef<Parameter> tensors) {
    std::vector<double> direction(theta.size());
    for (const Parameter &tensor : tensors)
      setDirection(tensor, gradient, direction);
    return slopeError(program, theta, gradient, direction, pool);
  };
  for (auto [index, layer] : llvm::enumerate(parameters.layers())) {
    ArrayRef<Parameter> tensors = parameters.ofLayer(index);
    Check check{"differences of the loss", describe(layer), errorAlong(tensors),
                kDifferenceLimit};
    if (!check.holds())
      for (const Parameter &tensor : tensors)
        check.add(errorAlong(tensor), tensor.name);
    report.checks.push_back(check);
  }
}

/// |a - b| / |b|
static double relativeError(llvm::ArrayRef<double> a,
                            llvm::ArrayRef<double> b) {
  std::vector<double> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}

void ModelComparison::compare(const std::string &method, const Outcome &one,
                              const Outcome &other, double limit) {
  report.checks.push_back(
      {method, "loss", relativeError(one.loss, other.loss), limit});
  for (auto [index, layer] : llvm::enumerate(parameters.layers())) {
    Check check{method, describe(layer), 0, limit};
    for (const Parameter &tensor : parameters.ofLayer(index))
      check.add(relativeError(slice(one.gradient, tensor),
                              slice(other.gradient, tensor)),
                tensor.name);
    report.checks.push_back(check);
  }
}

llvm::Error ModelComparison::compareEstimates(
    const ModelCheckRequest &request, ModelProgram &program,
    const std::vector<double> &theta, const std::vector<double> &gradient,
    rt::Pool &pool) {
  constexpr uint64_t seed = 42;
  std::vector<double> direction(theta.size());
  for (const Parameter &parameter : parameters.trainable()) {
    rt::RandomStream z(seed, /*step=*/0, rt::RandomPurpose::Perturb,
                       parameter.name);
    for (int64_t i = 0; i < parameter.type.getNumElements(); ++i)
      direction[parameter.offset + i] = z.normal(i);
  }
  // As long as `program` still has its weights.
  std::vector<double> expected;
  for (Estimate estimate : request.estimates)
    expected.push_back(
        estimate == Estimate::Tangent
            ? dot(gradient, direction)
            : program.gradientAt(moved(theta, kScale, direction), pool).loss);
  auto weights = program.takeWeights();
  for (auto [kind, found] : llvm::zip_equal(request.estimates, expected)) {
    bool isTangent = kind == Estimate::Tangent;
    auto estimate = ModelProgram::build(
        request.float64,
        [&](EntryOp loss) {
          return isTangent
                     ? TangentCopies().create(loss, "slope", /*moves=*/nullptr)
                     : PerturbedCopies().create(loss, "there",
                                                /*moves=*/nullptr);
        },
        request.target, std::move(weights));
    if (!estimate)
      return estimate.takeError();
    estimate->setInputs(theta);
    estimate->setArgument<int32_t>(0, {int32_t(seed), 0, 0, 0});
    if (!isTangent)
      estimate->setArgument<double>(1, kScale);
    estimate->run(pool);
    if (isTangent)
      report.checks.push_back({"adjoint identity",
                               "slope of the loss along a random direction",
                               std::abs(estimate->number(1) - found) /
                                   (norm(gradient) * norm(direction)),
                               kIdentityLimit});
    else
      report.checks.push_back(
          {"perturbed parameters", "loss along a random direction",
           relativeError(estimate->number(0), found), kIdentityLimit});
    weights = estimate->takeWeights();
  }
  return llvm::Error::success();
}

llvm::Error selfcheck::checkModel(const ModelCheckRequest &request,
                                  rt::Pool &pool, Report &report) {
  FailureOr<EntryOp> loss = findLossEntry(request.stored);
  FailureOr<ParameterTable> parameters = ParameterTable::build(request.stored);
  if (failed(loss) || failed(parameters))
    return llvm::createStringError("the model has no loss or no parameters");
  CheckValues values(request.stored, *parameters);
  const std::vector<double> &theta = values.theta();
  ModelComparison comparison(*loss, *parameters, report);
  auto derive = [&](EntryOp loss) {
    return deriveGradient(loss, request.residuals);
  };

  // One program after the other, so that one has weights in memory.
  Outcome exact;
  {
    auto program = ModelProgram::build(request.float64, derive, request.target,
                                       values.decoded());
    if (!program)
      return program.takeError();
    exact = program->gradientAt(theta, pool);
    comparison.compareWithDifferences(*program, theta, exact.gradient, pool);
    if (!request.estimates.empty())
      if (llvm::Error error = comparison.compareEstimates(
              request, *program, theta, exact.gradient, pool))
        return error;
  }
  auto runStored = [&](const Target &target) -> llvm::Expected<Outcome> {
    auto program =
        ModelProgram::build(request.stored, derive, target, values.stored());
    if (!program)
      return program.takeError();
    return program->gradientAt(theta, pool);
  };
  llvm::Expected<Outcome> found = runStored(request.target);
  if (!found)
    return found.takeError();
  if (request.computeType != "float64")
    comparison.compare(request.computeType + " against float64", *found, exact,
                       request.limit);
  if (!request.reference)
    return llvm::Error::success();
  llvm::Expected<Outcome> expected = runStored(*request.reference);
  if (!expected)
    return expected.takeError();
  comparison.compare("target against reference", *found, *expected,
                     request.limit);
  return llvm::Error::success();
}
