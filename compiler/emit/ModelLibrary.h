//===- ModelLibrary.h - A model for programs that call hone.h -------------===//
//
// Of `-o out/qwen`: libqwen.a with hone_qwen and nothing else that is visible,
// libqwen.so with that and the runtime, qwen.h, and module.modulemap, by which
// Swift knows qwen.h.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "targets/Target.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace hone {

/// The functions of hone.h.
inline constexpr const char *libraryFunctions[] = {
    "hone_planned_bytes", "hone_open",          "hone_completed_steps",
    "hone_step",          "hone_step_for",      "hone_save",
    "hone_evaluate",      "hone_write_adapter", "hone_close",
    "hone_generate",      "hone_tokenize",      "hone_detokenize"};

/// The names of a library's files and symbols.
struct ModelLibrary {
  std::string name; ///< of letters, digits and _

  /// Named after the folder, with _ for characters that C names cannot have.
  static ModelLibrary inFolder(llvm::StringRef folder);

  std::string archive() const { return "lib" + name + ".a"; }
  std::string shared() const { return "lib" + name + ".so"; }
  std::string header() const { return name + ".h"; }
  /// hone_NAME, of a program other than train hone_NAME_PROGRAM.
  std::string symbolOf(llvm::StringRef program) const;
  std::string headerText(llvm::ArrayRef<std::string> symbols) const;
  std::string moduleMap() const;
};

/// The object files `members` as an archive, whose bytes depend on theirs
/// alone. Errors: CannotCreate.
Status writeArchive(const std::string &path,
                    llvm::ArrayRef<std::string> members, const Target &target);

} // namespace hone
