//===- Files.h - Files and folders, as the runtime needs them -------------===//
//
// A function that fails gives the system's reason and no message: only the
// caller knows what it expected and what to do.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hone::rt::platform {

using Error = std::error_code; ///< of the generic category; true: it failed

enum class FileKind { Regular, Folder, Other };

struct FileInfo {
  FileKind kind = FileKind::Other;
  uint64_t size = 0;  ///< bytes
  uint64_t links = 0; ///< names; 0 when the last one is gone
  uint64_t device = 0, number = 0;

  /// Whether both are of one file, however it was called.
  bool isSame(const FileInfo &other) const {
    return device == other.device && number == other.number;
  }
};

/// An open file, closed with this object. A program that this one starts does
/// not inherit it.
class File {
public:
  enum class Mode {
    Read,         ///< never waits for a pipe's other end
    ReadUnlinked, ///< the same, unless the name is a symbolic link
    ReadFolder,   ///< to be synced
    Create,       ///< to write; an error if anything has the name
    Update,       ///< to read and write; created if it is missing
    Append,       ///< the same, writing at the end; never waits
  };
  enum class Lock { Shared, Alone };

  File() = default;
  ~File() { close(); }
  File(File &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  /// Opens a file; this one must be closed. New files have mode 0666 less the
  /// umask.
  Error open(const std::string &path, Mode mode);
  /// A file without a name in `folder`, for this user alone. An error where
  /// the file system has no such files.
  Error createUnnamed(const std::string &folder);
  bool isOpen() const { return descriptor >= 0; }
  void close();

  Error inspect(FileInfo &info) const;
  /// Where its end is. An error for a pipe or a terminal, which has none.
  Error size(uint64_t &bytes) const;
  /// Up to `size` bytes from `offset`; how many there were, 0 on an error.
  uint64_t readAt(void *bytes, uint64_t size, uint64_t offset) const;
  /// All of them, or an error.
  Error write(const void *bytes, uint64_t size) const;
  Error truncate(uint64_t size) const;

  /// Makes contents, size and the system's other facts of the file durable;
  /// syncData() only as much as is needed to read the contents.
  Error sync() const;
  Error syncData() const;

  /// Never waits: operation_would_block when another has the lock. Lasts until
  /// the file is closed, however the process ends.
  Error lock(Lock lock) const;
  /// The same, but waits five seconds for another to be gone: after a kill the
  /// next command may come before the process ends, with which its locks go.
  Error lockSoon(Lock lock) const;

  /// For the mapping of the file.
  int handle() const { return descriptor; }

private:
  int descriptor = -1;
};

/// Descriptors that every process has.
inline constexpr int StandardInput = 0, StandardOutput = 1, StandardError = 2;
/// All of them, or an error. Async-signal-safe.
Error write(int descriptor, const void *bytes, uint64_t size);
bool isTerminal(int descriptor);
/// Whether it is a terminal that can draw a line again. One whose TERM is
/// "dumb" or missing would show escape sequences as text.
bool takesEscapes(int descriptor);
/// Whether text there may be coloured: NO_COLOR is empty or missing, too
/// (no-color.org).
bool takesColours(int descriptor);
/// Up to `size` bytes as soon as there are any; `got` is 0 at the end.
Error read(int descriptor, void *bytes, uint64_t size, uint64_t &got);
/// Waits until read() would not wait, for a signal, or as long as that; whether
/// read() would not wait.
bool waitToRead(int descriptor, int milliseconds);
/// Whether both are open, on one file, pipe or terminal.
bool areSame(int descriptor, int other);

/// Symbolic links are followed.
Error inspect(const std::string &path, FileInfo &info);
/// Whether anything has the name, be it a link that leads nowhere.
bool exists(const std::string &path);
/// The absolute path without links; "" if there is nothing.
std::string resolve(const std::string &path);
/// The folder part of `path`, "." when it has none.
std::string parentDirectory(const std::string &path);
/// The name without its folders: "b" of "a/b" and of "a/b/", "" of "/".
std::string lastPart(std::string_view path);

Error rename(const std::string &from, const std::string &to);
/// False when it is still there. Async-signal-safe, as the next three.
bool removeFile(const char *path);
bool removeFolder(const char *path); ///< an empty one
/// A folder with the files in it, as far as possible. Links are not followed:
/// one at `path` is removed itself. Nothing is done to a file.
bool removeFlatFolder(const char *path);
/// Removes the files in a folder; a link is left alone.
void removeFilesIn(const char *folder);

/// Mode 0777 less the umask.
Error makeFolder(const std::string &path);
/// Appends the names in it that `isWanted`, or all, in any order, without "."
/// and "..".
Error listFolder(
    const std::string &path, std::vector<std::string> &names,
    const std::function<bool(const std::string &)> &isWanted = nullptr);
/// Success if this process may make files in `folder`.
Error checkWritable(const std::string &folder);
/// Bytes that this user may still write to the file system of `folder`; the
/// largest number if the file system does not say.
Error freeBytes(const std::string &folder, uint64_t &bytes);
/// The folder for files that outlive nothing.
std::string temporaryFolder();

} // namespace hone::rt::platform
