//===- ModelChecks.cpp - The gradient of the whole, small model -----------===//
//
// See ModelChecks.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/ModelChecks.h"

#include "base/Philox.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/ModelProgram.h"
#include "compiler/selfcheck/Numbers.h"
#include "compiler/selfcheck/RouteChecks.h"
#include "passes/Passes.h"
#include "passes/derive/PerturbParameters.h"
#include "passes/derive/TangentCopy.h"
#include "passes/module/Schedule.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Of sums that are the same in two places.
static constexpr double kIdentityLimit = 1e-12;
/// How far a loss is taken along a direction: mezo's default.
static constexpr double kScale = 1e-2;

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
  /// Compares the terms of `estimate` with the gradient's value of them.
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

/// Relative error of <gradient, direction>.
static double slopeError(ModelProgram &program,
                         const std::vector<double> &theta,
                         ArrayRef<double> gradient, ArrayRef<double> direction,
                         rt::Pool &pool) {
  double slope = slopeOf(
      [&](const std::vector<double> &at) {
        return program.gradientAt(at, pool).loss;
      },
      theta, direction);
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
  auto expectedOf = [&](GradientCheck::Kind kind) -> double {
    switch (kind) {
    case GradientCheck::Tangent:
      return dot(gradient, direction);
    case GradientCheck::PerturbedLoss:
      return program.gradientAt(moved(theta, kScale, direction), pool).loss;
    case GradientCheck::Gradient:
      break;
    }
    llvm_unreachable("a gradient by itself is no estimate");
  };
  // As long as `program` still has its weights.
  std::vector<double> expected;
  for (GradientCheck::Kind kind : request.estimates)
    expected.push_back(expectedOf(kind));
  auto weights = program.takeWeights();
  for (auto [kind, found] : llvm::zip_equal(request.estimates, expected)) {
    bool isTangent = kind == GradientCheck::Tangent;
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
  for (Route route : request.routes)
    if (llvm::Error error = checkRoute(route, request, values, *parameters,
                                       exact.gradient, pool, report))
      return error;
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
