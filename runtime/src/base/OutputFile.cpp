//===- OutputFile.cpp - A file that appears whole or not at all -----------===//
//
// After a failed fsync the kernel may have marked the lost pages clean, so a
// second fsync would report success for data that is gone: every failure here
// is final and the temporary is removed.
//
//===----------------------------------------------------------------------===//

#include "base/OutputFile.h"

#include "base/Process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
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

static Status outputError(ErrorCode code, const std::string &path,
                          const char *doing, int errorNumber) {
  return Status::error(
      code,
      {path, std::string(doing) + " failed: " + std::strerror(errorNumber),
       remedyFor(errorNumber)});
}

std::string temporaryPath(const std::string &path) {
  uint64_t number = 0;
  // Fails only on kernels without it; the clock is random enough to go on.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = uint64_t(now.tv_sec) << 30 ^ uint64_t(now.tv_nsec) ^
             uint64_t(::getpid()) << 48;
  }
  char suffix[24];
  std::snprintf(suffix, sizeof suffix, ".tmp-%016llx",
                static_cast<unsigned long long>(number));
  return path + suffix;
}

/// Opens a new file that only we write; -1 with errno.
static int createLocked(const std::string &path) {
  int file;
  do
    file = ::open(path.c_str(),
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  while (file < 0 && errno == EINTR);
  if (file < 0)
    return file;
  (void)::flock(file, LOCK_EX | LOCK_NB); // some file systems have no locks
  // Whoever cleaned up before we had the lock took it for a stray.
  struct stat info;
  if (::fstat(file, &info) != 0 || info.st_nlink > 0)
    return file;
  ::close(file);
  errno = EEXIST;
  return -1;
}

std::string targetOf(const std::string &path) {
  char *found = ::realpath(path.c_str(), nullptr);
  std::string target = found ? found : path;
  std::free(found);
  return target;
}

Status checkReplaceable(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode))
    return Status::ok();
  return Status::error(ErrorCode::CannotCreate,
                       {path,
                        "expected a file or nothing, found a folder, a device "
                        "or a pipe, which a file cannot replace",
                        "give another path"});
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  if (Status status = checkReplaceable(path); !status.isOk())
    return status;
  OutputFile file;
  file.finalPath = targetOf(path);
  file.buffer = std::make_unique<char[]>(BufferBytes);
  for (int attempt = 0; attempt < 8 && file.descriptor < 0; ++attempt) {
    file.temporary = temporaryPath(file.finalPath);
    rememberTemporary(file.temporary);
    file.descriptor = createLocked(file.temporary);
    if (file.descriptor >= 0)
      break;
    int error = errno;
    forgetTemporary(file.temporary);
    errno = error;
    if (error != EEXIST)
      break;
  }
  if (file.descriptor < 0)
    return outputError(ErrorCode::CannotCreate, path, "creating the file",
                       errno);
  return file;
}

Result<OutputFile> OutputFile::createUnnamed(const std::string &directory) {
  OutputFile file;
  file.finalPath = directory + "/(unnamed)";
  file.buffer = std::make_unique<char[]>(BufferBytes);
#ifdef O_TMPFILE
  file.descriptor =
      ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
#endif
  if (file.descriptor < 0) { // not on all file systems
    std::string path = temporaryPath(directory + "/unnamed");
    file.descriptor = createLocked(path);
    if (file.descriptor >= 0)
      ::unlink(path.c_str());
  }
  if (file.descriptor < 0)
    return outputError(ErrorCode::CannotCreate, directory,
                       "creating a temporary file", errno);
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
  temporary = std::move(other.temporary);
  hexDigest = std::move(other.hexDigest);
  hash = other.hash;
  firstError = std::move(other.firstError);
}

void OutputFile::discard() {
  if (descriptor < 0)
    return;
  // Still locked: once it is not, it may be another's to remove.
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  forgetTemporary(temporary);
  ::close(descriptor);
  descriptor = -1;
}

Status OutputFile::fail(const char *doing, int errorNumber) {
  firstError =
      outputError(ErrorCode::WriteFailed, finalPath, doing, errorNumber);
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
  return Status::error(ErrorCode::Bug,
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

Status OutputFile::commit(FolderSync folder) {
  if (!firstError.isOk())
    return firstError;
  if (descriptor < 0 || temporary.empty())
    return notOpen(finalPath);
  if (Status s = flush(); !s.isOk())
    return s;
  // Network file systems report late write errors here at the latest.
  if (::fsync(descriptor) != 0)
    return fail("making the file durable (fsync)", errno);
  // Renamed before it is closed: its lock says that it is being written.
  if (::rename(temporary.c_str(), finalPath.c_str()) != 0)
    return fail("renaming the finished file into place", errno);
  forgetTemporary(temporary);
  ::close(std::exchange(descriptor, -1));
  if (hashing)
    hexDigest = hash.finishHex();
  if (folder == FolderSync::Now)
    firstError = syncDirectory(parentDirectory(finalPath));
  return firstError;
}

Result<MappedFile> OutputFile::map() {
  if (!firstError.isOk())
    return firstError;
  if (descriptor < 0)
    return notOpen(finalPath);
  if (Status s = flush(); !s.isOk())
    return s;
  return MappedFile::map(descriptor, finalPath);
}

Status syncDirectory(const std::string &directory) {
  int descriptor;
  do
    descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return outputError(ErrorCode::WriteFailed, directory, "opening the folder",
                       errno);
  int result = ::fsync(descriptor);
  int syncError = errno;
  ::close(descriptor);
  // Some file systems have no directory fsync and say so: EINVAL.
  if (result != 0 && syncError != EINVAL)
    return outputError(ErrorCode::WriteFailed, directory,
                       "making the folder durable (fsync)", syncError);
  return Status::ok();
}

Status createDirectories(const std::string &directory, FolderSync parents) {
  if (directory.empty())
    return outputError(ErrorCode::CannotCreate, "''", "creating the folder",
                       ENOENT);
  for (size_t at = 0; at != std::string::npos;) {
    at = directory.find('/', at + 1);
    std::string prefix = directory.substr(0, at);
    struct stat info;
    if (::mkdir(prefix.c_str(), 0777) == 0) {
      if (parents == FolderSync::Later)
        continue;
      // A new folder is only durable once its parent is.
      if (Status s = syncDirectory(parentDirectory(prefix)); !s.isOk())
        return s;
      continue;
    }
    int mkdirError = errno;
    if (::stat(prefix.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      continue;
    return outputError(ErrorCode::CannotCreate, prefix, "creating the folder",
                       mkdirError == EEXIST ? ENOTDIR : mkdirError);
  }
  return Status::ok();
}

Result<std::vector<std::string>> listDirectory(const std::string &directory) {
  std::vector<std::string> names;
  DIR *stream = ::opendir(directory.c_str());
  int error = stream ? 0 : errno;
  while (stream && error == 0) {
    errno = 0;
    const dirent *entry = ::readdir(stream);
    error = errno;
    if (!entry)
      break;
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(std::move(name));
  }
  if (stream)
    ::closedir(stream);
  if (error != 0)
    return outputError(error == ENOENT || error == ENOTDIR || error == EACCES
                           ? ErrorCode::CannotRead
                           : ErrorCode::ReadFailed,
                       directory, "reading the folder", error);
  std::sort(names.begin(), names.end());
  return names;
}

bool removeFlatDirectory(const std::string &directory) {
  Result<std::vector<std::string>> names = listDirectory(directory);
  for (const std::string &name : names.value())
    ::unlink((directory + "/" + name).c_str());
  return ::rmdir(directory.c_str()) == 0;
}

/// The final name of a temporary: what is before ".tmp-" and hex digits. ""
/// for other names.
static std::string finalName(const std::string &name) {
  static constexpr std::string_view mark = ".tmp-";
  size_t at = name.rfind(mark);
  if (at == std::string::npos || at + mark.size() == name.size() ||
      name.find_first_not_of("0123456789abcdef", at + mark.size()) !=
          std::string::npos)
    return "";
  return name.substr(0, at);
}

/// Whether some process has the lock that createLocked takes.
static bool isBeingWritten(const std::string &path) {
  int file =
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return false;
  bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return locked;
}

void removeStrayTemporaries(
    const std::string &directory,
    const std::function<bool(const std::string &finalName)> &isOurs) {
  Result<std::vector<std::string>> names = listDirectory(directory);
  for (const std::string &name : names.value()) {
    std::string path = directory + "/" + name, final = finalName(name);
    if (final.empty() || !isOurs(final) || isBeingWritten(path))
      continue;
    if (::unlink(path.c_str()) != 0)
      removeFlatDirectory(path);
  }
}

Status writeFile(const std::string &path, std::string_view text,
                 FolderSync folder) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.isOk())
    return file.status();
  if (Status s = file.value().write(text); !s.isOk())
    return s;
  return file.value().commit(folder);
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
