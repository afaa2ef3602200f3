//===- NewFile.h - Files that nobody has yet --------------------*- C++ -*-===//
//
// LLVM draws a digit for each % of a path, those of its folders included.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hone {

/// Creates an empty file: `prefix`, digits and `suffix` are its path.
llvm::Expected<std::string> createNewFile(llvm::StringRef prefix,
                                          llvm::StringRef suffix = "");

/// The same in the folder of temporary files.
llvm::Expected<std::string> createTemporaryFile(llvm::StringRef prefix,
                                                llvm::StringRef suffix);

} // namespace hone
