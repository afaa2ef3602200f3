//===- OutputFile.h - A file that appears whole or not at all -------------===//
//
// Bytes go to "<path>.tmp-<pid>"; commit() makes them durable and renames.
// Closing without commit() removes the temporary: an early return never
// leaves a half-written file under the final name.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_BASE_OUTPUTFILE_H
#define HONE_RUNTIME_BASE_OUTPUTFILE_H

#include "base/Sha256.h"
#include "base/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

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

  /// Creates "<path>.tmp-<pid>" (mode 0666 less the umask). The folder must
  /// exist. Errors: CannotCreate.
  static Result<OutputFile> create(const std::string &path);

  /// From now on also hashes what is written. Call before the first write.
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
  Status commit();

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
  Status fail(const char *doing, int errorNumber);

  int descriptor = -1;
  bool hashing = false;
  uint64_t buffered = 0;
  uint64_t total = 0;
  std::unique_ptr<char[]> buffer;
  std::string finalPath, temporaryPath, hexDigest;
  Sha256 hash;
  Status firstError = Status::ok();
};

/// Makes renames and creations inside `directory` durable. Errors: IoError.
Status syncDirectory(const std::string &directory);

/// mkdir -p: creates `directory` and its missing parents (mode 0777 less the
/// umask). Succeeds when it is there already. Errors: CannotCreate.
Status createDirectories(const std::string &directory);

/// Removes each "<path>.tmp-<pid>" whose process is gone or is this one. A
/// folder goes with the files in it. Best effort: what cannot be removed stays.
void removeStrayTemporaries(const std::string &path);

/// The names in `directory`, sorted; none when it cannot be read.
std::vector<std::string> listDirectory(const std::string &directory);

/// Removes `directory` and the files in it; it must hold no folders. False
/// when something is left.
bool removeFlatDirectory(const std::string &directory);

/// Writes `text` to `path` as one OutputFile.
Status writeFile(const std::string &path, std::string_view text);

/// The folder part of `path`, "." when it has none.
std::string parentDirectory(const std::string &path);

} // namespace hone::rt

#endif
