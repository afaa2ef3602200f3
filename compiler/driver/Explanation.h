//===- Explanation.h - The meaning of an error code -----------------------===//

#pragma once

#include "base/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

/// A kind of error, as runtime/src/base/Errors.def declares it.
struct Explanation {
  ErrorCode code;
  llvm::StringRef title, text;
};

/// A group of kinds: their codes begin with `prefix`.
struct ExplanationGroup {
  llvm::StringRef prefix, title;
};

/// In ascending order of codes.
llvm::ArrayRef<Explanation> explanations();
llvm::ArrayRef<ExplanationGroup> explanationGroups();

/// Title, exit code and text of `code`, or for "all" the titles of all codes.
/// Errors: Usage.
Result<std::string> explain(llvm::StringRef code);

} // namespace hone
