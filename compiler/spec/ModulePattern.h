//===- ModulePattern.h - Keys of rank_pattern and alpha_pattern -----------===//
//
// PEFT (get_pattern_key) takes a key for a module when the key, as a regular
// expression, is the module's path or its end behind a dot:
// re.match(r"(.*\.)?(KEY)$", path). So "q_proj" names one module in every
// layer, "layers\.[0-3]\..*" all of four layers, and
// "^model.layers.0.mlp.up_proj" one.
//
// Keys are what Python's expressions and POSIX's have in common, in which no
// key takes time out of proportion: . [] | () * + ? ^ $ and escaped
// punctuation.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_SPEC_MODULEPATTERN_H
#define HONE_COMPILER_SPEC_MODULEPATTERN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <string>

namespace hone {

class ModulePattern {
public:
  /// What is wrong with `key`; empty: nothing.
  static std::string problemOf(llvm::StringRef key);

  /// Of a key without a problem.
  explicit ModulePattern(llvm::StringRef key);

  bool names(llvm::StringRef path) const { return expression.match(path); }

private:
  llvm::Regex expression;
};

} // namespace hone

#endif
