//===- RenameTogether.h - Files that appear all or none -------------------===//
//
// A program and its weights belong together: a new one beside an old one does
// not run. Each is written under a temporary name and both are renamed here.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace hone {

/// Between the name of a file that is moved aside and the number of the
/// process.
inline constexpr const char *kAside = ".old-";

struct Rename {
  std::string from; ///< a finished file in the folder of `to`
  std::string to;   ///< replaced if it is a file
};

/// Makes each `from` durable and renames it to its `to`, in order. If one
/// cannot be, each `to` is again the file that it was, or absent if it was
/// absent; the rest of `from` stays for the caller to remove. Signals wait
/// meanwhile; SIGKILL between two renames leaves the old file aside, as
/// "<to>.old-<pid>", for the next writeFolder to remove.
/// Errors: CannotCreate, IoError.
Status renameTogether(llvm::ArrayRef<Rename> files);

} // namespace hone
