//===- Linux.cpp - The part of the platform that is Linux's alone ---------===//
//
// Another system is another file beside this one: CMake takes that of the name
// it gives the system.
//
//===----------------------------------------------------------------------===//

#include "platform/Files.h"
#include "platform/Pages.h"
#include "platform/Scratch.h"
#include "platform/Signals.h"
#include "platform/System.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <link.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::rt::platform {

static Error errorOf(int number) { return {number, std::generic_category()}; }
static Error lastError() { return errorOf(errno); }

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Error File::createUnnamed(const std::string &folder) {
  descriptor = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  return isOpen() ? Error() : lastError();
}

Error File::sync() const {
  return ::fsync(descriptor) == 0 ? Error() : lastError();
}

Error File::syncData() const {
  return ::fdatasync(descriptor) == 0 ? Error() : lastError();
}

Error reserve(const File &file, uint64_t size) {
  int error;
  do
    error = ::posix_fallocate(file.handle(), 0, off_t(size));
  while (error == EINTR);
  // musl does without where the file system does; a write then says that there
  // is no room.
  return error == EOPNOTSUPP ? file.truncate(size) : errorOf(error);
}

bool passCacheBy(const File &file, bool passes) {
  const int flags = ::fcntl(file.handle(), F_GETFL);
  return flags >= 0 &&
         ::fcntl(file.handle(), F_SETFL,
                 passes ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

Error dropCache(const File &file, uint64_t offset, uint64_t size) {
  constexpr unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;
  const int error =
      ::sync_file_range(file.handle(), off_t(offset), off_t(size), all) == 0
          ? 0
          : errno;
  (void)::posix_fadvise(file.handle(), off_t(offset), off_t(size),
                        POSIX_FADV_DONTNEED);
  // Other errors say that the file system does not know of it.
  return errorOf(error == EIO || error == ENOSPC || error == EDQUOT ? error
                                                                    : 0);
}

// opendir() takes memory, which a signal handler must not.
void removeFilesIn(const char *folder) {
  const int open =
      ::open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (open < 0)
    return;
  struct Entry { // of the kernel
    uint64_t number;
    int64_t next;
    unsigned short bytes;
    unsigned char kind;
    char name[1];
  };
  alignas(Entry) char buffer[4096];
  long size = 0;
  // From the beginning while that helps: removing may move the entries to come.
  for (bool removes = true; removes; ::lseek(open, 0, SEEK_SET)) {
    removes = false;
    while ((size = ::syscall(SYS_getdents64, open, buffer, sizeof buffer)) > 0)
      for (long at = 0; at < size;) {
        const Entry *entry = reinterpret_cast<const Entry *>(buffer + at);
        removes |= ::unlinkat(open, entry->name, 0) == 0;
        at += entry->bytes;
      }
  }
  ::close(open);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

Error makeResident(char *base, uint64_t bytes) {
  // A huge page at an end would make more resident than was planned, and so is
  // refused before the first touch. Those inside take the memory of small ones,
  // and a product that reads rows on many pages has fewer addresses to look up.
  // Fails harmlessly on kernels without them.
  constexpr uintptr_t hugePage = 2 << 20;
  (void)::madvise(base, bytes, MADV_NOHUGEPAGE);
  char *first = base + (-reinterpret_cast<uintptr_t>(base) & (hugePage - 1));
  if (first + hugePage <= base + bytes)
    (void)::madvise(first, uint64_t(base + bytes - first) & ~(hugePage - 1),
                    MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  if (::madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
    return {};
  if (errno != EINVAL) // EINVAL: a kernel before 5.14
    return lastError();
#endif
  for (uint64_t offset = 0; offset < bytes; offset += pageBytes())
    const_cast<volatile char *>(base)[offset] = 0;
  return {};
}

//===----------------------------------------------------------------------===//
// The process and its machine
//===----------------------------------------------------------------------===//

std::string programPath() {
  char program[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (size > 0)
    return std::string(program, size_t(size));
  // Without /proc, as in a bare chroot, there is the path that was executed.
  auto *executed = reinterpret_cast<const char *>(::getauxval(AT_EXECFN));
  return executed && ::realpath(executed, program) ? program : "";
}

namespace {
/// A short text of /proc, "" if it cannot be read.
class ProcText {
public:
  explicit ProcText(const char *path) {
    int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
      return;
    ssize_t size = ::read(file, text, sizeof(text) - 1);
    ::close(file);
    text[std::max<ssize_t>(size, 0)] = 0;
  }
  /// The field `name`, which is in KiB; 0 if it is not there.
  uint64_t bytes(const char *name) const {
    const char *line = std::strstr(text, name);
    return line ? std::strtoull(line + std::strlen(name), nullptr, 10) * 1024
                : 0;
  }

  /// The addresses that a text begins with; false if it does not.
  bool range(uint64_t &start, uint64_t &end) const {
    return std::sscanf(text, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2;
  }

private:
  char text[4096] = {};
};
} // namespace

ResidentMemory residentMemory() {
  const ProcText status("/proc/self/status");
  return {status.bytes("RssAnon:"), status.bytes("VmHWM:")};
}

std::optional<ResidentMemory> countResidentMemory() {
  const ProcText account("/proc/self/smaps_rollup");
  const uint64_t now = account.bytes("Rss:");
  if (now == 0)
    return std::nullopt;
  // The mark is as wrong as the values under it.
  const ProcText status("/proc/self/status");
  return ResidentMemory{account.bytes("Anonymous:"),
                        now + status.bytes("VmHWM:") - status.bytes("VmRSS:")};
}

namespace {
/// A loaded program or library: its names, the libraries that it asks for, its
/// place.
struct LoadedObject {
  std::string path, name;
  std::vector<std::string> needs;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  bool isNeeded = false;
};
} // namespace

static int addObject(dl_phdr_info *info, size_t, void *objects) {
  auto &list = *static_cast<std::vector<LoadedObject> *>(objects);
  LoadedObject &object = list.emplace_back();
  object.path = info->dlpi_name;
  object.name = lastPart(object.path);
  const ElfW(Dyn) *dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD)
      object.ranges.emplace_back(start, start + header.p_memsz);
    if (header.p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn) *>(start);
  }
  // Some loaders put addresses in place of offsets, some leave them.
  const char *strings = nullptr;
  for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag; ++entry)
    if (entry->d_tag == DT_STRTAB)
      strings = reinterpret_cast<const char *>(
          entry->d_un.d_ptr +
          (entry->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0));
  for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag; ++entry)
    if (entry->d_tag == DT_NEEDED)
      object.needs.push_back(strings + entry->d_un.d_val);
    else if (entry->d_tag == DT_SONAME)
      object.name = strings + entry->d_un.d_val;
  return 0;
}

/// The anonymous bytes of the mappings that lie in `ranges`.
static uint64_t
anonymousIn(const std::vector<std::pair<uint64_t, uint64_t>> &ranges) {
  FILE *maps = std::fopen("/proc/self/smaps", "re");
  if (!maps)
    return 0;
  constexpr const char *field = "Anonymous:";
  char line[512];
  uint64_t bytes = 0;
  bool isInside = false;
  while (std::fgets(line, sizeof line, maps)) {
    uint64_t start = 0, end = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
      isInside = std::any_of(ranges.begin(), ranges.end(),
                             [start = start, end = end](auto range) {
                               return start < range.second && range.first < end;
                             });
    else if (isInside && std::strncmp(line, field, std::strlen(field)) == 0)
      bytes += std::strtoull(line + std::strlen(field), nullptr, 10) * 1024;
  }
  std::fclose(maps);
  return bytes;
}

std::vector<ForeignLibrary> foreignLibraries() {
  std::vector<LoadedObject> objects;
  ::dl_iterate_phdr(addObject, &objects);
  // The program is the first; the kernel's own has no file.
  std::vector<std::string> needed;
  for (size_t i = 0; i < objects.size(); ++i)
    if (i == 0 || objects[i].path.find('/') == std::string::npos)
      objects[i].isNeeded = true;
  if (!objects.empty())
    needed = objects.front().needs;
  for (size_t i = 0; i < needed.size(); ++i)
    for (LoadedObject &object : objects)
      if (!object.isNeeded &&
          (object.name == needed[i] || lastPart(object.path) == needed[i])) {
        object.isNeeded = true;
        needed.insert(needed.end(), object.needs.begin(), object.needs.end());
      }
  std::vector<ForeignLibrary> foreign;
  for (const LoadedObject &object : objects)
    if (!object.isNeeded)
      foreign.push_back({object.path, anonymousIn(object.ranges)});
  return foreign;
}

// There only where something is linked with one.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
}

/// Whether an emulator runs this program: it shows the program's mappings
/// alone, while the kernel's account reaches to the end of the emulator's own.
static bool isEmulated() {
  const ProcText account("/proc/self/smaps_rollup");
  uint64_t first = 0, last = 0, start = 0, end = 0;
  if (!account.range(first, last))
    return false;
  FILE *maps = std::fopen("/proc/self/maps", "re");
  if (!maps)
    return false;
  char line[512];
  bool isOurs = false;
  while (!isOurs && std::fgets(line, sizeof line, maps))
    isOurs = std::sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2 &&
             end == last;
  std::fclose(maps);
  return !isOurs;
}

bool sharesMemory() { return __asan_init || __tsan_init || isEmulated(); }

unsigned availableCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  int cpus = CPU_COUNT(&set);
  return cpus > 0 ? unsigned(cpus) : 1;
}

uint64_t randomNumber() {
  uint64_t number = 0;
  // Fails only on kernels without it; the clock is random enough to go on.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = uint64_t(now.tv_sec) << 30 ^ uint64_t(now.tv_nsec) ^
             uint64_t(::getpid()) << 48;
  }
  return number;
}

std::optional<bool> hasArmFeature([[maybe_unused]] const std::string &feature) {
#if defined(__aarch64__)
  struct Bit {
    const char *name;
    unsigned long word;
    unsigned long bit;
  };
  static constexpr Bit bits[] = {
      {"aes", AT_HWCAP, HWCAP_AES},
      {"sha2", AT_HWCAP, HWCAP_SHA2},
      {"sha3", AT_HWCAP, HWCAP_SHA3},
      {"crc", AT_HWCAP, HWCAP_CRC32},
      {"lse", AT_HWCAP, HWCAP_ATOMICS},
      {"lse2", AT_HWCAP, HWCAP_USCAT},
      {"rcpc", AT_HWCAP, HWCAP_LRCPC},
      {"rcpc-immo", AT_HWCAP, HWCAP_ILRCPC},
      {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},
      {"fullfp16", AT_HWCAP, HWCAP_FPHP | HWCAP_ASIMDHP},
      {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM},
      {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
      {"jsconv", AT_HWCAP, HWCAP_JSCVT},
      {"complxnum", AT_HWCAP, HWCAP_FCMA},
      {"flagm", AT_HWCAP, HWCAP_FLAGM},
      {"altnzcv", AT_HWCAP2, HWCAP2_FLAGM2},
      {"fptoint", AT_HWCAP2, HWCAP2_FRINT},
      {"bf16", AT_HWCAP2, HWCAP2_BF16},
      {"i8mm", AT_HWCAP2, HWCAP2_I8MM},
      {"sve", AT_HWCAP, HWCAP_SVE},
      {"sve2", AT_HWCAP2, HWCAP2_SVE2},
      {"sve-bitperm", AT_HWCAP2, HWCAP2_SVEBITPERM},
  };
  for (const Bit &bit : bits)
    if (feature == bit.name)
      return (::getauxval(bit.word) & bit.bit) == bit.bit;
#endif
  return std::nullopt;
}

bool allowMatrixUnit() {
#ifdef __x86_64__
  constexpr long requestPermission = 0x1023, tileData = 18;
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

void keepHeap() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

void trimHeap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

//===----------------------------------------------------------------------===//
// Missing in musl
//===----------------------------------------------------------------------===//

#ifndef __GLIBC__
// Generated code rounds to even integers, and calls these where the processor
// has no instruction for it. Sums above the last number with a fraction are
// rounded.
extern "C" double roundeven(double x) {
  constexpr double integers = 0x1p52;
  const double size = __builtin_fabs(x);
  return size < integers ? __builtin_copysign((size + integers) - integers, x)
                         : x;
}
extern "C" float roundevenf(float x) {
  constexpr float integers = 0x1p23f;
  const float size = __builtin_fabsf(x);
  return size < integers ? __builtin_copysignf((size + integers) - integers, x)
                         : x;
}
#endif

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

std::vector<int> endingSignals() {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGQUIT,   SIGUSR1, SIGUSR2,
                              SIGALRM, SIGTERM, SIGVTALRM, SIGPROF, SIGXCPU,
                              SIGIO,   SIGPWR,  SIGSTKFLT};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    signals.push_back(signal);
  return signals;
}

} // namespace hone::rt::platform
