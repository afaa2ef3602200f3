//===- Posix.cpp - The part of the platform that all POSIX systems share --===//

#include "platform/Files.h"
#include "platform/Pages.h"
#include "platform/Scratch.h"
#include "platform/Signals.h"
#include "platform/Stack.h"
#include "platform/System.h"
#include "platform/Thread.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string_view>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace hone::rt::platform {

static Error errorOf(int number) { return {number, std::generic_category()}; }

/// The error of a call that returns -1 when it fails.
static Error resultOf(int returned) {
  return returned == 0 ? Error() : errorOf(errno);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static int flagsOf(File::Mode mode) {
  switch (mode) {
  case File::Mode::Read:
    return O_RDONLY | O_NONBLOCK;
  case File::Mode::ReadUnlinked:
    return O_RDONLY | O_NONBLOCK | O_NOFOLLOW;
  case File::Mode::ReadFolder:
    return O_RDONLY | O_DIRECTORY;
  case File::Mode::Create:
    return O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  case File::Mode::Update:
    return O_RDWR | O_CREAT;
  case File::Mode::Append:
    return O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK;
  }
  return 0;
}

Error File::open(const std::string &path, Mode mode) {
  do
    descriptor = ::open(path.c_str(), flagsOf(mode) | O_CLOEXEC, 0666);
  while (descriptor < 0 && errno == EINTR);
  return isOpen() ? Error() : errorOf(errno);
}

void File::close() {
  if (isOpen())
    ::close(std::exchange(descriptor, -1));
}

static FileInfo describe(const struct stat &info) {
  FileKind kind = S_ISREG(info.st_mode)   ? FileKind::Regular
                  : S_ISDIR(info.st_mode) ? FileKind::Folder
                                          : FileKind::Other;
  return {kind, uint64_t(info.st_size), uint64_t(info.st_nlink),
          uint64_t(info.st_dev), uint64_t(info.st_ino)};
}

Error File::inspect(FileInfo &info) const {
  struct stat found;
  if (::fstat(descriptor, &found) != 0)
    return errorOf(errno);
  info = describe(found);
  return {};
}

Error File::size(uint64_t &bytes) const {
  off_t end = ::lseek(descriptor, 0, SEEK_END);
  bytes = end < 0 ? 0 : uint64_t(end);
  return end < 0 ? errorOf(errno) : Error();
}

uint64_t File::readAt(void *bytes, uint64_t size, uint64_t offset) const {
  ssize_t some = ::pread(descriptor, bytes, size, off_t(offset));
  return some < 0 ? 0 : uint64_t(some);
}

Error File::write(const void *bytes, uint64_t size) const {
  return platform::write(descriptor, bytes, size);
}

Error writeAt(const File &file, const void *bytes, uint64_t size,
              uint64_t offset) {
  const char *from = static_cast<const char *>(bytes);
  while (size > 0) {
    ssize_t some = ::pwrite(file.handle(), from, size, off_t(offset));
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return errorOf(some < 0 ? errno : ENOSPC);
    from += some;
    offset += uint64_t(some);
    size -= uint64_t(some);
  }
  return {};
}

Error File::truncate(uint64_t size) const {
  return resultOf(::ftruncate(descriptor, off_t(size)));
}

Error File::lock(Lock lock) const {
  int operation = lock == Lock::Alone ? LOCK_EX : LOCK_SH;
  return resultOf(::flock(descriptor, operation | LOCK_NB));
}

Error File::lockSoon(Lock lock) const {
  Error error = this->lock(lock);
  for (int tries = 0; error == std::errc::operation_would_block && tries < 500;
       ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = this->lock(lock);
  }
  return error;
}

Error write(int descriptor, const void *bytes, uint64_t size) {
  const char *from = static_cast<const char *>(bytes);
  while (size > 0) {
    ssize_t some = ::write(descriptor, from, size);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return errorOf(some < 0 ? errno : ENOSPC);
    from += some;
    size -= uint64_t(some);
  }
  return {};
}

Error read(int descriptor, void *bytes, uint64_t size, uint64_t &got) {
  ssize_t some;
  do
    some = ::read(descriptor, bytes, size);
  while (some < 0 && errno == EINTR);
  got = some < 0 ? 0 : uint64_t(some);
  return some < 0 ? errorOf(errno) : Error();
}

bool waitToRead(int descriptor, int milliseconds) {
  struct pollfd asked = {descriptor, POLLIN, 0};
  return ::poll(&asked, 1, milliseconds) > 0;
}

bool areSame(int descriptor, int other) {
  struct stat one, two;
  return ::fstat(descriptor, &one) == 0 && ::fstat(other, &two) == 0 &&
         describe(one).isSame(describe(two));
}

bool isTerminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool takesEscapes(int descriptor) {
  const char *kind = std::getenv("TERM");
  return isTerminal(descriptor) && kind && std::string_view(kind) != "dumb";
}

bool takesColours(int descriptor) {
  const char *refused = std::getenv("NO_COLOR");
  return takesEscapes(descriptor) && (!refused || *refused == '\0');
}

Error inspect(const std::string &path, FileInfo &info) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0)
    return errorOf(errno);
  info = describe(found);
  return {};
}

bool exists(const std::string &path) {
  struct stat found;
  return ::lstat(path.c_str(), &found) == 0;
}

std::string resolve(const std::string &path) {
  char *found = ::realpath(path.c_str(), nullptr);
  std::string target = found ? found : "";
  std::free(found);
  return target;
}

std::string parentDirectory(const std::string &path) {
  // Trailing slashes name the same folder: "a/b/" is in "a".
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos)
    return path.empty() ? "." : "/";
  size_t slash = path.rfind('/', end);
  if (slash == std::string::npos)
    return ".";
  size_t parentEnd = path.find_last_not_of('/', slash);
  return parentEnd == std::string::npos ? "/" : path.substr(0, parentEnd + 1);
}

std::string lastPart(std::string_view path) {
  path = path.substr(0, path.find_last_not_of('/') + 1);
  return std::string(path.substr(path.rfind('/') + 1));
}

Error rename(const std::string &from, const std::string &to) {
  return resultOf(::rename(from.c_str(), to.c_str()));
}

bool removeFile(const char *path) { return ::unlink(path) == 0; }
bool removeFolder(const char *path) { return ::rmdir(path) == 0; }

bool removeFlatFolder(const char *path) {
  removeFilesIn(path);
  struct stat found;
  return removeFolder(path) || (::lstat(path, &found) == 0 &&
                                S_ISLNK(found.st_mode) && removeFile(path));
}

Error makeFolder(const std::string &path) {
  return resultOf(::mkdir(path.c_str(), 0777));
}

Error listFolder(const std::string &path, std::vector<std::string> &names,
                 const std::function<bool(const std::string &)> &isWanted) {
  DIR *stream = ::opendir(path.c_str());
  if (!stream)
    return errorOf(errno);
  for (;;) {
    errno = 0;
    const dirent *entry = ::readdir(stream);
    if (!entry)
      break;
    std::string name = entry->d_name;
    if (name != "." && name != ".." && (!isWanted || isWanted(name)))
      names.push_back(std::move(name));
  }
  int error = errno;
  ::closedir(stream);
  return errorOf(error);
}

Error checkWritable(const std::string &folder) {
  return resultOf(::access(folder.c_str(), W_OK | X_OK));
}

Error freeBytes(const std::string &folder, uint64_t &bytes) {
  struct statvfs info;
  if (::statvfs(folder.c_str(), &info) != 0)
    return errorOf(errno);
  bytes = UINT64_MAX;
  if (info.f_blocks != 0 &&
      __builtin_mul_overflow(uint64_t(info.f_bavail), uint64_t(info.f_frsize),
                             &bytes))
    bytes = UINT64_MAX;
  return Error();
}

std::string temporaryFolder() {
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : P_tmpdir;
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

uint64_t pageBytes() {
  static const uint64_t bytes = uint64_t(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void prefetchPages(const char *start, uint64_t bytes) {
  (void)::madvise(const_cast<char *>(start), bytes, MADV_WILLNEED);
}

void dropPages(const char *start, uint64_t bytes) {
  (void)::madvise(const_cast<char *>(start), bytes, MADV_DONTNEED);
}

/// The mapping, or null with errno.
static char *map(uint64_t bytes, int protection, int flags, int file) {
  errno = ENOMEM;
  if (bytes > SIZE_MAX)
    return nullptr;
  void *base = ::mmap(nullptr, bytes, protection, flags, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char *>(base);
}

Error mapFile(const File &file, uint64_t bytes, const char *&base) {
  base = map(bytes, PROT_READ, MAP_PRIVATE, file.handle());
  return base ? Error() : errorOf(errno);
}

Error mapMemory(uint64_t bytes, char *&base) {
  base = map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  return base ? Error() : errorOf(errno);
}

void unmap(const char *base, uint64_t bytes) {
  ::munmap(const_cast<char *>(base), bytes);
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

void openStandardDescriptors() {
  // Each is opened as the lowest descriptor that is free.
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file)
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR);
}

uint64_t stackLimit() {
  rlimit limit;
  return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
             ? UINT64_MAX
             : limit.rlim_cur;
}

void exitAtOnce(int code) { ::_exit(code); }

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

static void (*endingHandler)(int signal, bool isAsked);
static bool (*lostPageHandler)(uintptr_t address);

static bool isAsked(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

static void onEndingSignal(int signal) {
  endingHandler(signal, isAsked(signal));
}

void handleEndingSignals(void (*handler)(int signal, bool isAsked)) {
  endingHandler = handler;
  for (int signal : endingSignals()) {
    struct sigaction action = {};
    // A shell ignores SIGINT and SIGQUIT for programs in the background.
    if (::sigaction(signal, nullptr, &action) != 0 ||
        (action.sa_handler != SIG_DFL && !isAsked(signal)))
      continue;
    action = {};
    action.sa_handler = onEndingSignal;
    action.sa_flags = SA_RESTART; // a write in progress is not cut short
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

void ignoreWriteSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

static void onSigbus(int signal, siginfo_t *info, void *) {
  // Returning runs the access again, now with the default action.
  if (!lostPageHandler(reinterpret_cast<uintptr_t>(info->si_addr)))
    std::signal(signal, SIG_DFL);
}

void handleLostPages(bool (*handler)(uintptr_t address)) {
  lostPageHandler = handler;
  struct sigaction action = {};
  action.sa_sigaction = onSigbus;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static_assert(sizeof(pthread_t) <= sizeof(uintptr_t));

std::error_code Thread::start(uint64_t stackBytes, void *(*run)(void *argument),
                              void *argument) {
  // Less is refused, and a thread would have the default, of mebibytes:
  // AArch64's C library asks for 128 KiB.
  const auto least = static_cast<uint64_t>(PTHREAD_STACK_MIN);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::max(stackBytes, least));
  pthread_t started = {};
  int error = ::pthread_create(&started, &attributes, run, argument);
  ::pthread_attr_destroy(&attributes);
  std::memcpy(&id, &started, sizeof started);
  return errorOf(error);
}

void Thread::join() const {
  pthread_t started;
  std::memcpy(&started, &id, sizeof started);
  ::pthread_join(started, nullptr);
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

void *openLibrary(const char *name, std::string &reason) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    if (const char *text = dlerror())
      reason = text;
  return library;
}

void *findSymbol(void *library, const char *name) {
  return dlsym(library, name);
}

} // namespace hone::rt::platform
