//===- OutputFile.cpp - A file that appears whole or not at all -----------===//
//
// After a failed fsync the kernel may have marked the lost pages clean, so a
// second fsync would report success for data that is gone: every failure here
// is final and the temporary is removed.
//
//===----------------------------------------------------------------------===//

#include "base/OutputFile.h"

#include "base/Process.h"
#include "platform/System.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace hone::rt {

using platform::File;
using platform::FileInfo;
using platform::FileKind;

static const char *remedyFor(platform::Error error) {
  switch (error.value()) {
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
                          const char *doing, platform::Error error) {
  return Status(code, path, std::string(doing) + " failed: " + error.message(),
                remedyFor(error));
}

/// Between a final name and the digits of its temporary.
static constexpr std::string_view temporaryMark = ".tmp-";
static constexpr size_t temporaryDigits = 16;

std::string temporaryPath(const std::string &path) {
  char digits[temporaryDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(platform::randomNumber()));
  return path + std::string(temporaryMark) + digits;
}

/// Opens a new file that only we write.
static platform::Error createLocked(const std::string &path, File &file) {
  if (platform::Error error = file.open(path, File::Mode::Create))
    return error;
  // Some file systems have no locks. A clean-up that took it for a stray before
  // we had ours holds one, or has removed it.
  FileInfo info;
  if (file.lock(File::Lock::Alone) != std::errc::operation_would_block &&
      (file.inspect(info) || info.links > 0))
    return {};
  platform::removeFile(path.c_str());
  file.close();
  return make_error_code(std::errc::file_exists);
}

std::string targetOf(const std::string &path) {
  std::string target = platform::resolve(path);
  return target.empty() ? path : target;
}

Status checkReplaceable(const std::string &path) {
  FileInfo info;
  if (platform::inspect(path, info) || info.kind == FileKind::Regular)
    return Status::ok();
  return Status(ErrorCode::CannotCreate, path,
                "expected a file or nothing, found a folder, a device "
                "or a pipe, which a file cannot replace",
                "give another path");
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  HONE_TRY(checkReplaceable(path));
  OutputFile out;
  out.finalPath = targetOf(path);
  out.buffer = std::make_unique<char[]>(BufferBytes);
  const std::string own = platform::lastPart(out.finalPath);
  removeStrayTemporaries(platform::parentDirectory(out.finalPath),
                         [&](const std::string &name) { return name == own; });
  platform::Error error = make_error_code(std::errc::file_exists);
  for (int i = 0; i < 8 && error == std::errc::file_exists; ++i) {
    out.temporary = temporaryPath(out.finalPath);
    rememberTemporary(out.temporary);
    error = createLocked(out.temporary, out.file);
    if (error)
      forgetTemporary(out.temporary);
  }
  if (error)
    return outputError(ErrorCode::CannotCreate, path, "creating the file",
                       error);
  return out;
}

Result<OutputFile> OutputFile::createUnnamed(const std::string &directory) {
  OutputFile out;
  out.finalPath = directory + "/(unnamed)";
  out.buffer = std::make_unique<char[]>(BufferBytes);
  if (!out.file.createUnnamed(directory))
    return out;
  // Not on all file systems.
  std::string path = temporaryPath(directory + "/unnamed");
  if (platform::Error error = createLocked(path, out.file))
    return outputError(ErrorCode::CannotCreate, directory,
                       "creating a temporary file", error);
  platform::removeFile(path.c_str());
  return out;
}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  if (this == &other)
    return *this;
  discard();
  take(other);
  return *this;
}

void OutputFile::take(OutputFile &other) {
  file = std::move(other.file);
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
  if (!file.isOpen())
    return;
  // Still locked: once it is not, it may be another's to remove.
  if (!temporary.empty())
    platform::removeFile(temporary.c_str());
  forgetTemporary(temporary);
  file.close();
}

Status OutputFile::fail(const char *doing, platform::Error error) {
  firstError = outputError(ErrorCode::WriteFailed, finalPath, doing, error);
  discard();
  return firstError;
}

Status OutputFile::flush() {
  if (platform::Error error = file.write(buffer.get(), buffered))
    return fail("writing the file", error);
  buffered = 0;
  return Status::ok();
}

static Status notOpen(const std::string &path) {
  return Status(ErrorCode::Bug, path,
                "expected an open output file, found one that "
                "is finished",
                "report this bug");
}

Status OutputFile::write(const void *bytes, uint64_t size) {
  if (!firstError.isOk())
    return firstError;
  if (!file.isOpen())
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
    HONE_TRY(flush());
  }
  return Status::ok();
}

Status OutputFile::commit(FolderSync folder) {
  if (!firstError.isOk())
    return firstError;
  if (!file.isOpen() || temporary.empty())
    return notOpen(finalPath);
  HONE_TRY(flush());
  // Network file systems report late write errors here at the latest.
  if (platform::Error error = file.sync())
    return fail("making the file durable (fsync)", error);
  // Renamed before it is closed: its lock says that it is being written.
  if (platform::Error error = platform::rename(temporary, finalPath))
    return fail("renaming the finished file into place", error);
  forgetTemporary(temporary);
  file.close();
  if (hashing)
    hexDigest = hash.finishHex();
  if (folder == FolderSync::Now)
    firstError = syncDirectory(platform::parentDirectory(finalPath));
  return firstError;
}

Result<MappedFile> OutputFile::map() {
  if (!firstError.isOk())
    return firstError;
  if (!file.isOpen())
    return notOpen(finalPath);
  HONE_TRY(flush());
  return MappedFile::map(file, finalPath);
}

Status syncDirectory(const std::string &directory) {
  File folder;
  if (platform::Error error = folder.open(directory, File::Mode::ReadFolder))
    return outputError(ErrorCode::WriteFailed, directory, "opening the folder",
                       error);
  // Some file systems have no fsync of folders and say so.
  if (platform::Error error = folder.sync();
      error && error != std::errc::invalid_argument)
    return outputError(ErrorCode::WriteFailed, directory,
                       "making the folder durable (fsync)", error);
  return Status::ok();
}

Status createDirectories(const std::string &directory, FolderSync parents) {
  if (directory.empty())
    return outputError(ErrorCode::CannotCreate, "''", "creating the folder",
                       make_error_code(std::errc::no_such_file_or_directory));
  for (size_t at = 0; at != std::string::npos;) {
    at = directory.find('/', at + 1);
    std::string prefix = directory.substr(0, at);
    platform::Error error = platform::makeFolder(prefix);
    if (!error) {
      if (parents == FolderSync::Later)
        continue;
      // A new folder is only durable once its parent is.
      HONE_TRY(syncDirectory(platform::parentDirectory(prefix)));
      continue;
    }
    FileInfo info;
    if (!platform::inspect(prefix, info) && info.kind == FileKind::Folder)
      continue;
    if (error == std::errc::file_exists)
      error = make_error_code(std::errc::not_a_directory);
    return outputError(ErrorCode::CannotCreate, prefix, "creating the folder",
                       error);
  }
  return Status::ok();
}

Result<std::vector<std::string>> listDirectory(const std::string &directory) {
  std::vector<std::string> names;
  if (platform::Error error = platform::listFolder(directory, names)) {
    bool isPaths = error == std::errc::no_such_file_or_directory ||
                   error == std::errc::not_a_directory ||
                   error == std::errc::permission_denied;
    return outputError(isPaths ? ErrorCode::CannotRead : ErrorCode::ReadFailed,
                       directory, "reading the folder", error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The final name of a temporary, which temporaryPath() named. "" for other
/// names.
static std::string finalName(const std::string &name) {
  const size_t at = name.rfind(temporaryMark);
  if (at == std::string::npos ||
      name.size() - at != temporaryMark.size() + temporaryDigits ||
      name.find_first_not_of("0123456789abcdef", at + temporaryMark.size()) !=
          std::string::npos)
    return "";
  return name.substr(0, at);
}

/// Removes the temporary at `path` if nobody has the lock that createLocked
/// takes. Ours lasts until the file is gone, so that nobody begins to write it.
static void removeStray(const std::string &path) {
  File file;
  if (file.open(path, File::Mode::ReadUnlinked))
    return;
  if (file.lock(File::Lock::Shared) || !platform::removeFile(path.c_str()))
    platform::removeFlatFolder(path.c_str()); // does nothing to a file
}

void removeStrayTemporaries(
    const std::string &directory,
    const std::function<bool(const std::string &finalName)> &isOurs) {
  // A folder may have millions of files: no other names are kept.
  std::vector<std::string> strays;
  (void)platform::listFolder(directory, strays, [&](const std::string &name) {
    const std::string final = finalName(name);
    return !final.empty() && isOurs(final);
  });
  for (const std::string &name : strays)
    removeStray(directory + "/" + name);
}

Status writeFile(const std::string &path, std::string_view text,
                 FolderSync folder) {
  HONE_ASSIGN(OutputFile file, OutputFile::create(path));
  HONE_TRY(file.write(text));
  return file.commit(folder);
}

} // namespace hone::rt
