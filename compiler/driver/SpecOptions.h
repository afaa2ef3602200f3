//===- SpecOptions.h - Options of tools that read a spec ------------------===//

#pragma once

#include "compiler/spec/Spec.h"

#include "llvm/Support/CommandLine.h"

namespace hone {

/// --set and --target, of a tool that lists them under `category`.
class SpecOptions {
public:
  explicit SpecOptions(llvm::cl::OptionCategory &category)
      : set("set", llvm::cl::value_desc("section.key=value"),
            llvm::cl::cat(category),
            llvm::cl::desc("override a key of the spec")),
        target("target", llvm::cl::value_desc("native | triple"),
               llvm::cl::cat(category),
               llvm::cl::desc("short for --set target=...")) {}

  /// Their overrides, in order.
  std::vector<SpecOverride> overrides() const {
    std::vector<SpecOverride> found(set.begin(), set.end());
    if (target.getNumOccurrences())
      found.emplace_back("target", "--target", target);
    return found;
  }

  llvm::cl::list<std::string> set;
  llvm::cl::opt<std::string> target;
};

} // namespace hone
