//===- StepRules.cpp - What --step-options must not ask for ---------------===//

#include "compiler/rules/StepRules.h"
#include "passes/methods/Methods.h"

using namespace hone;
using rt::ErrorCode;
using rt::Status;

Status hone::checkStepOptions(const StepOptions &given, const Spec &spec) {
  auto refuse = [](const std::string &option, const std::string &problem,
                   const std::string &remedy) {
    return Status::error(ErrorCode::OptionsDisagree,
                         {"--step-options: " + option, problem, remedy});
  };
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
  if (given.ranks.empty() || hasBackward(spec))
    return Status::ok();
  return refuse("ranks",
                "ranks exchange gradients, and method " + spec.train.method +
                    " has none",
                "leave ranks out, or set train.method to backprop");
}
