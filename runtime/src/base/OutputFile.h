//===- OutputFile.h - A file that appears whole or not at all -------------===//
//
// Bytes go to a temporary beside it; commit() makes them durable and renames.
// Closing without commit() removes the temporary: an early return never
// leaves a half-written file under the final name.
//
// A temporary is locked while it is written. The system drops the lock of a
// process that is killed, so a temporary that can be locked has no writer, also
// between containers and machines, where process ids repeat. OutputFile::create
// removes those of its own name first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MappedFile.h"
#include "base/Sha256.h"
#include "base/Status.h"
#include "platform/Files.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// When a folder is fsynced: later where another sync of the same folder
/// follows before anything relies on the name, or where losing it costs only
/// time.
enum class FolderSync { Now, Later };

class OutputFile {
public:
  /// Bytes collected before the kernel is called; the only memory used.
  static constexpr uint64_t BufferBytes = 64 * 1024;

  OutputFile() = default;
  ~OutputFile() { discard(); }
  OutputFile(OutputFile &&other) noexcept { take(other); }
  OutputFile &operator=(OutputFile &&other) noexcept;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Creates a temporary beside `path`, or beside the target of a symbolic link
  /// there (mode 0666 less the umask). The folder must exist. Errors:
  /// CannotCreate.
  static Result<OutputFile> create(const std::string &path);

  /// A file without a name in `directory`, gone when this object and its
  /// mappings are: nothing is left of it, however the process ends. To be
  /// read with map(); not to be committed. Errors: CannotCreate.
  static Result<OutputFile> createUnnamed(const std::string &directory);

  /// From now on also hashes the bytes written. Call before the first write.
  void enableDigest() { hashing = true; }

  /// Appends. After an error every later write and commit repeats it.
  /// Errors: IoError (disk full, quota, device error).
  Status write(const void *bytes, uint64_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }

  /// Flush, fsync, close, rename over `path`, fsync the folder. A failed
  /// fsync is never retried: the kernel may have dropped the pages, so the
  /// temporary is removed and the old file, if any, stays. The one exception:
  /// when only the folder's fsync fails, the new file is already in place.
  /// Errors: IoError.
  Status commit(FolderSync folder = FolderSync::Now);

  /// Maps the bytes written so far; before commit(). Errors: IoError.
  Result<MappedFile> map();

  /// Closes and removes the temporary. Does nothing after commit().
  void discard();

  /// Bytes written so far.
  uint64_t size() const { return total; }
  const std::string &path() const { return finalPath; }

  /// The SHA-256 of all bytes, in hex. Only after commit() and only when
  /// enableDigest() was called.
  const std::string &digest() const { return hexDigest; }

private:
  void take(OutputFile &other);
  Status flush();
  Status fail(const char *doing, platform::Error error);

  platform::File file;
  bool hashing = false;
  uint64_t buffered = 0;
  uint64_t total = 0;
  std::unique_ptr<char[]> buffer;
  std::string finalPath, temporary, hexDigest;
  Sha256 hash;
  Status firstError = Status::ok();
};

/// Where a symbolic link leads; other paths as they are.
std::string targetOf(const std::string &path);

/// Errors: CannotCreate if something is at `path` that OutputFile would not
/// replace: all but files.
Status checkReplaceable(const std::string &path);

/// Makes renames and creations inside `directory` durable. Errors: IoError.
Status syncDirectory(const std::string &directory);

/// mkdir -p: creates `directory` and its missing parents (mode 0777 less the
/// umask), each in a parent that is synced. Succeeds when it is there already.
/// Errors: CannotCreate.
Status createDirectories(const std::string &directory,
                         FolderSync parents = FolderSync::Now);

/// A new name beside `path`: "<path>.tmp-" and 16 random hex digits.
std::string temporaryPath(const std::string &path);

/// Removes the temporaries in `directory` that nobody writes and whose final
/// name is ours, for files that OutputFile::create may not write again. A
/// folder goes with the files in it; as folders are not locked, a program that
/// makes such holds a lock that covers them. A temporary that cannot be
/// removed, or locked to see that nobody writes it, stays.
void removeStrayTemporaries(
    const std::string &directory,
    const std::function<bool(const std::string &finalName)> &isOurs);

/// The names in `directory`, sorted. Errors: NoInput, IoError.
Result<std::vector<std::string>> listDirectory(const std::string &directory);

/// Writes `text` to `path` as one OutputFile.
Status writeFile(const std::string &path, std::string_view text,
                 FolderSync folder = FolderSync::Now);

} // namespace hone::rt
