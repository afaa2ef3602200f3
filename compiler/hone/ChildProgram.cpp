//===- ChildProgram.cpp - Programs that this one starts -------------------===//

#include "compiler/hone/ChildProgram.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
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

/// Starts it with `files` open. Errors: CannotRead.
static Result<pid_t> start(const std::string &path,
                           const std::vector<std::string> &arguments,
                           const posix_spawn_file_actions_t *files) {
  llvm::outs().flush();
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t standard;
  sigemptyset(&standard);
  sigaddset(&standard, SIGPIPE);
  sigaddset(&standard, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), files, &attributes,
                                argumentsOf(path, arguments).data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return cannotStart(path, error);
  running = child;
  return child;
}

static int waitFor(pid_t child) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

Result<int> hone::runProgram(const std::string &path,
                             const std::vector<std::string> &arguments) {
  PassedSignals signals;
  HONE_ASSIGN(const pid_t child, start(path, arguments, nullptr));
  return waitFor(child);
}

Result<ProgramOutput>
hone::captureProgram(const std::string &path,
                     const std::vector<std::string> &arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(path, errno);
  PassedSignals signals;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                   0);
  const Result<pid_t> child = start(path, arguments, &files);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  ProgramOutput output;
  char part[4096];
  for (ssize_t size = 1; child.isOk() && size != 0;) {
    size = read(ends[0], part, sizeof(part));
    if (size > 0)
      output.text.append(part, size_t(size));
    else if (size < 0 && errno != EINTR)
      break;
  }
  close(ends[0]);
  if (!child.isOk())
    return child.status();
  output.code = waitFor(child.value());
  return output;
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
