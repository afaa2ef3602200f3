//===- Darwin.cpp - The part of the platform that is macOS's alone --------===//
//
// Linked for arm64-apple-macosx, and never yet run: see docs/devices.md.
//
//===----------------------------------------------------------------------===//

#include "platform/Files.h"
#include "platform/Pages.h"
#include "platform/Scratch.h"
#include "platform/Signals.h"
#include "platform/System.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/attr.h>
#include <sys/sysctl.h>
#include <unistd.h>

namespace hone::rt::platform {

static Error lastError() { return {errno, std::generic_category()}; }

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Error File::createUnnamed(const std::string &folder) {
  std::string name = folder + "/hone.XXXXXX";
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (!isOpen())
    return lastError();
  ::unlink(name.c_str());
  return {};
}

// fsync() reaches the drive, but does not empty the drive's own memory. Not all
// file systems have the other.
Error File::sync() const {
  return ::fcntl(descriptor, F_FULLFSYNC) == 0 || ::fsync(descriptor) == 0
             ? Error()
             : lastError();
}

Error File::syncData() const { return sync(); }

Error reserve(const File &file, uint64_t size) {
  fstore_t store = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, off_t(size), 0};
  if (::fcntl(file.handle(), F_PREALLOCATE, &store) < 0 && errno != ENOTSUP)
    return lastError();
  return file.truncate(size);
}

// dropCache() turns the cache off, which asks for no alignment.
bool passCacheBy(const File &, bool) { return false; }

// From the first call on the system keeps nothing of the file.
Error dropCache(const File &file, uint64_t, uint64_t) {
  (void)::fcntl(file.handle(), F_NOCACHE, 1);
  return {};
}

// opendir() takes memory, which a signal handler must not.
void removeFilesIn(const char *folder) {
  const int open =
      ::open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (open < 0)
    return;
  attrlist asked = {};
  asked.bitmapcount = ATTR_BIT_MAP_COUNT;
  asked.commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME;
  struct Entry { // of the kernel, packed to 4 bytes
    uint32_t bytes;
    attribute_set_t returned;
    attrreference_t name;
  };
  alignas(8) char buffer[4096];
  int count = 0;
  // From the beginning while that helps: removing may move the entries to come.
  for (bool removes = true; removes; ::lseek(open, 0, SEEK_SET)) {
    removes = false;
    while ((count = ::getattrlistbulk(open, &asked, buffer, sizeof buffer, 0)) >
           0) {
      const char *at = buffer;
      for (int i = 0; i < count; ++i) {
        Entry entry;
        std::memcpy(&entry, at, sizeof entry);
        const char *name =
            at + offsetof(Entry, name) + entry.name.attr_dataoffset;
        removes |= ::unlinkat(open, name, 0) == 0;
        at += entry.bytes;
      }
    }
  }
  ::close(open);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

Error makeResident(char *base, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += pageBytes())
    const_cast<volatile char *>(base)[offset] = 0;
  return {};
}

//===----------------------------------------------------------------------===//
// The process and its machine
//===----------------------------------------------------------------------===//

std::string programPath() {
  char program[PATH_MAX];
  uint32_t size = sizeof program;
  return ::_NSGetExecutablePath(program, &size) == 0 ? resolve(program) : "";
}

ResidentMemory residentMemory() {
  task_vm_info_data_t account = {};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  if (::task_info(mach_task_self(), TASK_VM_INFO,
                  reinterpret_cast<task_info_t>(&account),
                  &count) != KERN_SUCCESS)
    return {};
  return {account.internal, account.resident_size_peak};
}

std::optional<ResidentMemory> countResidentMemory() {
  const ResidentMemory now = residentMemory(); // the kernel counts each page
  if (now.peak == 0)
    return std::nullopt;
  return now;
}

std::vector<ForeignLibrary> foreignLibraries() { return {}; }

bool sharesMemory() {
  return dlsym(RTLD_DEFAULT, "__asan_init") ||
         dlsym(RTLD_DEFAULT, "__tsan_init");
}

unsigned availableCpus() {
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 ? unsigned(cpus) : 1;
}

uint64_t randomNumber() {
  uint64_t number;
  ::arc4random_buf(&number, sizeof number);
  return number;
}

std::optional<bool> hasArmFeature(const std::string &feature) {
  struct Name {
    const char *ofLlvm;
    const char *ofSystem;
  };
  static constexpr Name names[] = {
      {"aes", "FEAT_AES"},         {"sha2", "FEAT_SHA256"},
      {"sha3", "FEAT_SHA3"},       {"crc", "FEAT_CRC32"},
      {"lse", "FEAT_LSE"},         {"lse2", "FEAT_LSE2"},
      {"rcpc", "FEAT_LRCPC"},      {"rcpc-immo", "FEAT_LRCPC2"},
      {"rdm", "FEAT_RDM"},         {"fullfp16", "FEAT_FP16"},
      {"fp16fml", "FEAT_FHM"},     {"dotprod", "FEAT_DotProd"},
      {"jsconv", "FEAT_JSCVT"},    {"complxnum", "FEAT_FCMA"},
      {"flagm", "FEAT_FlagM"},     {"altnzcv", "FEAT_FlagM2"},
      {"fptoint", "FEAT_FRINTTS"}, {"bf16", "FEAT_BF16"},
      {"i8mm", "FEAT_I8MM"},
  };
  for (const Name &name : names) {
    if (feature != name.ofLlvm)
      continue;
    const std::string key = std::string("hw.optional.arm.") + name.ofSystem;
    int has = 0;
    size_t size = sizeof has;
    return ::sysctlbyname(key.c_str(), &has, &size, nullptr, 0) == 0 && has;
  }
  if (feature.rfind("sve", 0) == 0)
    return false;
  return std::nullopt;
}

bool allowMatrixUnit() { return false; }

void keepHeap() {}
void trimHeap() {}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

std::vector<int> endingSignals() {
  return {SIGHUP,  SIGINT,  SIGQUIT,   SIGUSR1, SIGUSR2,
          SIGALRM, SIGTERM, SIGVTALRM, SIGPROF, SIGXCPU};
}

} // namespace hone::rt::platform
