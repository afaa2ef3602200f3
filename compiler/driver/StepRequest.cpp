//===- StepRequest.cpp - What a spec asks of the passes of a step ---------===//

#include "compiler/driver/StepRequest.h"

#include "compiler/emit/ModuleSummary.h"
#include "passes/methods/Methods.h"

using namespace hone;
using rt::ErrorCode;
using rt::Status;

/// Sets what `method` is told.
static void setMethod(StepOptions &options, const rt::MethodSettings &method) {
  options.method = method.method;
  options.optimizer = optimizerVariant(method);
  options.rateOfB = method.loraplus_lr_ratio != 1;
  options.directions = method.directions;
  options.directionScales = method.direction_scales.text();
  options.selection = method.selection;
  options.selectionRatio = method.selection_ratio;
  options.selectionRatioEnd = method.selection_ratio_end;
  options.selectionSchedule = method.selection_schedule;
  options.selectionGroups = method.selection_groups;
  options.selectionWarmup = method.selection_warmup;
  options.selectionPeriod = method.selection_period;
  options.unselected = method.unselected;
  options.unselectedUpdate = method.unselected_update;
}

void hone::setMethods(StepOptions &options, const Spec &spec) {
  if (spec.compares())
    options.compare = spec.train.compare;
  if (!spec.hasParts())
    return setMethod(options, spec.train);
  options.lowerLayers = spec.lowerLayers();
  for (auto [text, part] : {std::pair(&options.lower, &spec.lower),
                            std::pair(&options.upper, &spec.upper)}) {
    StepOptions own;
    setMethod(own, *part);
    *text = printMethodOptions(own);
  }
}

Status hone::checkStepOptions(const StepOptions &given, const Spec &spec) {
  StepOptions ofSpec;
  setMethods(ofSpec, spec);
  auto refuse = [](const std::string &option, const std::string &problem,
                   const std::string &remedy) {
    return Status::error(ErrorCode::OptionsDisagree,
                         {"--step-options: " + option, problem, remedy});
  };
  if (given.method != ofSpec.method)
    return spec.hasParts()
               ? refuse("method", "the spec's parts have methods of their own",
                        "set parts.lower.method or parts.upper.method")
               : refuse("method", "the spec's method is " + spec.train.method,
                        "set train.method");
  if (given.lowerLayers != ofSpec.lowerLayers || given.lower != ofSpec.lower ||
      given.upper != ofSpec.upper)
    return refuse("lower, upper", "the spec says what methods parts have",
                  "set parts.lower and parts.upper");
  if (given.compare != ofSpec.compare)
    return refuse("compare", "the spec says what is compared",
                  "set train.compare");
  const bool isCut = given.splitAfter >= 0;
  if (spec.hasParts() && (isCut || !given.ranks.empty()))
    return refuse(isCut ? "split-after" : "ranks",
                  "parts with methods of their own are of one program",
                  "leave it out, or remove parts");
  if (spec.compares() && (isCut || !given.ranks.empty()))
    return refuse(isCut ? "split-after" : "ranks",
                  "gradients are compared in one program, which has all layers "
                  "and batches",
                  "leave it out, or remove train.compare");
  if (given.ranks.empty() || hasBackward(given))
    return Status::ok();
  return refuse("ranks",
                "ranks exchange gradients, and method " + spec.train.method +
                    " has none",
                "leave ranks out, or set train.method to backprop");
}
