//===- Round.cpp - The round that both sides of a session are in ----------===//
//
// One side asks the other for a round, and the other answers with messages
// (Ensemble.h). A request is heard at once, even while the program waits, since
// it ends the program's waits.
//
//===----------------------------------------------------------------------===//

#include "exchange/Pieces.h"
#include "exchange/Session.h"

#include <cstring>

namespace hone::rt {

/// The channels by which a peer asks for a round, says that one for which it
/// was asked, or asked, is over, and that others are there; their step is the
/// round.
static constexpr const char *kHalt = "halt", *kAgain = "again", *kOver = "over",
                            *kMet = "met";

Status Session::tell(const char *channel, uint64_t of, uint64_t number) {
  return postSend({kControl, of, channel, /*index=*/0, self.peer.c_str(),
                   /*isSent=*/true},
                  reinterpret_cast<const char *>(&number), sizeof(number));
}

Status Session::halt(const Asked &wanted) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex);
    halted = wanted.round;
    number = 2 * ++requests + wanted.isNeeded;
  }
  return tell(kHalt, wanted.round, number);
}

Status Session::awaitHeard(uint64_t wanted, const Patience &patience) {
  std::unique_lock<std::mutex> lock(mutex);
  const MessageName name{kControl, wanted, channelNumber(kHalt), 0};
  const Clock::time_point begin = Clock::now();
  while (messages.isSending(name) && !hasFarewell && !isInterrupted()) {
    HONE_TRY(failure);
    Status status = patience.check(
        joined({"the program '", self.peer, "' at ", self.address}),
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                              begin));
    isGivenUp |= !status.isOk();
    HONE_TRY(status);
    changed.wait_for(lock, patience.slice());
  }
  return Status::ok();
}

Session::Asked Session::asks() {
  std::lock_guard<std::mutex> lock(mutex);
  return asked;
}

Status Session::askAgain(uint64_t isOver) { return tell(kAgain, isOver, 0); }

Status Session::tellOver(uint64_t isOver) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    halted = 0; // that the peer says so, too, is nothing new
  }
  return tell(kOver, isOver, 0);
}

Status Session::tellMet(uint64_t of) { return tell(kMet, of, 0); }

bool Session::handleAsked(const Frame &frame) {
  uint64_t number = 0;
  if (frame.payloadBytes != sizeof(number))
    return false;
  memcpy(&number, frame.payload, sizeof(number));
  const uint64_t wanted = frame.name.step;
  auto is = [&](const char *channel) {
    return frame.name.channel == channelNumber(channel);
  };
  if (is(kHalt)) {
    // Messages come in any order; an older request is over.
    const uint64_t request = number / 2;
    if (!self.mayHalt || request <= heard)
      return true;
    heard = request;
    if (wanted == asked.round)
      return true;
    asked = {wanted, number % 2 != 0};
  } else if (is(kAgain)) {
    if (wanted != halted || wanted == 0)
      return true;
    halted = 0; // it counts once
  } else if (is(kOver)) {
    if (!self.mayHalt || wanted != asked.round || wanted == over)
      return true;
    over = wanted; // the same
  } else if (is(kMet)) {
    progress();
    if (self.waiting)
      (void)self.waiting->tellMet(wanted);
    return true;
  } else {
    return false;
  }
  progress();
  if (self.events)
    ++*self.events;
  return true;
}

void Session::beginRound(uint64_t wanted) {
  std::lock_guard<std::mutex> lock(mutex);
  round = wanted;
  messages.beginRound();
}

} // namespace hone::rt
