//===- Family.cpp - The families of models that can be imported -----------===//

#include "compiler/import/families/Family.h"

llvm::ArrayRef<const hone::Family *> hone::families() {
  static const Family *const all[] = {&llama, &qwen2};
  return all;
}
