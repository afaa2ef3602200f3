//===- OutputLock.cpp - One run at a time in an output folder -------------===//
//
// flock and not a file with a process id: that would outlive a kill, and ids
// are used again.
//
//===----------------------------------------------------------------------===//

#include "program/OutputLock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace hone::rt {

OutputLock::~OutputLock() {
  if (file >= 0)
    close(file);
}

Status OutputLock::acquire(const std::string &directory) {
  std::string path = directory + "/lock";
  file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    return Status::error(ExitCode::CannotCreate,
                         {path,
                          std::string("cannot create: ") + strerror(errno),
                          "check the folder, or give another --output"});
  if (flock(file, LOCK_EX | LOCK_NB) == 0)
    return Status::ok();
  // A file system without locks is no reason not to train.
  if (errno != EWOULDBLOCK)
    return Status::ok();
  return Status::error(ExitCode::Usage,
                       {directory, "another run is using this folder",
                        "wait for it to end, or give another --output"});
}

} // namespace hone::rt
