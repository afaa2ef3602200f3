//===- Transport.h - Carries values between parts -------------------------===//
//
// Posting and waiting are apart. A message's name is known to both sides
// without counting since they began, so a part that was resumed and one that
// never stopped mean the same message.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace hone::rt {

/// When a wait ends without that for which it waits.
struct Patience {
  /// Without a sign of the peer; 0: without end.
  std::chrono::milliseconds timeout{0};
  /// Whether a signal asks the program to stop; null: none does.
  bool (*isStopped)() = nullptr;

  /// Whether to go on waiting for `what` after `waited`. Errors: PeerLost,
  /// StoppedWaiting.
  Status check(const std::string &what, std::chrono::milliseconds waited) const;
  /// How long to wait at most before the next check.
  std::chrono::milliseconds slice() const;
};

/// Messages of at most this size are taken in before their receive is posted,
/// so a number that is broadcast blocks nobody.
constexpr uint64_t kEagerBytes = 64;

class Transport {
public:
  /// A message's name, and from whose side it is seen. The strings are the
  /// module's and outlive it.
  struct Message {
    /// Purposes from here on are of messages that no schedule has.
    static constexpr uint32_t kOfNoSchedule = 0xfffffffe;

    uint32_t schedule; ///< hone_purpose
    uint64_t step;     ///< updates before the step that sends it
    const char *channel;
    uint64_t index; ///< among those of its channel in that step, from 0
    const char *peer;
    bool isSent; ///< by this side

    /// "message 2 of train.loss.0 in step 7, from 'upper'", steps from 1; of
    /// no schedule "the message 'saved' from 'upper'".
    std::string describe() const;
  };

  virtual ~Transport() = default;
  /// `bytes` may be read until `wait` or `cancel` for the message returns.
  virtual Status postSend(const Message &message, const char *bytes,
                          uint64_t size) = 0;
  /// `bytes` is written between this and the return of `wait` or `cancel`.
  virtual Status postReceive(const Message &message, char *bytes,
                             uint64_t size) = 0;
  /// After an error the message is still posted. Errors: PeerLost,
  /// StoppedWaiting, MessageMisfit where the two sides' sizes differ.
  virtual Status wait(const Message &message) = 0;
  /// Forgets a posted message; its memory is free.
  virtual void cancel(const Message &message) = 0;
};

/// The error of a message of another size than is expected.
Status messageMisfit(const Transport::Message &message, uint64_t expected,
                     uint64_t found);

} // namespace hone::rt
