//===- Launch.cpp - The programs that one launcher started ----------------===//

#include "program/Launch.h"

#include "exchange/Pieces.h"
#include "platform/Files.h"
#include "platform/System.h"
#include "platform/Thread.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace hone::rt {

/// Programs of one run, at most, as of parts.
static constexpr uint32_t kMostPrograms = 64;
static constexpr uint64_t kStack = 256 * 1024;

namespace {
/// MPI's beginning and its end wait for all programs that mpirun started, and
/// neither a signal nor a clock ends that: one that ended before it began MPI,
/// or that hangs, would hold the others for ever. So the process ends if that
/// takes too long. Nothing is written yet by then, or everything is.
class Watch {
public:
  explicit Watch(Patience patience) : patience(patience) {}
  Watch(const Watch &) = delete;
  ~Watch() {
    if (!isStarted)
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      isOver = true;
    }
    changed.notify_all();
    thread.join();
  }

  Status start() {
    if (std::error_code error = thread.start(kStack, run, this))
      return Status(ErrorCode::NoThread, "exchange", error.message(),
                    "allow one thread more");
    isStarted = true;
    return Status::ok();
  }

private:
  using Clock = std::chrono::steady_clock;

  static void *run(void *watch) {
    static_cast<Watch *>(watch)->wait();
    return nullptr;
  }
  void wait() {
    const Clock::time_point begin = Clock::now();
    std::unique_lock<std::mutex> lock(mutex);
    while (!isOver) {
      if (Status status = patience.check(
              "the programs that mpirun started",
              std::chrono::duration_cast<std::chrono::milliseconds>(
                  Clock::now() - begin));
          !status.isOk()) {
        printError(status);
        platform::exitAtOnce(int(status.errorCode() == ErrorCode::StoppedWaiting
                                     ? stopRequested()
                                     : status.exitCode()));
      }
      changed.wait_for(lock, patience.slice());
    }
  }

  const Patience patience;
  platform::Thread thread;
  bool isStarted = false, isOver = false;
  std::mutex mutex;
  std::condition_variable changed;
};
} // namespace

Patience patienceOf(const Options &options) {
  return {std::chrono::seconds(int64_t(options.timeout)),
          [] { return stopRequested() != ExitCode::Success; }};
}

/// Watches MPI's end, which begins while the process exits, so it is never
/// deleted. A signal takes nothing from a run that is over.
static Watch *ofEnd = nullptr;

static Result<EnginePlace> launched(const Options &options) {
  Watch watch(patienceOf(options));
  HONE_TRY(watch.start());
  HONE_ASSIGN(EnginePlace place,
              findPlace(platform::parentDirectory(platform::programPath()),
                        options.exchange));
  // Registered after the engine's, which ends MPI, so it runs before that.
  if (place.ranks > 1 && !ofEnd) {
    ofEnd = new Watch({patienceOf(options).timeout, nullptr});
    std::atexit([] { (void)ofEnd->start(); });
  }
  if (place.ranks <= kMostPrograms)
    return place;
  return Status(ErrorCode::NoMeeting, "mpirun",
                "expects at most " + std::to_string(kMostPrograms) +
                    " programs but got " + std::to_string(place.ranks),
                "start fewer");
}

Result<EnginePlace> placeOf(const Options &options) {
  if (options.exchange.empty() || !options.settings.train.data_parallel)
    return EnginePlace();
  HONE_ASSIGN(EnginePlace place, launched(options));
  if (place.ranks > 0)
    return place;
  return Status(ErrorCode::NoMeeting, "--exchange " + options.exchange,
                "numbers no programs", "start the program with mpirun");
}

Status checkLaunch(const Options &options,
                   const std::vector<std::string> &programs) {
  HONE_ASSIGN(EnginePlace place, launched(options));
  if (place.ranks == 0 || place.ranks == programs.size())
    return Status::ok();
  return Status(ErrorCode::NoMeeting, "mpirun",
                "expects " + std::to_string(programs.size()) +
                    " programs, each of " + quoted(programs) +
                    " once, but got " + std::to_string(place.ranks),
                "start each program of the model once, with one mpirun");
}

} // namespace hone::rt
