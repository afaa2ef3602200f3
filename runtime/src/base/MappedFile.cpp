//===- MappedFile.cpp - A regular file, mapped read-only ------------------===//
//
// The table of mappings is read by a signal handler: its entries are atomics
// in static memory, and an entry is filled before its state says so.
//
//===----------------------------------------------------------------------===//

#include "base/MappedFile.h"

#include "base/Process.h"
#include "base/Sha256.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
  return Status::error(ErrorCode::CannotRead, {path, problem, remedy});
}

static Status cannotOpen(const std::string &path, int errorNumber) {
  // These say nothing about the file.
  if (errorNumber == EMFILE || errorNumber == ENFILE || errorNumber == ENOMEM ||
      errorNumber == EIO)
    return Status::error(
        ErrorCode::ReadFailed,
        {path,
         std::string("opening the file failed: ") + std::strerror(errorNumber),
         "check the disk and the limits (ulimit -n, -v)"});
  const char *remedy = "check the path and the file's permissions";
  return cannotOpen(path,
                    std::string("expected a readable file, but opening it "
                                "failed: ") +
                        std::strerror(errorNumber),
                    remedy);
}

static Result<MappedFile> isNotRegular(const std::string &path) {
  return cannotOpen(path,
                    "expected a regular file, found a directory or a device",
                    "give the path of the file itself");
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  // Not opening a FIFO or a device at all: open() alone could block or act.
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return cannotOpen(path, errno);
  if (!S_ISREG(info.st_mode))
    return isNotRegular(path);
  int descriptor;
  do
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return cannotOpen(path, errno);

  // Again, on the descriptor: the path may name something else by now.
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return isNotRegular(path);
  }
  Result<MappedFile> file = map(descriptor, path);
  ::close(descriptor);
  return file;
}

Result<MappedFile> MappedFile::map(int descriptor, const std::string &path) {
  MappedFile file;
  file.name = path;
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return cannotOpen(path, EIO);
  file.length = static_cast<uint64_t>(info.st_size);
  if (file.length == 0)
    return file;
  void *base = MAP_FAILED;
  errno = ENOMEM;
  if (file.length <= SIZE_MAX)
    base = ::mmap(nullptr, file.length, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (base == MAP_FAILED) {
    int mapError = errno;
    file.length = 0;
    return Status::error(
        ErrorCode::ReadFailed,
        {path,
         std::string("mapping ") + std::to_string(info.st_size) +
             " bytes failed: " + std::strerror(mapError),
         "check the address space limit (ulimit -v) and the file system"});
  }
  file.base = static_cast<const char *>(base);
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
  ::munmap(const_cast<char *>(base), length);
  base = nullptr;
  length = 0;
  slot = -1;
}

void MappedFile::release(uint64_t offset, uint64_t size) const {
  if (!base || offset >= length)
    return;
  uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t end = size < length - offset ? offset + size : length;
  // The last page of the file has no other owner, whole or not.
  uint64_t last = end == length ? length : end / page * page;
  uint64_t first = (offset + page - 1) / page * page;
  if (first >= last)
    return;
  // A hint: when it fails the pages merely stay resident.
  (void)::madvise(const_cast<char *>(base) + first, last - first,
                  MADV_DONTNEED);
}

std::string digestOf(const MappedFile &file) {
  Sha256 hash;
  file.visit(0, file.size(), [&](const char *bytes, uint64_t size) {
    hash.update(bytes, size);
  });
  return hash.finishHex();
}

// Only async-signal-safe calls from here on.
static void onSigbus(int signal, siginfo_t *info, void *) {
  uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr);
  const char *path = unnamed > 0 ? "an input file" : nullptr;
  for (Slot &slot : slots)
    if (slot.state == Live && at >= slot.base && at - slot.base < slot.size)
      path = slot.path;
  if (!path) {
    // Not ours: returning runs the access again, now with the default action.
    ::signal(signal, SIG_DFL);
    return;
  }
  endProcess(ErrorCode::InputChanged, path,
             "expected the file to keep its size, but it became shorter or "
             "could not be read while it was in use\n"
             "  help: restore the file and start again; do not replace input "
             "files of a running program");
}

void installSigbusHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onSigbus;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace hone::rt
