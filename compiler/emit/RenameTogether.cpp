//===- RenameTogether.cpp - Files that appear all or none -----------------===//
//
// The old files are moved aside, not removed, until every new one is in place.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/RenameTogether.h"
#include "base/OutputFile.h"
#include "compiler/driver/CommandLine.h"
#include "platform/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

#include <fcntl.h>
#include <unistd.h>

using namespace hone;

static Status cannotReplace(const std::string &path, std::error_code error) {
  return Status(ErrorCode::CannotCreate, path,
                "cannot be replaced: " + error.message(),
                "check the folder's permissions, and that no folder "
                "has this name");
}

static Status makeDurable(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotReplace(path, std::error_code(errno, std::generic_category()));
  int result = ::fsync(descriptor);
  std::error_code error(errno, std::generic_category());
  ::close(descriptor);
  if (result == 0)
    return Status::ok();
  return Status(ErrorCode::WriteFailed, path,
                "cannot be made durable: " + error.message(),
                "check the disk and the free space");
}

static std::string asideName(const std::string &path) {
  return path + kAside + std::to_string(llvm::sys::Process::getProcessId());
}

/// Moves an old `file.to` aside, then the new one into its place.
static std::error_code replace(const Rename &file) {
  namespace fs = llvm::sys::fs;
  if (fs::is_directory(file.to))
    return std::make_error_code(std::errc::is_a_directory);
  bool isOld = fs::exists(file.to);
  if (isOld)
    if (std::error_code error = fs::rename(file.to, asideName(file.to)))
      return error;
  std::error_code error = fs::rename(file.from, file.to);
  if (error && isOld)
    fs::rename(asideName(file.to), file.to);
  return error;
}

static void restore(const Rename &file) {
  if (llvm::sys::fs::exists(asideName(file.to)))
    llvm::sys::fs::rename(asideName(file.to), file.to);
  else
    llvm::sys::fs::remove(file.to);
}

Status hone::renameTogether(llvm::ArrayRef<Rename> files) {
  for (const Rename &file : files)
    HONE_TRY(makeDurable(file.from));
  SignalsWait until; // all of them, or none
  for (auto [index, file] : llvm::enumerate(files)) {
    std::error_code error = replace(file);
    if (!error)
      continue;
    for (const Rename &done : llvm::reverse(files.take_front(index)))
      restore(done);
    return cannotReplace(file.to, error);
  }
  for (const Rename &file : files)
    llvm::sys::fs::remove(asideName(file.to));
  return rt::syncDirectory(rt::platform::parentDirectory(files.front().to));
}
