//===- OutputFolder.cpp - The folder that one run writes to ---------------===//
//
// flock and not a file with a process id: that would outlive a kill, and ids
// are used again.
//
//===----------------------------------------------------------------------===//

#include "program/OutputFolder.h"

#include "base/OutputFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hone::rt {

static bool exists(const std::string &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

OutputFolder::~OutputFolder() {
  // Folders go only when they are empty.
  if (isDataNew)
    rmdir(dataPath().c_str());
  if (file < 0) {
    if (isNew)
      rmdir(directory.c_str());
    return;
  }
  Result<std::vector<std::string>> left = listDirectory(directory);
  if (isNew && left.isOk() && left.value().size() == 1) {
    unlink((directory + "/lock").c_str());
    rmdir(directory.c_str());
  }
  close(file);
}

Status OutputFolder::claim(const std::string &path) {
  directory = path;
  isNew = !exists(directory);
  if (Status status = createDirectories(directory); !status.isOk())
    return status;
  if (Status status = lock(); !status.isOk())
    return status;
  if (Status status = readName(); !status.isOk())
    return status;
  isDataNew = !exists(dataPath());
  return Status::ok();
}

Status OutputFolder::lock() {
  std::string path = directory + "/lock";
  for (;;) {
    file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
      return Status::error(ErrorCode::CannotCreate,
                           {path,
                            std::string("cannot create: ") + strerror(errno),
                            "check the folder, or give another --output"});
    // A file system without locks is no reason not to train.
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      break;
    // Another run may have failed and removed the file before we locked it.
    struct stat ours, named;
    if (fstat(file, &ours) == 0 && stat(path.c_str(), &named) == 0 &&
        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
      return Status::ok();
    close(file);
  }
  close(file);
  file = -1;
  return Status::error(ErrorCode::FolderInUse,
                       {directory, "another run is using this folder",
                        "wait for it to end, or give another --output"});
}

/// Names a new run: the file is empty, or is of a version without names.
Status OutputFolder::readName() {
  char text[17];
  if (pread(file, text, sizeof(text), 0) == sizeof(text) && text[16] == '\n' &&
      strspn(text, "0123456789abcdef") == 16) {
    name.assign(text, 16);
    return Status::ok();
  }
  std::string random = temporaryPath("");
  name = random.substr(random.size() - 16);
  std::string line = name + "\n";
  if (pwrite(file, line.data(), line.size(), 0) == ssize_t(line.size()) &&
      fsync(file) == 0)
    return syncDirectory(directory); // a log may have this name already
  return Status::error(ErrorCode::WriteFailed,
                       {directory + "/lock",
                        std::string("cannot write: ") + strerror(errno),
                        "check the disk, or give another --output"});
}

} // namespace hone::rt
