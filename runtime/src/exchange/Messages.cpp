//===- Messages.cpp - The messages of a session ---------------------------===//

#include "exchange/Messages.h"

#include "step/Transport.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace hone::rt {

/// Small messages that came early, and credits, each.
static constexpr size_t kMostEarly = 4096;

static double secondsOf(Messages::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

Messages::Messages(bool isOrdered, FrameLength lengths, uint32_t names)
    : isOrdered(isOrdered), lengths(lengths), finished(names) {}

//===----------------------------------------------------------------------===//
// Posted messages
//===----------------------------------------------------------------------===//

void Messages::postSend(const MessageName &name, const char *bytes,
                        uint64_t size) {
  // One that was acknowledged: the same step again, after it was undone.
  Outgoing &own = sends[name] = Outgoing();
  own.bytes = bytes;
  own.size = size;
  own.rewind.after = Reminder::kFirst / 2;
  if (size <= kEagerBytes) {
    own.copy.assign(bytes, size);
    own.bytes = own.copy.data();
    own.isCredited = true;
  } else if (auto credit = credits.find(name); credit != credits.end()) {
    own.isCredited = true;
    std::tie(own.next, own.expected) = credit->second;
    credits.erase(credit);
  }
}

bool Messages::postReceive(const MessageName &name, char *bytes,
                           uint64_t size) {
  Incoming &own = receives[name] = Incoming();
  own.bytes = bytes;
  own.size = size;
  if (auto found = early.find(name); found != early.end()) {
    own.offered = found->second.size();
    own.isOver = own.offered == size;
    memcpy(bytes, found->second.data(), std::min(size, own.offered));
    early.erase(found);
  } else if (size > kEagerBytes) {
    queue(FrameKind::Credit, name, 0, size);
    own.isAsked = true;
  }
  return own.isAsked;
}

bool Messages::isDone(const MessageName &name, bool isSent) const {
  if (!isSent)
    return receives.at(name).isOver;
  auto own = sends.find(name);
  return own == sends.end() || own->second.isOver || !own->second.copy.empty();
}

void Messages::drop(const MessageName &name, bool isSent) {
  if (!isSent)
    receives.erase(name);
  else if (auto own = sends.find(name);
           own != sends.end() && own->second.copy.empty())
    sends.erase(own);
}

std::optional<Messages::Misfit> Messages::misfit(const MessageName &name,
                                                 bool isSent) const {
  if (isSent) {
    const Outgoing &own = sends.at(name);
    if (own.expected != 0 && own.expected != own.size)
      return Misfit{own.expected, own.size};
  } else {
    const Incoming &own = receives.at(name);
    if (own.offered != 0 && own.offered != own.size)
      return Misfit{own.size, own.offered};
  }
  return std::nullopt;
}

bool Messages::hasOpenSends() const {
  return std::any_of(sends.begin(), sends.end(),
                     [](const auto &each) { return !each.second.isOver; });
}

void Messages::beginLink() {
  control.clear();
  lengths.beginLink();
  hasJoined = false;
  for (auto &[name, own] : sends) {
    own.isCredited = !own.copy.empty();
    own.next = 0;
    own.onLink = {};
    own.reminder = Reminder::due();
  }
  for (auto &[name, own] : receives) {
    own.reminder = Reminder::due();
    own.isAsked = false;
  }
}

void Messages::beginRound() {
  // Nobody waits for answers to older requests, and `early` has a limit.
  early.clear();
  auto forget = [](auto &messages) {
    for (auto each = messages.begin(); each != messages.end();)
      each = each->first.schedule == kControl ? std::next(each)
                                              : messages.erase(each);
  };
  forget(sends);
  forget(receives);
  forget(credits);
  hasJoined = false;
  finished.clear();
  control.erase(std::remove_if(control.begin(), control.end(),
                               [](const Control &each) {
                                 return each.name.schedule != kControl;
                               }),
                control.end());
}

//===----------------------------------------------------------------------===//
// Frames that leave
//===----------------------------------------------------------------------===//

void Messages::acknowledge(const MessageName &name) {
  queue(FrameKind::Ack, name);
  if (!finished.contains(name))
    finished.insert(name);
}

void Messages::remind(Time now) {
  for (auto &[name, own] : receives) {
    // An ordered link loses no credit, but for one of a round that the peer has
    // not begun; the peer offers its messages then.
    if (own.isOver || own.size <= kEagerBytes || (isOrdered && own.isAsked) ||
        !own.reminder.isDue(now))
      continue;
    queue(FrameKind::Credit, name, own.got, own.size);
    own.isAsked = true;
  }
  for (auto &[name, own] : sends) {
    // The receiver asks for messages that are under way.
    const bool isUnderWay = isOrdered && own.isCredited && own.copy.empty();
    if (own.isOver || isUnderWay || !own.reminder.isDue(now))
      continue;
    if (own.copy.empty())
      queue(FrameKind::Offer, name, 0, own.size);
    else
      own.next = 0;
  }
}

bool Messages::next(Time now, Frame &frame, bool &isNew) {
  isNew = false;
  if (!control.empty()) {
    const Control &first = control.front();
    frame.kind = first.kind;
    frame.name = first.name;
    frame.offset = first.offset;
    frame.size = first.size;
    control.erase(control.begin());
    return true;
  }
  for (auto &[name, out] : sends) {
    if (out.isOver || !out.isCredited || out.next >= out.size)
      continue;
    frame.kind = FrameKind::Data;
    frame.name = name;
    frame.offset = out.next;
    frame.size = out.size;
    frame.payload = out.bytes + out.next;
    out.reminder.heard = out.rewind.heard = now;
    frame.payloadBytes =
        uint32_t(lengths.next(out.onLink, out.next, out.size, secondsOf(now)));
    // Only frames for which the peer has no room are lost then.
    if (hasJoined && isOrdered)
      out.reminder.after = Reminder::kMost;
    out.next += frame.payloadBytes;
    isNew = out.next > out.furthest && out.copy.empty();
    out.furthest = std::max(out.furthest, out.next);
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Frames that come
//===----------------------------------------------------------------------===//

bool Messages::take(const Frame &frame, Time now) {
  hasJoined |= frame.name.schedule != kControl;
  switch (frame.kind) {
  case FrameKind::Credit:
    return takeCredit(frame, now);
  case FrameKind::Data:
    return takeData(frame, now);
  case FrameKind::Offer:
    takeOffer(frame);
    return false;
  case FrameKind::Ack:
    return takeAcknowledgement(frame, now);
  case FrameKind::Greeting:
  case FrameKind::Farewell:
  case FrameKind::Refusal:
    break; // of no message
  }
  return false;
}

bool Messages::takeCredit(const Frame &frame, Time now) {
  auto own = sends.find(frame.name);
  if (own == sends.end()) {
    if (credits.size() < kMostEarly)
      credits[frame.name] = {frame.offset, frame.size};
    return false;
  }
  Outgoing &out = own->second;
  out.expected = frame.size;
  if (frame.size != out.size)
    return false;
  // Messages under way are sent again only where frames get lost, later each
  // time: a link may be slow.
  const bool isUnderWay =
      std::exchange(out.isCredited, true) && out.next > frame.offset;
  if (isUnderWay && (isOrdered || !out.rewind.isDue(now)))
    return false;
  out.next = frame.offset;
  return !isUnderWay;
}

bool Messages::takeData(const Frame &frame, Time now) {
  auto own = receives.find(frame.name);
  if (own == receives.end() || own->second.isOver) {
    const bool isTwice = finished.contains(frame.name);
    const bool isTaken =
        !isTwice && frame.size <= kEagerBytes && frame.offset == 0 &&
        frame.payloadBytes == frame.size && early.size() < kMostEarly;
    if (isTaken)
      early[frame.name].assign(frame.payload, frame.payloadBytes);
    if (isTaken || isTwice)
      acknowledge(frame.name);
    return isTaken;
  }
  Incoming &in = own->second;
  in.offered = frame.size;
  if (frame.size != in.size || frame.offset != in.got)
    return false;
  memcpy(in.bytes + in.got, frame.payload, frame.payloadBytes);
  in.got += frame.payloadBytes;
  in.reminder = Reminder(now);
  in.isOver = in.got == in.size;
  if (in.isOver)
    acknowledge(frame.name);
  return true;
}

void Messages::takeOffer(const Frame &frame) {
  auto own = receives.find(frame.name);
  if (own != receives.end() && !own->second.isOver) {
    own->second.offered = frame.size;
    queue(FrameKind::Credit, frame.name, own->second.got, own->second.size);
  } else if (finished.contains(frame.name)) {
    acknowledge(frame.name);
  }
}

bool Messages::takeAcknowledgement(const Frame &frame, Time now) {
  auto own = sends.find(frame.name);
  if (own == sends.end())
    return false;
  Outgoing &out = own->second;
  const bool isFirst = !std::exchange(out.isOver, true);
  if (isFirst)
    lengths.acknowledge(out.onLink, out.size, secondsOf(now));
  if (!out.copy.empty()) // nobody waits for it
    sends.erase(own);
  return isFirst;
}

} // namespace hone::rt
