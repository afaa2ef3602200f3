//===- ChildProgram.cpp - Programs that this one starts -------------------===//

#include "compiler/hone/ChildProgram.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

using namespace hone;

static std::vector<char *> argumentsOf(const std::string &path,
                                       const std::vector<std::string> &words) {
  std::vector<char *> out{const_cast<char *>(path.c_str())};
  for (const std::string &word : words)
    out.push_back(const_cast<char *>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

static Status cannotStart(const std::string &path, int error) {
  return Status(
      ErrorCode::CannotRead, path,
      "cannot be started: " + std::generic_category().message(error),
      "check that programs may run from its file system, or set HONE_CACHE");
}

/// What the program does with a write to a closed pipe is its own affair.
static void restoreWriteSignals() {
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
}

Status hone::becomeProgram(const std::string &path,
                           const std::vector<std::string> &arguments) {
  llvm::outs().flush();
  restoreWriteSignals();
  execv(path.c_str(), argumentsOf(path, arguments).data());
  return cannotStart(path, errno);
}

/// The program that runs; 0: none.
static volatile sig_atomic_t running = 0;

static void passOn(int signal) {
  if (running)
    kill(pid_t(running), signal);
}

namespace {
/// While it lives, signals that end a process go to the program. A terminal
/// sends its own to both, so those are not passed on.
class PassedSignals {
public:
  PassedSignals() {
    for (size_t i = 0; i < std::size(signals); ++i) {
      struct sigaction action = {};
      action.sa_handler =
          signals[i] == SIGINT || signals[i] == SIGQUIT ? [](int) {} : passOn;
      sigaction(signals[i], nullptr, &before[i]);
      if (before[i].sa_handler != SIG_IGN) // as SIGHUP by nohup
        sigaction(signals[i], &action, nullptr);
    }
  }
  ~PassedSignals() {
    running = 0;
    for (size_t i = 0; i < std::size(signals); ++i)
      sigaction(signals[i], &before[i], nullptr);
  }

private:
  static constexpr int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  struct sigaction before[std::size(signals)];
};
} // namespace

Result<int> hone::runProgram(const std::string &path,
                             const std::vector<std::string> &arguments) {
  llvm::outs().flush();
  PassedSignals signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t standard;
  sigemptyset(&standard);
  sigaddset(&standard, SIGPIPE);
  sigaddset(&standard, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), nullptr, &attributes,
                                argumentsOf(path, arguments).data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return cannotStart(path, error);
  running = child;
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

std::string hone::shellCommand(const std::vector<std::string> &words) {
  std::string out;
  for (const std::string &word : words) {
    out += out.empty() ? "" : " ";
    const bool isPlain =
        !word.empty() &&
        llvm::StringRef(word).find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
            "-_./=:,%+@") == llvm::StringRef::npos;
    if (isPlain) {
      out += word;
      continue;
    }
    out += '\'';
    for (char c : word)
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}
