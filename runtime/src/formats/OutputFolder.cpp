//===- OutputFolder.cpp - The folder that one run writes to ---------------===//
//
// A lock and not a file with a process id: that would outlive a kill, and ids
// are used again.
//
//===----------------------------------------------------------------------===//

#include "formats/OutputFolder.h"

#include "base/OutputFile.h"
#include "formats/RunName.h"

namespace hone::rt {

using platform::File;

OutputFolder::~OutputFolder() {
  // Folders go only when they are empty.
  if (isDataNew)
    platform::removeFolder(dataPath().c_str());
  if (!file.isOpen()) {
    if (isNew)
      platform::removeFolder(directory.c_str());
    return;
  }
  // A lock file that was there has the name of a run, which its log uses.
  Result<std::vector<std::string>> left = listDirectory(directory);
  if (!isLockNew || !left.isOk() || left.value().size() != found + 1)
    return;
  platform::removeFile(lockPath().c_str());
  if (isNew)
    platform::removeFolder(directory.c_str());
}

void OutputFolder::discardData() {
  if (isDataNew)
    platform::removeFlatFolder(dataPath().c_str());
}

Status OutputFolder::claim(const std::string &path) {
  directory = path;
  isNew = !platform::exists(directory);
  HONE_TRY(createDirectories(directory));
  HONE_ASSIGN(std::vector<std::string> names, listDirectory(directory));
  found = names.size();
  isLockNew = !platform::exists(lockPath());
  HONE_TRY(lock());
  HONE_TRY(readName());
  isDataNew = !platform::exists(dataPath());
  return Status::ok();
}

Status OutputFolder::lock() {
  const std::string path = lockPath();
  for (;;) {
    platform::FileInfo ours, named;
    if (!platform::inspect(path, named) &&
        named.kind != platform::FileKind::Regular)
      return Status(ErrorCode::CannotCreate, path,
                    "expected a regular file, found a directory, a pipe or a "
                    "device",
                    "remove it, or give another --output");
    if (platform::Error error = file.open(path, File::Mode::Update))
      return Status(ErrorCode::CannotCreate, path,
                    "cannot create: " + error.message(),
                    "check the folder, or give another --output");
    // A file system without locks is no reason not to train.
    if (file.lockSoon(File::Lock::Alone) == std::errc::operation_would_block)
      break;
    // Another run may have failed and removed the file before we locked it.
    if (!file.inspect(ours) && !platform::inspect(path, named) &&
        ours.isSame(named))
      return Status::ok();
    file.close();
  }
  file.close();
  return Status(ErrorCode::FolderInUse, directory,
                "another run is using this folder",
                "wait for it to end, or give another --output");
}

/// The name of a run in the file of a lock; empty: it is empty, or of a version
/// without names.
static std::string nameIn(const File &lock) {
  char text[17];
  return std::string(
      runNameDigits({text, size_t(lock.readAt(text, sizeof(text), 0))}));
}

Status OutputFolder::checkIsOurs() const {
  File now;
  // By its name: some file systems change the number of a file.
  if (now.open(lockPath(), File::Mode::Read))
    return Status::ok();
  const std::string found = nameIn(now);
  if (found.empty() || found == name)
    return Status::ok();
  return Status(ErrorCode::FolderInUse, directory,
                "the folder was removed or moved while the run went on, and "
                "another run has one in its place",
                "give each run an --output of its own");
}

/// Names a new run.
Status OutputFolder::readName() {
  name = nameIn(file);
  if (!name.empty())
    return Status::ok();
  std::string random = temporaryPath("");
  name = random.substr(random.size() - 16);
  std::string line = name + "\n";
  platform::Error error = file.write(line.data(), line.size());
  if (!error)
    error = file.sync();
  if (!error)
    return syncDirectory(directory); // a log may have this name already
  return Status(ErrorCode::WriteFailed, lockPath(),
                "cannot write: " + error.message(),
                "check the disk, or give another --output");
}

} // namespace hone::rt
