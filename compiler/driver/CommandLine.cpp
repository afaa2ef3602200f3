//===- CommandLine.cpp - How a tool begins and ends -----------------------===//

#include "compiler/driver/CommandLine.h"
#include "base/MappedFile.h"
#include "base/Process.h"
#include "base/Wording.h"
#include "compiler/driver/CommandLineError.h"
#include "compiler/driver/CommandLineHelp.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace hone;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

static volatile sig_atomic_t waiting = 0, pending = 0;

static pthread_t mainThread;

static void onSignal(int signal) {
  // On another thread the main one could make a file without our knowledge.
  if (!pthread_equal(pthread_self(), mainThread)) {
    pthread_kill(mainThread, signal);
    return;
  }
  if (waiting) {
    pending = signal;
    return;
  }
  llvm::sys::RunInterruptHandlers(); // LLVM's own temporaries
  rt::endProcess(ExitCode(128 + signal));
}

hone::SignalsWait::SignalsWait() { waiting = waiting + 1; }

hone::SignalsWait::~SignalsWait() {
  waiting = waiting - 1;
  if (!waiting && pending)
    onSignal(pending);
}

static void installSignals() {
  mainThread = pthread_self();
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                     SIGTERM, SIGVTALRM, SIGPROF, SIGXCPU}) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) // as SIGHUP by nohup
      continue;
    action = {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

//===----------------------------------------------------------------------===//
// Standard output
//===----------------------------------------------------------------------===//

std::string hone::inWords(const Status &status) {
  return rt::Wording::given().apply(status.render());
}

/// LLVM's streams end a program that they could not write for as a bug of it.
static Status takeOutputError() {
  llvm::errs().clear_error(); // there is nowhere to tell it
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code error = out.error();
  out.clear_error();
  if (!error || error == std::errc::broken_pipe)
    return Status::ok();
  return Status(ErrorCode::WriteFailed, "standard output",
                "writing failed: " + error.message(),
                "check the destination and its free space");
}

namespace {
/// While it lives, a standard stream goes to memory: LLVM's parser writes its
/// messages there, in its own words.
class HeldStream {
public:
  HeldStream(int stream, llvm::raw_ostream &writer)
      : stream(stream), writer(writer) {
    text = memfd_create("held", MFD_CLOEXEC);
    if (text < 0)
      return; // then LLVM's words are read
    writer.flush();
    standard = fcntl(stream, F_DUPFD_CLOEXEC, 3);
    if (standard >= 0) // else no descriptor is left, and all goes on to it
      dup2(text, stream);
  }
  ~HeldStream() {
    release();
    close(text);
  }
  HeldStream(const HeldStream &) = delete;
  HeldStream &operator=(const HeldStream &) = delete;

  /// The stream is itself again.
  void release() {
    if (standard < 0)
      return;
    writer.flush();
    dup2(standard, stream);
    close(standard);
    standard = -1;
  }
  std::string take() {
    release();
    std::string out;
    char part[4096];
    lseek(text, 0, SEEK_SET);
    for (ssize_t size; (size = read(text, part, sizeof(part))) > 0;)
      out.append(part, size_t(size));
    return out;
  }

private:
  const int stream;
  llvm::raw_ostream &writer;
  int text = -1, standard = -1; ///< -1: nothing is held
};

/// Both streams of a parser that may end the program.
struct HeldStreams {
  HeldStream output{STDOUT_FILENO, llvm::outs()};
  HeldStream errors{STDERR_FILENO, llvm::errs()};
  HeldStreams() { current = this; }
  ~HeldStreams() { current = nullptr; }
  static HeldStreams *current; ///< null: none is held
};
HeldStreams *HeldStreams::current = nullptr;
} // namespace

/// For --help and --version, with which LLVM exits by itself.
static void endAtExit() {
  if (HeldStreams *held = HeldStreams::current) {
    held->errors.release();
    llvm::outs() << commandLineHelp(held->output.take());
  }
  if (Status status = takeOutputError(); !status.isOk()) {
    llvm::errs() << inWords(status);
    rt::endProcess(status.exitCode());
  }
}

/// LLVM takes a refused thread for a bug of the program, and aborts.
static void onFatalError(void *, const char *reason, bool) {
  if (!llvm::StringRef(reason).contains("pthread_create")) {
    llvm::errs() << "LLVM ERROR: " << reason << "\n"; // and it aborts
    return;
  }
  llvm::sys::RunInterruptHandlers(); // LLVM's own temporaries
  rt::endProcess(ErrorCode::NoThread, "threads",
                 "expected a thread of the compiler but the system refused it\n"
                 "  help: raise the limit on threads or memory (ulimit -u, "
                 "ulimit -v, a control group)");
}

void hone::checkOutputAtExit() {
  llvm::outs(); // made before the last line, so that it still is at exit
  llvm::errs();
  std::atexit(endAtExit);
}

void hone::beginTool() {
  rt::startProcess();
  rt::installSigbusHandler();
  installSignals();
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { std::get_new_handler()(); });
  llvm::install_fatal_error_handler(onFatalError);
  checkOutputAtExit();
  llvm::cl::ResetCommandLineParser();
}

/// The first command that argv names, or the tool itself.
static llvm::cl::SubCommand &commandOf(int argc, char **argv) {
  for (llvm::cl::SubCommand *command : llvm::cl::getRegisteredSubcommands())
    if (argc > 1 && !command->getName().empty() &&
        command->getName() == argv[1])
      return *command;
  return llvm::cl::SubCommand::getTopLevel();
}

Status hone::parseCommandLine(int argc, char **argv, const char *overview) {
  const std::string tool = llvm::sys::path::filename(argv[0]).str();
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &out) {
    out << tool << " " HONE_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  HeldStreams held;
  const bool isParsed =
      llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream);
  problem += held.errors.take();
  llvm::outs() << held.output.take(); // such as values of options
  llvm::cl::SubCommand &given = commandOf(argc, argv);
  std::string command = tool;
  if (!given.getName().empty())
    command += " " + given.getName().str();
  if (!isParsed) {
    std::string usage = command;
    for (const llvm::cl::Option *argument : given.PositionalOpts)
      usage += " " + argument->HelpStr.str();
    return commandLineError(command, usage, problem);
  }
  llvm::errs() << problem; // such as a note
  HONE_TRY(checkEmptyArguments(command, {argv + 1, argv + argc},
                               given.ConsumeAfterOpt != nullptr));
  for (auto [name, option] : llvm::cl::getRegisteredOptions(given))
    if (option->getNumOccurrences() > 1 &&
        option->getNumOccurrencesFlag() == llvm::cl::Optional)
      return Status(ErrorCode::WrongOption,
                    (name.size() == 1 ? "-" : "--") + name.str(),
                    "is given more than once",
                    "keep one of them; none overrides another");
  return Status::ok();
}

int hone::reportStatus(const Status &status) {
  Status output = takeOutputError();
  const Status &said = status.isOk() ? output : status;
  llvm::errs() << inWords(said);
  return static_cast<int>(said.exitCode());
}
