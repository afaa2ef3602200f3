//===- OutputFolder.h - The folder that one run writes to -----------------===//
//
// Locked until the process ends, however it ends: the system drops the lock of
// a killed process. The file "lock" itself stays; in it is the name by which
// the lines of this run are known in a log.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "platform/Files.h"

#include <string>

namespace hone::rt {

class OutputFolder {
public:
  OutputFolder() = default;
  /// Where nothing was written a lock that is new is gone again, and a folder
  /// that is.
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;

  /// Makes `directory` if it is missing and locks it. To be called before
  /// anything is written there or cleaned up. Errors: Usage when another
  /// process has it; CannotCreate, IoError.
  Status claim(const std::string &directory);

  /// Checks that no other run has claimed a folder of this path since: the lock
  /// is of a file, which may have been removed or moved with its folder. To be
  /// called before a checkpoint takes the place of others. Errors: FolderInUse.
  Status checkIsOurs() const;

  /// The name of all runs that began or resumed in this folder: 16 hex digits.
  const std::string &runName() const { return name; }
  /// Where tokenised data is kept.
  std::string dataPath() const { return directory + "/data"; }
  /// For a run that is refused: removes its tokenised data, unless there was
  /// such a folder before it.
  void discardData();

private:
  std::string lockPath() const { return directory + "/lock"; }
  Status lock();
  Status readName();

  std::string directory, name;
  bool isNew = false, isLockNew = false, isDataNew = false;
  uint64_t found = 0; ///< names in the folder before it was claimed
  platform::File file;
};

} // namespace hone::rt
