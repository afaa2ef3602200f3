//===- Messages.h - The messages of a session -----------------------------===//
//
// Makes messages whole over links that lose, double and delay frames, or end.
// Knows those that are posted, small ones that came before, and the frames that
// leave next; but no link, thread or clock: the caller says when.
//
// A posted receive is the sender's credit. A message that was sent stays where
// it is until it is acknowledged, but for small ones, which are copied and need
// no credit.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Frame.h"
#include "exchange/RecentNames.h"
#include "exchange/Reminder.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hone::rt {

class Messages {
public:
  using Time = Reminder::Clock::time_point;

  /// Over links that are `ordered` or not. Remembers so many names of messages
  /// that are whole.
  Messages(bool isOrdered, FrameLength lengths, uint32_t names);

  void postSend(const MessageName &name, const char *bytes, uint64_t size);
  /// Whether there is a frame to send for it.
  bool postReceive(const MessageName &name, char *bytes, uint64_t size);
  /// Whether nobody has to wait for a posted message.
  bool isDone(const MessageName &name, bool isSent) const;
  /// Forgets it; a small one that is sent stays until it is acknowledged.
  void drop(const MessageName &name, bool isSent);
  /// Sizes that differ: the receiver's and the sender's.
  struct Misfit {
    uint64_t expected, found;
  };
  /// None while the other side's size is not known.
  std::optional<Misfit> misfit(const MessageName &name, bool isSent) const;

  bool isSending(const MessageName &name) const { return sends.count(name); }
  bool isIdle() const { return sends.empty() && receives.empty(); }
  /// Whether any is sent and not acknowledged.
  bool hasOpenSends() const;
  /// Nobody needs them.
  void dropSends() { sends.clear(); }

  /// Over a link that has carried nothing: all that is under way is asked for
  /// anew, from where it is.
  void beginLink();
  /// Forgets early messages, and all others but those of kControl.
  void beginRound();

  /// Adds a frame without data to those that leave next, in their order.
  void queue(FrameKind kind, const MessageName &name = {}, uint64_t offset = 0,
             uint64_t size = 0) {
    control.push_back({kind, name, offset, size});
  }
  /// Forgets those.
  void clearQueue() { control.clear(); }
  /// A message is whole: it is not taken again.
  void acknowledge(const MessageName &name);
  /// Asks again for messages that have not come, and offers again those that
  /// were not taken.
  void remind(Time now);
  /// The next frame that there is to send, but for its run; false: there is
  /// none. `isNew` if its payload was never sent before.
  bool next(Time now, Frame &frame, bool &isNew);
  /// Takes a credit, data within the message's size, an offer or an
  /// acknowledgement of this round. Whether that is progress.
  bool take(const Frame &frame, Time now);

private:
  struct Outgoing {
    const char *bytes;
    uint64_t size;
    std::string copy; ///< of a small one
    bool isCredited = false, isOver = false;
    uint64_t next = 0;     ///< from where to send, with a credit
    uint64_t furthest = 0; ///< where it was sent up to
    FrameLength::Message onLink;
    uint64_t expected = 0; ///< the size that the peer has room for
    Reminder reminder, rewind;
  };
  struct Incoming {
    char *bytes;
    uint64_t size;
    uint64_t got = 0;
    uint64_t offered = 0; ///< the size that the peer sends
    bool isOver = false;
    bool isAsked = false; ///< for, over this link
    Reminder reminder;
  };
  /// A frame without data. There are few.
  struct Control {
    FrameKind kind;
    MessageName name;
    uint64_t offset, size;
  };

  bool takeCredit(const Frame &frame, Time now);
  bool takeData(const Frame &frame, Time now);
  void takeOffer(const Frame &frame);
  bool takeAcknowledgement(const Frame &frame, Time now);

  const bool isOrdered;
  FrameLength lengths;
  /// Whether the peer is known to be in this round, over this link: an ordered
  /// one then loses nothing.
  bool hasJoined = false;
  std::map<MessageName, Outgoing> sends;
  std::map<MessageName, Incoming> receives;
  std::map<MessageName, std::string> early; ///< small, not yet asked for
  std::map<MessageName, std::pair<uint64_t, uint64_t>> credits; ///< the same
  RecentNames finished;
  std::vector<Control> control;
};

} // namespace hone::rt
