//===- SelfCheck.cpp - Whether a model's gradients are right --------------===//
//
// See SelfCheck.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/SelfCheck.h"

#include "compiler/rules/RequestRules.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/ModelChecks.h"
#include "compiler/selfcheck/OpChecks.h"
#include "dialects/Hone/HoneOps.h"
#include "module/Module.h"
#include "passes/methods/Method.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Checks that programs for `target` can be run here.
static Status checkMachine(const Spec &spec, const Target &target) {
  std::string needs;
  if (std::string other = target.toolchain(); !other.empty())
    needs = "is for " + other;
  else if (std::string missing = rt::missingCpuFeature(target.features());
           !missing.empty())
    needs = "needs a CPU with " + missing;
  if (needs.empty())
    return Status::ok();
  return Status(ErrorCode::OtherProcessor, spec.placeOf("target.triple"),
                "expected a target that this machine can run, since "
                "--self-check runs its own programs, but " +
                    target.describe() + " " + needs,
                "run honec on such a machine, or check with "
                "--target=native");
}

/// That a layer can be in memory in f64: a configuration without weights beside
/// it may name any widths.
static Status checkSize(ModuleOp shrunk, const Spec &spec) {
  constexpr double most = 0x1p31;
  double elements = 0;
  shrunk.walk([&](ParameterOp op) {
    elements += cast<RankedTensorType>(op.getType()).getNumElements();
  });
  if (elements <= most)
    return Status::ok();
  return Status(
      ErrorCode::BadConfig, spec.model,
      llvm::formatv("expected blocks of at most {0:e1} numbers in all to "
                    "check, but found {1:e1}",
                    most, elements),
      "if these widths are right, check narrower layers of the family");
}

/// The largest sum of roundings in a tensor of the gradient, relative. The
/// order of sums decides on which side many numbers are rounded, so targets
/// differ by as much. A wrong sign is an error of about one.
static double limitOf(const Spec &spec) {
  if (spec.train.compute_dtype == "float64")
    return 1e-10;
  bool isRounded =
      spec.train.compute_dtype == "bfloat16" || spec.roundsProducts();
  return isRounded ? 0.3 : 1e-4;
}

/// The estimates that methods have beside the gradient, each once.
static std::vector<GradientCheck::Kind> estimatesOf(const Spec &spec) {
  std::vector<GradientCheck::Kind> estimates;
  auto add = [&](const std::string &name) {
    const Method *method = findMethod(name);
    if (!method) // of compare: none
      return;
    const GradientCheck::Kind kind = method->check;
    if (kind != GradientCheck::Gradient && !llvm::is_contained(estimates, kind))
      estimates.push_back(kind);
  };
  add(spec.train.compare);
  for (const rt::MethodSettings *method : spec.methods())
    add(method->method);
  return estimates;
}

/// The routes that selections and parts derive for the methods of `spec`.
static std::vector<Route> routesOf(const Spec &spec) {
  std::vector<Route> routes;
  for (const rt::MethodSettings *method : spec.methods()) {
    if (!spec.isRead(method->selection))
      continue;
    Route own = method->selection == "stochastic-depth" ? Route::SkippedForwards
                : method->unselected == "exact"         ? Route::Exact
                                                        : Route::Identity;
    if (!llvm::is_contained(routes, own))
      routes.push_back(own);
  }
  if (!spec.hasParts())
    return routes;
  bool hasLower = false, hasUpper = false, trains = false, holds = false;
  for (const auto &part : spec.parts) {
    const bool isTrained = spec.train.residuals.isReadBy(part->method);
    hasUpper |= isTrained && holds;
    hasLower |= !isTrained && trains;
    (isTrained ? trains : holds) = true;
  }
  if (hasLower)
    routes.push_back(Route::LowerPart);
  if (hasUpper)
    routes.push_back(Route::UpperPart);
  return routes;
}

/// Plans change no bit, so one that is to be found needs no search here.
static std::string residualsOf(const Spec &spec) {
  bool isNamed =
      spec.isRead(spec.train.residuals) && spec.train.residuals != "planned";
  return isNamed ? spec.train.residuals.text() : "mesp";
}

Result<Report> hone::selfCheck(ModuleOp module, const Spec &spec,
                               const Target &target) {
  HONE_TRY(checkMachine(spec, target));
  auto failed = [&](llvm::Error failure) {
    return cannotLoad(std::move(failure), [&](const std::string &why) {
      return Status(spec.isMlir() ? ErrorCode::ModuleRefused : ErrorCode::Bug,
                    spec.model, "cannot be checked: " + why,
                    spec.isMlir()
                        ? "see the message above"
                        : "please report this with config.json and the spec");
    });
  };
  auto reference = createTarget(TargetRequest::parse("reference"));
  if (!reference)
    return failed(reference.takeError());
  auto pool = rt::Pool::create(spec.target.threads);
  if (!pool.isOk())
    return pool.status();

  Report report;
  shrink(module);
  HONE_TRY(checkSize(module, spec));
  OwningOpRef<ModuleOp> float64(module.clone());
  convertToFloat64(*float64);
  if (llvm::Error error = checkOps(*float64, findOps(*float64), kRows, target,
                                   *pool.value(), report))
    return failed(std::move(error));
  // The ops themselves have been checked.
  for (ModuleOp each : {module, *float64})
    removeKinks(each);
  bool isReference = (*reference)->request().triple == target.request().triple;
  ModelCheckRequest request{module,
                            *float64,
                            target,
                            isReference ? nullptr : reference->get(),
                            residualsOf(spec),
                            estimatesOf(spec),
                            spec.train.compute_dtype,
                            limitOf(spec),
                            routesOf(spec)};
  if (llvm::Error error = checkModel(request, *pool.value(), report))
    return failed(std::move(error));
  return report;
}
