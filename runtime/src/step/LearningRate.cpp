//===- LearningRate.cpp - The learning rate of each step ------------------===//

#include "step/LearningRate.h"

namespace hone::rt {

const char *lrSchedulerName(LrScheduler scheduler) {
  switch (scheduler) {
  case LrScheduler::Constant:
    return "constant";
  case LrScheduler::Linear:
    return "linear";
  case LrScheduler::Cosine:
    return "cosine";
  }
  return "";
}

bool parseScheduler(const std::string &text, LrScheduler &out) {
  for (LrScheduler each :
       {LrScheduler::Constant, LrScheduler::Linear, LrScheduler::Cosine})
    if (text == lrSchedulerName(each)) {
      out = each;
      return true;
    }
  // Transformers' name for the same schedule.
  if (text != "constant_with_warmup")
    return false;
  out = LrScheduler::Constant;
  return true;
}

LrScheduler schedulerOf(const MethodSettings &method) {
  LrScheduler out = LrScheduler::Linear;
  parseScheduler(method.lr_scheduler_type, out);
  return out;
}

} // namespace hone::rt
