//===- TemporaryFolder.h - A folder that is gone afterwards ---------------===//
//
// For files that are mapped and then no longer needed by name. It removes the
// files in it, not folders in it; whoever fills it makes none.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_TEMPORARYFOLDER_H
#define HONE_RUNTIME_PROGRAM_TEMPORARYFOLDER_H

#include "base/Status.h"

#include <string>

namespace hone::rt {

class TemporaryFolder {
public:
  TemporaryFolder() = default;
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// Makes a new folder in $TMPDIR or the usual place. Errors: CannotCreate.
  Status create();

  const std::string &path() const { return name; }

private:
  std::string name; ///< empty: there is none
};

} // namespace hone::rt

#endif
