//===- Programs.h - Programs that run in virtual time ---------------------===//
//
// Each program is a thread, of which one runs at a time, until it waits for a
// message. When all wait, the network goes to its next event; a program
// whose wait ends runs on. So one that runs is never late for an event, and
// the order of events depends on nothing but the programs and the link.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/simulate/Network.h"
#include "compiler/simulate/Timeline.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace hone::simulate {

class Programs;

/// A program's own view of its time and its messages.
class Program {
public:
  Program(Programs &all, uint32_t number) : number(number), all(all) {}

  const uint32_t number;
  Timeline timeline;

  void compute(double seconds) { timeline.spend(seconds, Activity::Computing); }
  /// Posts a message of `size` bytes now.
  void postSend(const Network::Key &key, uint64_t size);
  void postReceive(const Network::Key &key, uint64_t size);
  /// Waits for that side of a message. False: nobody will ever end the wait.
  bool wait(const Network::Key &key, bool isSent);
  Totals sofar() const;

private:
  friend Programs;
  struct Awaited {
    Network::Key key;
    bool isSent;
  };

  Programs &all;
  std::condition_variable turn;
  bool hasTurn = false, hasEnded = false;
  std::optional<Awaited> awaited;
};

class Programs {
public:
  using Body = std::function<Status(Program &)>;

  Programs(uint32_t count, Link link);
  /// Runs `body` as each program. The status of the first that failed by
  /// itself, and not because others ended.
  Status run(const Body &body);
  const Timeline &timelineOf(uint32_t program) const {
    return programs[program]->timeline;
  }

  Network network;

private:
  friend Program;
  /// Waits for the first turn of `program`, and runs it.
  void runOnThread(Program &program);
  /// Lets `program` run until it waits for a message that is not there, or
  /// ends.
  void letRun(Program &program);
  /// The calling program waits for its turn.
  void giveBack(Program &program);
  bool isReady(const Program &program) const;

  std::mutex mutex;
  std::condition_variable returned;
  bool isStuck = false;
  bool isRefused = false; ///< a thread for one of them
  const Body *body = nullptr;
  size_t running = 0;            ///< programs that have not ended
  Status failure = Status::ok(); ///< the first
  std::vector<std::unique_ptr<Program>> programs;
};

} // namespace hone::simulate
