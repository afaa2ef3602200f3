//===- Process.cpp - How a process begins, and how it ends at once --------===//
//
// The table is read by signal handlers and when there is no heap: its entries
// are in static memory, and one is filled before its state says so.
//
//===----------------------------------------------------------------------===//

#include "base/Process.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace hone::rt {

namespace {
enum EntryState { Free, Busy, Live };
struct Entry {
  std::atomic<int> state{Free};
  char path[1024] = {};
};
} // namespace

static Entry entries[32];

void rememberTemporary(const std::string &path) {
  for (Entry &entry : entries) {
    int expected = Free;
    if (path.size() >= sizeof entry.path ||
        !entry.state.compare_exchange_strong(expected, Busy))
      continue;
    std::memcpy(entry.path, path.c_str(), path.size() + 1);
    entry.state = Live;
    return;
  }
}

void forgetTemporary(const std::string &path) {
  for (Entry &entry : entries)
    if (entry.state == Live && path == entry.path)
      entry.state = Free;
}

void TemporaryFile::remove() const { ::unlink(path.c_str()); }

// Only async-signal-safe calls from here on.
static void say(const char *text) {
  ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  (void)ignored;
}

void endProcess(ExitCode code) {
  for (const Entry &entry : entries)
    if (entry.state == Live)
      ::unlink(entry.path);
  for (const Entry &entry : entries) // folders, empty now
    if (entry.state == Live)
      ::rmdir(entry.path);
  ::_exit(static_cast<int>(code));
}

void endProcess(ErrorCode code, const char *place, const char *text) {
  for (const char *part :
       {"error[", textOf(code), "]: ", place, ": ", text, "\n"})
    say(part);
  endProcess(exitCodeOf(code));
}

static void onNoMemory() {
  endProcess(ErrorCode::NoMemory, "memory",
             "expected memory beside the plan's but the system refused it\n"
             "  help: free memory, or raise the limit (ulimit -v, a control "
             "group)");
}

void startProcess() {
  // Each is opened as the lowest descriptor that is free.
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file)
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR);
  std::set_new_handler(onNoMemory);
}

} // namespace hone::rt
