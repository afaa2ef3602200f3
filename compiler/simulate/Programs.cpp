//===- Programs.cpp - Programs that run in virtual time -------------------===//

#include "compiler/simulate/Programs.h"

#include "platform/Thread.h"

#include <algorithm>

namespace hone::simulate {

/// As much as the main thread of a program has by default.
constexpr uint64_t kStackBytes = 8 << 20;

Programs::Programs(uint32_t count, Link link) : network(count, link) {
  for (uint32_t i = 0; i < count; ++i)
    programs.push_back(std::make_unique<Program>(*this, i));
}

void Program::postSend(const Network::Key &key, uint64_t size) {
  all.network.postSend(key, size, timeline.now());
}

void Program::postReceive(const Network::Key &key, uint64_t size) {
  all.network.postReceive(key, size, timeline.now());
}

bool Program::wait(const Network::Key &key, bool isSent) {
  awaited = Awaited{key, isSent};
  if (!all.isReady(*this))
    all.giveBack(*this);
  awaited.reset();
  const std::optional<double> end = all.network.endOf(key, isSent);
  if (!end)
    return false;
  timeline.until(*end, isSent ? Activity::Sending : Activity::Waiting);
  all.network.forget(key, isSent);
  return true;
}

Totals Program::sofar() const {
  Totals totals = timeline.sofar();
  totals.sent = all.network.sentBy(number);
  totals.received = all.network.receivedBy(number);
  return totals;
}

bool Programs::isReady(const Program &program) const {
  return !program.awaited || isStuck ||
         network.endOf(program.awaited->key, program.awaited->isSent) ||
         network.misfits(program.awaited->key);
}

void Programs::letRun(Program &program) {
  if (program.hasEnded || !isReady(program))
    return;
  std::unique_lock<std::mutex> lock(mutex);
  program.hasTurn = true;
  program.turn.notify_one();
  returned.wait(lock, [&] { return !program.hasTurn; });
}

void Programs::giveBack(Program &program) {
  std::unique_lock<std::mutex> lock(mutex);
  program.hasTurn = false;
  returned.notify_one();
  program.turn.wait(lock, [&] { return program.hasTurn; });
}

void Programs::runOnThread(Program &program) {
  {
    std::unique_lock<std::mutex> lock(mutex);
    program.turn.wait(lock, [&] { return program.hasTurn; });
  }
  // Without all of them there is nothing to simulate.
  Status status = isRefused ? Status::ok() : (*body)(program);
  std::lock_guard<std::mutex> lock(mutex);
  if (failure.isOk())
    failure = std::move(status);
  program.hasEnded = true;
  --running;
  program.hasTurn = false;
  returned.notify_one();
}

Status Programs::run(const Body &asked) {
  body = &asked;
  std::vector<rt::platform::Thread> threads;
  for (auto &program : programs) {
    const auto run = [](void *argument) -> void * {
      auto &own = *static_cast<Program *>(argument);
      own.all.runOnThread(own);
      return nullptr;
    };
    rt::platform::Thread thread;
    if (const std::error_code error =
            thread.start(kStackBytes, run, program.get())) {
      failure = Status(ErrorCode::NoThread, "threads",
                       "expected a thread for each program but the system "
                       "refused one: " +
                           error.message(),
                       "raise the limit on threads (ulimit -u, a control "
                       "group), or simulate fewer programs");
      isRefused = true;
      break;
    }
    threads.push_back(thread);
  }
  running = threads.size();
  for (size_t i = running; i < programs.size(); ++i)
    programs[i]->hasEnded = true;
  auto letAllRun = [&] {
    for (auto &program : programs)
      letRun(*program);
  };
  letAllRun();
  while (running > 0) {
    const std::optional<Network::Key> changed = network.advance();
    if (!changed) {
      isStuck = true; // so waits end, and so does each program
      letAllRun();
      continue;
    }
    // With 64 programs a look at all of them would take longer than the event.
    const auto [first, second] = std::minmax(changed->from, changed->to);
    letRun(*programs[first]);
    if (second != first)
      letRun(*programs[second]);
  }
  for (const rt::platform::Thread &thread : threads)
    thread.join();
  return failure;
}

} // namespace hone::simulate
