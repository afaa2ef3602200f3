//===- BackpropMethod.cpp - The backward of all layers --------------------===//

#include "passes/methods/Methods.h"

namespace hone {

Method methods::backprop() {
  Method method{GradientCheck::Gradient};
  method.choosesResiduals = [](const rt::MethodSettings &) { return true; };
  return method;
}

} // namespace hone
