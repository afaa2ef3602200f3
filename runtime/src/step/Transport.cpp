//===- Transport.cpp - Carries values between parts -----------------------===//

#include "step/Transport.h"

#include <algorithm>

namespace hone::rt {

std::string Transport::Message::describe() const {
  const std::string whose =
      std::string(isSent ? "to '" : "from '") + peer + "'";
  // Of those that no schedule has, numbers say nothing.
  if (schedule >= kOfNoSchedule)
    return "the message '" + std::string(channel) + "' " + whose;
  return "message " + std::to_string(index) + " of " + channel + " in step " +
         std::to_string(step + 1) + ", " + whose;
}

Status Patience::check(const std::string &what,
                       std::chrono::milliseconds waited) const {
  if (isStopped && isStopped())
    return Status(ErrorCode::StoppedWaiting, what,
                  "a signal came while the program waited for it",
                  "give the same command again to go on after the last whole "
                  "step");
  if (timeout.count() == 0 || waited < timeout)
    return Status::ok();
  return Status(ErrorCode::PeerLost, what,
                "expects a sign of the other program within " +
                    std::to_string(timeout.count()) + " ms but got none",
                "see that the other program runs, and give the same command "
                "again to go on after the last whole step");
}

std::chrono::milliseconds Patience::slice() const {
  constexpr std::chrono::milliseconds most{50}; // for a person who asks to stop
  return timeout.count() == 0 ? most : std::min(most, timeout);
}

Status messageMisfit(const Transport::Message &message, uint64_t expected,
                     uint64_t found) {
  return Status(ErrorCode::MessageMisfit, message.describe(),
                "expects " + std::to_string(expected) + " bytes but got " +
                    std::to_string(found),
                "compile all parts from one spec, and start them with the same "
                "data and options");
}

} // namespace hone::rt
