//===- ModulePattern.h - Keys of rank_pattern and alpha_pattern -----------===//
//
// PEFT (get_pattern_key) takes a key for a module when the key, as a regular
// expression, is the module's path or its end after a dot:
// re.match(r"(.*\.)?(KEY)$", path). So "q_proj" names one module in every
// layer, "layers\.[0-3]\..*" all of four layers, and
// "^model.layers.0.mlp.up_proj" one.
//
// Keys are of the subset that Python's expressions and POSIX's share, in which
// no key takes time out of proportion: . [] | () * + ? ^ $ and escaped
// punctuation.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "formats/Adapter.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace hone {

class ModulePattern {
public:
  /// The problem of `key`; empty: none.
  static std::string problemOf(llvm::StringRef key);

  /// Of a key without a problem.
  explicit ModulePattern(llvm::StringRef key);

  bool names(llvm::StringRef path) const { return expression.match(path); }

private:
  llvm::Regex expression;
};

/// Numbers of modules by keys, each compiled once.
class PatternNumbers {
public:
  /// Each module is matched with each key. A key for each matrix of 126 layers
  /// is 882.
  static constexpr size_t mostKeys = 4096;

  /// The problem of their number; empty: none.
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
