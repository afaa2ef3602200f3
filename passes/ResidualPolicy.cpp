//===- ResidualPolicy.cpp - What the forward pass keeps -------------------===//

#include "passes/ResidualPolicy.h"

#include "llvm/ADT/StringSwitch.h"

namespace hone {

std::optional<ResidualPolicy> ResidualPolicy::parse(llvm::StringRef name) {
  auto kind = llvm::StringSwitch<std::optional<Kind>>(name)
                  .Case("mesp", Kind::Mesp)
                  .Case("store-h", Kind::StoreH)
                  .Case("mebp", Kind::Mebp)
                  .Case("full", Kind::Full)
                  .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  return ResidualPolicy(*kind);
}

llvm::StringRef ResidualPolicy::names() { return "mesp, store-h, mebp, full"; }

} // namespace hone
