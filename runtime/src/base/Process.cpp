//===- Process.cpp - How a process begins, and how it ends at once --------===//
//
// The table is read by signal handlers and when there is no heap: its entries
// are in static memory, and one is filled before its state says so.
//
//===----------------------------------------------------------------------===//

#include "base/Process.h"

#include "platform/Files.h"
#include "platform/Stack.h"
#include "platform/System.h"

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>

namespace hone::rt {

namespace {
enum EntryState { Free, Busy, Live };
struct Entry {
  std::atomic<int> state{Free};
  bool ownsFiles = false;   ///< a folder goes with them
  char path[PATH_MAX] = {}; ///< no file has a longer one
};
} // namespace

static Entry entries[32];

static void remember(const std::string &path, bool ownsFiles) {
  for (Entry &entry : entries) {
    int expected = Free;
    if (path.size() >= sizeof entry.path ||
        !entry.state.compare_exchange_strong(expected, Busy))
      continue;
    entry.ownsFiles = ownsFiles;
    std::memcpy(entry.path, path.c_str(), path.size() + 1);
    entry.state = Live;
    return;
  }
}

void rememberTemporary(const std::string &path) { remember(path, false); }

void rememberTemporaryFolder(const std::string &path) { remember(path, true); }

void forgetTemporary(const std::string &path) {
  for (Entry &entry : entries)
    if (entry.state == Live && path == entry.path)
      entry.state = Free;
}

void TemporaryFile::remove() const { platform::removeFile(path.c_str()); }

// Only async-signal-safe calls from here on.
static void say(const char *text) {
  (void)platform::write(platform::StandardError, text, std::strlen(text));
}

void endProcess(ExitCode code) {
  for (const Entry &entry : entries)
    if (entry.state == Live && entry.ownsFiles)
      platform::removeFlatFolder(entry.path);
    else if (entry.state == Live)
      platform::removeFile(entry.path);
  // Folders that are empty now; twice, as one may be in another.
  for (int depth = 0; depth < 2; ++depth)
    for (const Entry &entry : entries)
      if (entry.state == Live)
        platform::removeFolder(entry.path);
  platform::exitAtOnce(static_cast<int>(code));
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

/// Programs need less than 256 KiB, the compiler no more than this.
constexpr uint64_t kLeastStack = 512 << 10;

void startProcess() {
  platform::openStandardDescriptors();
  if (platform::stackLimit() < kLeastStack)
    endProcess(ErrorCode::NoMemory, "stack",
               "expected a limit of 512 KiB or more but the system's is "
               "lower\n  help: raise the limit on the stack (ulimit -s 8192)");
  std::set_new_handler(onNoMemory);
}

} // namespace hone::rt
