//===- OutputFile.cpp - A file that appears whole or not at all -----------===//
//
// After a failed fsync the kernel may have marked the lost pages clean, so a
// second fsync would report success for data that is gone: every failure here
// is final and the temporary is removed.
//
//===----------------------------------------------------------------------===//

#include "base/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace hone::rt {

static const char *remedyFor(int errorNumber) {
  switch (errorNumber) {
  case ENOSPC:
  case EDQUOT:
    return "free some space or choose another output folder";
  case EFBIG:
    return "raise the limit on file size (ulimit -f)";
  case EROFS:
  case EACCES:
  case EPERM:
    return "choose an output folder that you may write to";
  case ENOENT:
  case ENOTDIR:
    return "create the folder first or check the path";
  case EMFILE:
  case ENFILE:
    return "raise the limit on open files (ulimit -n)";
  default:
    return "check the disk and the output folder";
  }
}

static Status outputError(ExitCode code, const std::string &path,
                          const char *doing, int errorNumber) {
  return Status::error(
      code,
      {path, std::string(doing) + " failed: " + std::strerror(errorNumber),
       remedyFor(errorNumber)});
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile file;
  file.finalPath = path;
  file.temporaryPath = path + ".tmp-" + std::to_string(::getpid());
  file.buffer = std::make_unique<char[]>(BufferBytes);
  // Ours by its process id: one that exists is left from a dead process. It
  // is unlinked, not opened, so a symbolic link in its place is not followed.
  ::unlink(file.temporaryPath.c_str());
  do
    file.descriptor =
        ::open(file.temporaryPath.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  while (file.descriptor < 0 && errno == EINTR);
  if (file.descriptor < 0)
    return outputError(ExitCode::CannotCreate, path, "creating the file",
                       errno);
  return file;
}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  if (this == &other)
    return *this;
  discard();
  take(other);
  return *this;
}

void OutputFile::take(OutputFile &other) {
  descriptor = std::exchange(other.descriptor, -1);
  hashing = other.hashing;
  buffered = std::exchange(other.buffered, 0);
  total = std::exchange(other.total, 0);
  buffer = std::move(other.buffer);
  finalPath = std::move(other.finalPath);
  temporaryPath = std::move(other.temporaryPath);
  hexDigest = std::move(other.hexDigest);
  hash = other.hash;
  firstError = std::move(other.firstError);
}

void OutputFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  descriptor = -1;
  ::unlink(temporaryPath.c_str());
}

Status OutputFile::fail(const char *doing, int errorNumber) {
  firstError = outputError(ExitCode::IoError, finalPath, doing, errorNumber);
  discard();
  return firstError;
}

Status OutputFile::flush() {
  uint64_t done = 0;
  while (done < buffered) {
    ssize_t n = ::write(descriptor, buffer.get() + done, buffered - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail("writing the file", n < 0 ? errno : ENOSPC);
    done += static_cast<uint64_t>(n);
  }
  buffered = 0;
  return Status::ok();
}

static Status notOpen(const std::string &path) {
  return Status::error(ExitCode::Internal,
                       {path,
                        "expected an open output file, found one that "
                        "is finished",
                        "report this bug"});
}

Status OutputFile::write(const void *bytes, uint64_t size) {
  if (!firstError.isOk())
    return firstError;
  if (descriptor < 0)
    return notOpen(finalPath);
  if (size == 0)
    return Status::ok();
  if (hashing)
    hash.update(bytes, size);
  total += size;
  const char *from = static_cast<const char *>(bytes);
  while (size > 0) {
    uint64_t n = std::min(size, BufferBytes - buffered);
    std::memcpy(buffer.get() + buffered, from, n);
    buffered += n;
    from += n;
    size -= n;
    if (buffered < BufferBytes)
      continue;
    if (Status s = flush(); !s.isOk())
      return s;
  }
  return Status::ok();
}

Status OutputFile::commit() {
  if (!firstError.isOk())
    return firstError;
  if (descriptor < 0)
    return notOpen(finalPath);
  if (Status s = flush(); !s.isOk())
    return s;
  if (::fsync(descriptor) != 0)
    return fail("making the file durable (fsync)", errno);
  // Network file systems report late write errors here.
  int closing = ::close(std::exchange(descriptor, -1));
  int closeError = errno;
  if (closing != 0 && closeError != EINTR) {
    ::unlink(temporaryPath.c_str());
    return fail("closing the file", closeError);
  }
  if (::rename(temporaryPath.c_str(), finalPath.c_str()) != 0) {
    int renameError = errno;
    ::unlink(temporaryPath.c_str());
    return fail("renaming the finished file into place", renameError);
  }
  if (hashing)
    hexDigest = hash.finishHex();
  firstError = syncDirectory(parentDirectory(finalPath));
  return firstError;
}

Status syncDirectory(const std::string &directory) {
  int descriptor;
  do
    descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return outputError(ExitCode::IoError, directory, "opening the folder",
                       errno);
  int result = ::fsync(descriptor);
  int syncError = errno;
  ::close(descriptor);
  // Some file systems have no directory fsync and say so: EINVAL.
  if (result != 0 && syncError != EINVAL)
    return outputError(ExitCode::IoError, directory,
                       "making the folder durable (fsync)", syncError);
  return Status::ok();
}

Status createDirectories(const std::string &directory) {
  if (directory.empty())
    return outputError(ExitCode::CannotCreate, "''", "creating the folder",
                       ENOENT);
  for (size_t at = 0; at != std::string::npos;) {
    at = directory.find('/', at + 1);
    std::string prefix = directory.substr(0, at);
    struct stat info;
    if (::mkdir(prefix.c_str(), 0777) == 0) {
      // A new folder is only durable once its parent is.
      if (Status s = syncDirectory(parentDirectory(prefix)); !s.isOk())
        return s;
      continue;
    }
    int mkdirError = errno;
    if (::stat(prefix.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      continue;
    return outputError(ExitCode::CannotCreate, prefix, "creating the folder",
                       mkdirError == EEXIST ? ENOTDIR : mkdirError);
  }
  return Status::ok();
}

std::vector<std::string> listDirectory(const std::string &directory) {
  std::vector<std::string> names;
  DIR *stream = ::opendir(directory.c_str());
  if (!stream)
    return names;
  while (const dirent *entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(std::move(name));
  }
  ::closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

bool removeFlatDirectory(const std::string &directory) {
  for (const std::string &name : listDirectory(directory))
    ::unlink((directory + "/" + name).c_str());
  return ::rmdir(directory.c_str()) == 0;
}

static bool isGone(pid_t process) {
  return process == ::getpid() || (::kill(process, 0) != 0 && errno == ESRCH);
}

void removeStrayTemporaries(const std::string &path) {
  std::string directory = parentDirectory(path);
  std::string prefix = path.substr(path.find_last_of('/') + 1) + ".tmp-";
  for (const std::string &name : listDirectory(directory)) {
    if (name.compare(0, prefix.size(), prefix) != 0)
      continue;
    long process = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (process <= 0 || process > INT32_MAX ||
        !isGone(static_cast<pid_t>(process)))
      continue;
    std::string stray = directory + "/" + name;
    if (::unlink(stray.c_str()) != 0)
      removeFlatDirectory(stray);
  }
}

Status writeFile(const std::string &path, std::string_view text) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.isOk())
    return file.status();
  if (Status s = file.value().write(text); !s.isOk())
    return s;
  return file.value().commit();
}

std::string parentDirectory(const std::string &path) {
  // Trailing slashes name the same folder: "a/b/" is in "a".
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos)
    return path.empty() ? "." : "/";
  size_t slash = path.rfind('/', end);
  if (slash == std::string::npos)
    return ".";
  size_t parentEnd = path.find_last_not_of('/', slash);
  return parentEnd == std::string::npos ? "/" : path.substr(0, parentEnd + 1);
}

} // namespace hone::rt
