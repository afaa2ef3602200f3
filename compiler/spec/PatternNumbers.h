//===- PatternNumbers.h - rank_pattern or alpha_pattern -------------------===//

#ifndef HONE_COMPILER_SPEC_PATTERNNUMBERS_H
#define HONE_COMPILER_SPEC_PATTERNNUMBERS_H

#include "compiler/spec/ModulePattern.h"
#include "formats/Adapter.h"

#include <string>
#include <vector>

namespace hone {

/// Numbers of modules by keys, each compiled once.
class PatternNumbers {
public:
  /// Each module is matched with each key. A key for each matrix of 126 layers
  /// is 882.
  static constexpr size_t mostKeys = 4096;

  /// What is wrong with how many there are; empty: nothing.
  static std::string problemOf(const rt::ModuleNumbers &numbers);

  /// Of keys without a problem.
  explicit PatternNumbers(const rt::ModuleNumbers &numbers);

  size_t size() const { return keys.size(); }
  const std::string &text(size_t i) const { return keys[i].text; }
  double number(size_t i) const { return keys[i].number; }

  /// The first key from `from` on that names the module; size() if none does.
  size_t find(llvm::StringRef path, size_t from = 0) const;
  /// As PEFT: of the first key that names the module, else `standard`.
  double numberOf(llvm::StringRef path, double standard) const;

private:
  struct Key {
    ModulePattern pattern;
    std::string text;
    double number;
  };
  std::vector<Key> keys;
};

} // namespace hone

#endif
