//===- MappedFile.cpp - A regular file, mapped read-only ------------------===//
//
// The table of mappings is read by a signal handler: its entries are atomics
// in static memory, and an entry is filled before its state says so.
//
//===----------------------------------------------------------------------===//

#include "base/MappedFile.h"

#include "base/Process.h"
#include "base/Sha256.h"
#include "platform/Pages.h"
#include "platform/Signals.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace hone::rt {

namespace {
enum SlotState { Free, Busy, Live };
struct Slot {
  std::atomic<int> state{Free};
  std::atomic<uintptr_t> base{0};
  std::atomic<uint64_t> size{0};
  char path[512] = {};
};
} // namespace

static constexpr int SlotCount = 256;
static Slot slots[SlotCount];
/// Live mappings that found no slot; the handler cannot tell their names.
static std::atomic<int> unnamed{0};

static int claimSlot(const char *base, uint64_t size, const std::string &path) {
  for (int i = 0; i < SlotCount; ++i) {
    Slot &slot = slots[i];
    int expected = Free;
    if (!slot.state.compare_exchange_strong(expected, Busy))
      continue;
    slot.base = reinterpret_cast<uintptr_t>(base);
    slot.size = size;
    size_t length = std::min(path.size(), sizeof(slot.path) - 1);
    std::memcpy(slot.path, path.data(), length);
    slot.path[length] = 0;
    slot.state = Live;
    return i;
  }
  ++unnamed;
  return SlotCount;
}

static void freeSlot(int index) {
  if (index == SlotCount)
    --unnamed;
  else if (index >= 0)
    slots[index].state = Free;
}

static Status cannotOpen(const std::string &path, const std::string &problem,
                         const std::string &remedy) {
  return Status(ErrorCode::CannotRead, path, problem, remedy);
}

static Status cannotOpen(const std::string &path, platform::Error error) {
  // These say nothing about the file.
  for (int number : {EMFILE, ENFILE, ENOMEM, EIO})
    if (error.value() == number)
      return Status(ErrorCode::ReadFailed, path,
                    "opening the file failed: " + error.message(),
                    "check the disk and the limits (ulimit -n, -v)");
  return cannotOpen(path,
                    "expected a readable file, but opening it failed: " +
                        error.message(),
                    "check the path and the file's permissions");
}

static Result<MappedFile> isNotRegular(const std::string &path) {
  return cannotOpen(path,
                    "expected a regular file, found a directory or a device",
                    "give the path of the file itself");
}

Result<MappedFile> MappedFile::open(const std::string &path,
                                    platform::File *kept) {
  // Read from a file: the system would end the path there.
  if (path.find('\0') != std::string::npos)
    return cannotOpen(path, "expected a path without a zero byte, found one",
                      "correct the path where it is written");
  // Not opening a FIFO or a device at all: open() alone could block or act.
  platform::FileInfo info;
  if (platform::Error error = platform::inspect(path, info))
    return cannotOpen(path, error);
  if (info.kind != platform::FileKind::Regular)
    return isNotRegular(path);
  platform::File file;
  if (platform::Error error = file.open(path, platform::File::Mode::Read))
    return cannotOpen(path, error);

  // Again, on the open file: the path may name another by now.
  if (file.inspect(info) || info.kind != platform::FileKind::Regular)
    return isNotRegular(path);
  HONE_ASSIGN(MappedFile mapped, map(file, path));
  if (kept)
    *kept = std::move(file);
  return mapped;
}

Result<MappedFile> MappedFile::map(const platform::File &open,
                                   const std::string &path) {
  platform::FileInfo info;
  if (open.inspect(info))
    return cannotOpen(path, make_error_code(std::errc::io_error));
  MappedFile file;
  file.name = path;
  if (info.size == 0)
    return file;
  if (platform::Error error = platform::mapFile(open, info.size, file.base))
    return Status(
        ErrorCode::ReadFailed, path,
        "mapping " + std::to_string(info.size) +
            " bytes failed: " + error.message(),
        "check the address space limit (ulimit -v) and the file system");
  file.length = info.size;
  file.slot = claimSlot(file.base, file.length, path);
  return file;
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this == &other)
    return *this;
  close();
  take(other);
  return *this;
}

void MappedFile::take(MappedFile &other) {
  base = std::exchange(other.base, nullptr);
  length = std::exchange(other.length, 0);
  slot = std::exchange(other.slot, -1);
  name = std::move(other.name);
}

void MappedFile::close() {
  if (!base)
    return;
  freeSlot(slot);
  platform::unmap(base, length);
  base = nullptr;
  length = 0;
  slot = -1;
}

void MappedFile::release(uint64_t offset, uint64_t size) const {
  if (!base || offset >= length)
    return;
  uint64_t page = platform::pageBytes();
  uint64_t end = size < length - offset ? offset + size : length;
  // The last page of the file has no other owner, whole or not.
  uint64_t last = end == length ? length : end / page * page;
  uint64_t first = (offset + page - 1) / page * page;
  if (first < last)
    platform::dropPages(base + first, last - first);
}

std::string digestOf(const MappedFile &file) {
  Sha256 hash;
  file.visit(0, file.size(), [&](const char *bytes, uint64_t size) {
    hash.update(bytes, size);
  });
  return hash.finishHex();
}

// Only async-signal-safe calls from here on.
static bool onLostPage(uintptr_t at) {
  const char *path = unnamed > 0 ? "an input file" : nullptr;
  for (Slot &slot : slots)
    if (slot.state == Live && at >= slot.base && at - slot.base < slot.size)
      path = slot.path;
  if (!path)
    return false;
  endProcess(ErrorCode::InputChanged, path,
             "expected the file to keep its size, but it became shorter or "
             "could not be read while it was in use\n"
             "  help: restore the file and start again; do not replace input "
             "files of a running program");
}

void installSigbusHandler() { platform::handleLostPages(onLostPage); }

} // namespace hone::rt
