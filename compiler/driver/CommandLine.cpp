//===- CommandLine.cpp - How a tool begins and ends -----------------------===//

#include "compiler/driver/CommandLine.h"
#include "base/MappedFile.h"
#include "base/Process.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <pthread.h>

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

/// For --help and --version, with which LLVM exits by itself.
static void endAtExit() {
  if (Status status = takeOutputError(); !status.isOk()) {
    llvm::errs() << status.render();
    rt::endProcess(status.exitCode());
  }
}

void hone::beginTool() {
  rt::startProcess();
  rt::installSigbusHandler();
  installSignals();
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { std::get_new_handler()(); });
  llvm::outs(); // made before the next line, so that it still is at exit
  llvm::errs();
  std::atexit(endAtExit);
}

Status hone::parseCommandLine(int argc, char **argv, const char *overview) {
  const std::string tool = llvm::sys::path::filename(argv[0]).str();
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &out) {
    out << tool << " " HONE_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  bool isParsed =
      llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream);
  for (llvm::cl::SubCommand *command : llvm::cl::getRegisteredSubcommands())
    for (auto [name, option] : llvm::cl::getRegisteredOptions(*command))
      if (isParsed && option->getNumOccurrences() > 1 &&
          option->getNumOccurrencesFlag() == llvm::cl::Optional) {
        isParsed = false;
        stream << "--" << name << " is given more than once";
      }
  if (isParsed)
    return Status::ok();
  if (problem.empty()) // LLVM has printed what is wrong with a value
    problem = "the option above has no value or an invalid one";
  return Status(ErrorCode::WrongOption, tool,
                llvm::StringRef(problem).trim().str(),
                "see " + tool + " --help");
}

int hone::reportStatus(const Status &status) {
  Status output = takeOutputError();
  const Status &said = status.isOk() ? output : status;
  llvm::errs() << said.render();
  return static_cast<int>(said.exitCode());
}
