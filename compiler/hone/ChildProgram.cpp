//===- ChildProgram.cpp - Programs that this one starts -------------------===//

#include "compiler/hone/ChildProgram.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
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

/// The program decides by itself how it takes a write to a closed pipe.
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

/// Becomes `words` in a child: nothing here may take a lock or allocate. Writes
/// errno to `failure`, which is closed when the program runs.
[[noreturn]] static void beginChild(pid_t parent, char *const *words,
                                    int output, int failure) {
#ifdef __linux__
  // A run whose front was killed would keep the folder of the next command.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(128 + SIGKILL);
#else
  (void)parent;
#endif
  restoreWriteSignals();
  bool isReady = true;
  if (output >= 0) {
    const int in = open("/dev/null", O_RDONLY),
              said = open("/dev/null", O_WRONLY);
    isReady = dup2(output, STDOUT_FILENO) >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
              dup2(said, STDERR_FILENO) >= 0;
  }
  if (isReady)
    execv(words[0], words);
  const int error = errno;
  (void)!write(failure, &error, sizeof(error));
  _exit(127);
}

/// Starts it, with `output` (unless it is negative) in place of standard output
/// and nothing else to read or to write to. Errors: CannotRead.
static Result<pid_t> start(const std::string &path,
                           const std::vector<std::string> &arguments,
                           int output) {
  llvm::outs().flush();
  const std::vector<char *> words = argumentsOf(path, arguments);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0)
    return cannotStart(path, errno);
  const pid_t parent = getpid(), child = fork();
  if (child == 0)
    beginChild(parent, words.data(), output, failure[1]);
  int error = child < 0 ? errno : 0;
  close(failure[1]);
  while (child > 0 && read(failure[0], &error, sizeof(error)) < 0 &&
         errno == EINTR) {
  }
  close(failure[0]);
  if (child > 0 && error != 0)
    waitpid(child, nullptr, 0);
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
  HONE_ASSIGN(const pid_t child, start(path, arguments, /*output=*/-1));
  return waitFor(child);
}

Result<ProgramOutput>
hone::captureProgram(const std::string &path,
                     const std::vector<std::string> &arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(path, errno);
  PassedSignals signals;
  const Result<pid_t> child = start(path, arguments, ends[1]);
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
