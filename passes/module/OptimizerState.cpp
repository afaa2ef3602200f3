//===- OptimizerState.cpp - The optimizer's state of a module ------------===//

#include "passes/module/OptimizerState.h"

using namespace mlir;

namespace hone {

OptimizerState::OptimizerState(ModuleOp module,
                               const ParameterTable &parameters)
    : parameters(parameters) {
  if (parameters.trainable().empty())
    return;
  module.walk([&](UpdateOpInterface update) {
    for (const StateSlot &slot :
         update.getStateSlots(parameters.gradientElement())) {
      const auto *known = llvm::find_if(
          list, [&](const StateSlot &each) { return each.name == slot.name; });
      if (known == list.end())
        list.push_back(slot);
      else
        assert(known->element == slot.element && known->extent == slot.extent &&
               known->isKept == slot.isKept &&
               "slots of one name are the same");
    }
  });
}

static int64_t elementsOf(const StateSlot &slot,
                          ArrayRef<Parameter> parameters) {
  int64_t elements = 0;
  for (const Parameter &parameter : parameters)
    elements += slot.elementsOf(parameter.type);
  return elements;
}

OptimizerState::Range OptimizerState::rangeOf(const StateSlot &slot,
                                              const ThetaSlice &slice) const {
  ArrayRef<Parameter> all = parameters.trainable();
  size_t before = slice.parameters.begin() - all.begin();
  return {hone::elementsOf(slot, all.take_front(before)),
          hone::elementsOf(slot, slice.parameters)};
}

int64_t OptimizerState::elementsOf(const StateSlot &slot) const {
  return hone::elementsOf(slot, parameters.trainable());
}

int64_t OptimizerState::bytesOf(const StateSlot &slot) const {
  return elementsOf(slot) * slot.element.getIntOrFloatBitWidth() / 8;
}

} // namespace hone
