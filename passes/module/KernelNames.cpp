//===- KernelNames.cpp - How profiles and plans name a kernel -------------===//

#include "passes/module/KernelNames.h"

using namespace mlir;

std::string hone::namesOf(Location location) {
  std::string names;
  for (auto named = dyn_cast<NameLoc>(location); named;
       named = dyn_cast<NameLoc>(named.getChildLoc()))
    names += (names.empty() ? "" : " ") + named.getName().str();
  return names;
}

Location hone::kernelLocation(Operation *op, Operation *follower) {
  std::string name = op->getName().stripDialect().str();
  if (follower)
    name += ("+" + follower->getName().stripDialect()).str();
  return NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc());
}
