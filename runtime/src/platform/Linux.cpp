//===- Linux.cpp - The part of the platform that is Linux's alone ---------===//
//
// Another system is another file beside this one: CMake takes that of the name
// it gives the system.
//
//===----------------------------------------------------------------------===//

#include "platform/Files.h"
#include "platform/Pages.h"
#include "platform/Signals.h"
#include "platform/System.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
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

static Error lastError() { return {errno, std::generic_category()}; }

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
  // From the beginning while that helps: removing may move what is to come.
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
  // With huge pages a page that is planned as 4 KiB may become 2 MiB; refused
  // before the first touch. Fails harmlessly on kernels without them.
  (void)::madvise(base, bytes, MADV_NOHUGEPAGE);
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

void prefetchPages(const char *start, uint64_t bytes) {
  (void)::madvise(const_cast<char *>(start), bytes, MADV_WILLNEED);
}

void dropPages(const char *start, uint64_t bytes) {
  (void)::madvise(const_cast<char *>(start), bytes, MADV_DONTNEED);
}

//===----------------------------------------------------------------------===//
// The process and its machine
//===----------------------------------------------------------------------===//

std::string programPath() {
  char program[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", program, sizeof(program) - 1);
  return size > 0 ? std::string(program, size_t(size)) : "";
}

/// The field `name` of a /proc status text, 0 if it is not there.
static uint64_t statusBytes(const char *text, const char *name) {
  const char *line = std::strstr(text, name);
  return line ? std::strtoull(line + std::strlen(name), nullptr, 10) * 1024 : 0;
}

ResidentMemory residentMemory() {
  int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  char text[4096];
  ssize_t size = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (size <= 0)
    return {};
  text[size] = 0;
  return {statusBytes(text, "RssAnon:"), statusBytes(text, "VmHWM:")};
}

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
