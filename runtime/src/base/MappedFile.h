//===- MappedFile.h - A regular file, mapped read-only --------------------===//
//
// The bytes are the page cache's, not the heap's. A file that someone
// truncates while it is mapped raises SIGBUS on the next access, which no
// bounds check can prevent: programs call installSigbusHandler() first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "platform/Files.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// Owns one mapping. An empty file maps to a null pointer and size 0.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile() { close(); }
  MappedFile(MappedFile &&other) noexcept { take(other); }
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// Errors: NoInput when the file is missing, unreadable or not a regular
  /// file (symbolic links are followed); IoError when the system
  /// cannot open or map it (limits, memory, device).
  /// With `kept` the file stays open there.
  static Result<MappedFile> open(const std::string &path,
                                 platform::File *kept = nullptr);

  /// Maps an open file, which may be closed then; `path` is its name in
  /// messages. Errors: IoError.
  static Result<MappedFile> map(const platform::File &open,
                                const std::string &path);

  /// Page-aligned; valid until this object is destroyed or moved to.
  const char *data() const { return base; }
  uint64_t size() const { return length; }
  std::string_view bytes() const { return {base, length}; }
  const std::string &path() const { return name; }

  /// Tells the kernel that bytes [offset, offset + size) are not needed soon,
  /// so they stop counting as resident. Only whole pages inside the range are
  /// dropped; reading them again is correct and reads the file again.
  void release(uint64_t offset, uint64_t size) const;

  /// For a reader that has come to `end` and calls this at least once a MiB:
  /// lets go of the bytes just before it. To let go of all would take time for
  /// each page that ever was resident.
  void releaseBehind(uint64_t end) const {
    uint64_t length = std::min(end, 4 * VisitBytes);
    release(end - length, length);
  }

  /// Calls each(bytes, size) for one part after another and lets go of it:
  /// hardly more than VisitBytes are resident at a time.
  static constexpr uint64_t VisitBytes = 256 * 1024;
  template <typename Visit>
  void visit(uint64_t offset, uint64_t size, Visit each) const {
    for (uint64_t done = 0; done < size;) {
      uint64_t part = std::min(VisitBytes, size - done);
      each(base + offset + done, part);
      done += part;
      releaseBehind(offset + done);
    }
  }

private:
  void close();
  void take(MappedFile &other);

  const char *base = nullptr;
  uint64_t length = 0;
  int slot = -1; // in the table that the SIGBUS handler searches
  std::string name;
};

/// The SHA-256 of a file, in hex, with little of it resident at a time.
std::string digestOf(const MappedFile &file);

/// Makes an access beyond the end of a mapped file that shrank print
///   error[H1003]: <path>: the file became shorter while it was in use ...
/// and exit with 74. Other SIGBUS causes keep their
/// default action. Call once at program start; later calls do nothing.
/// The handler knows the first 256 files that are mapped at one time; of more
/// it says "an input file".
void installSigbusHandler();

} // namespace hone::rt
