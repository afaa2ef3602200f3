//===- Round.cpp - The round that both sides of a session are in ----------===//
//
// One side asks the other for a round, which answers with messages of its own
// (Ensemble.h). What is asked is heard at once, whatever the program does,
// since it ends what that waits for.
//
//===----------------------------------------------------------------------===//

#include "exchange/Session.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

/// The channels by which a peer asks for a round, and says that one is over;
/// their step is the round.
static constexpr const char *kHalt = "halt", *kAgain = "again";

Status Session::halt(const Asked &wanted) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    halted = wanted.round;
  }
  const uint64_t isNeeded = wanted.isNeeded;
  return postSend({kControl, wanted.round, kHalt, /*index=*/0,
                   self.peer.c_str(), /*isSent=*/true},
                  reinterpret_cast<const char *>(&isNeeded), sizeof(isNeeded));
}

Session::Asked Session::asks() {
  std::lock_guard<std::mutex> lock(mutex);
  return asked;
}

Status Session::askAgain(uint64_t isOver) {
  const char none[8] = "";
  return postSend({kControl, isOver, kAgain, /*index=*/0, self.peer.c_str(),
                   /*isSent=*/true},
                  none, sizeof(none));
}

bool Session::handleAsked(const Frame &frame) {
  const bool halts = frame.name.channel == channelNumber(kHalt);
  uint64_t isNeeded = 0;
  if ((!halts && frame.name.channel != channelNumber(kAgain)) ||
      frame.payloadBytes != sizeof(isNeeded))
    return false;
  memcpy(&isNeeded, frame.payload, sizeof(isNeeded));
  const uint64_t wanted = frame.name.step;
  if (halts) {
    // Rounds of one process rise in their lower half; one that is late is over.
    constexpr uint64_t half = uint64_t(1) << 32;
    if (!self.mayHalt || wanted == asked.round ||
        (wanted / half == asked.round / half && wanted < asked.round))
      return true;
    asked = {wanted, isNeeded != 0};
  } else {
    if (wanted != halted || wanted == 0)
      return true;
    halted = 0; // it counts once
  }
  progress();
  if (self.events)
    ++*self.events;
  return true;
}

void Session::beginRound(uint64_t wanted) {
  std::lock_guard<std::mutex> lock(mutex);
  round = wanted;
  auto forget = [](auto &messages) {
    for (auto each = messages.begin(); each != messages.end();)
      each = each->first.schedule == kControl ? std::next(each)
                                              : messages.erase(each);
  };
  forget(sends);
  forget(receives);
  forget(early);
  forget(credits);
  hasJoined = false;
  finished.clear();
  control.erase(std::remove_if(control.begin(), control.end(),
                               [](const auto &each) {
                                 return each.name.schedule != kControl;
                               }),
                control.end());
}

} // namespace hone::rt
