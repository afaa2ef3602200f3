//===- Network.h - Messages between programs in virtual time --------------===//
//
// It times the frames that a session (runtime/src/exchange) sends for a
// message: a receive that is posted is a credit, data goes in frames once there
// is one, and a message that is complete is acknowledged. Nothing is lost here,
// so nothing is sent again. A program has one way out and one way in, each of
// the link's rate, which all of its peers share frame by frame.
//
// Time is in seconds. No clock and no thread is in here: the caller says when,
// and advance() goes from one event to the next.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Frame.h"
#include "exchange/FrameLength.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace hone::simulate {

/// HTTP/2's, by which a frame begins.
constexpr uint64_t kFirstBytes = 16 * 1024;

struct Link {
  double bytesPerSecond = 0; ///< 0: without bound
  double latency = 0;        ///< one way
  /// Of a frame, so much leaves before the receiver has said that it reads it,
  /// which it does when the first kFirstBytes are there; 0: all of it.
  uint64_t window = 0;
  /// Open MPI over TCP: a frame beyond the window only announces itself, and
  /// leaves as a whole when the receiver has asked for it, in its turn on the
  /// way out. And a frame that comes wakes no program: each looks for frames
  /// after an eighth of the time for which its link was quiet. At a look the
  /// frames that were asked for leave first, and announced ones are asked for
  /// then.
  bool isMpi = false;
  /// Of a frame, at most; as of any link before one has shown that it is quick.
  uint64_t payload = rt::kFramePayload;
};

/// Of Open MPI over TCP: a longer frame is announced.
constexpr uint64_t kMpiEagerBytes = 64 * 1024;
/// Of MPI's engine: the most that a program sleeps between two looks.
constexpr double kMostSleep = 5e-3;
/// Of frames between so many programs that meet over gRPC, at most.
uint64_t grpcPayload(size_t programs);

class Network {
public:
  /// A message between two of the programs, which are numbered from 0.
  struct Key {
    uint32_t from = 0, to = 0;
    rt::MessageName name;

    bool operator<(const Key &o) const {
      return std::tie(from, to, name) < std::tie(o.from, o.to, o.name);
    }
  };

  Network(uint32_t programs, Link link);

  /// Posts one side of a message, of `size` bytes. `time` is not before that of
  /// an event that advance() has been at.
  void postSend(const Key &key, uint64_t size, double time);
  void postReceive(const Key &key, uint64_t size, double time);

  /// When a wait for that side of a posted message is over; none: it is not
  /// decided yet.
  std::optional<double> endOf(const Key &key, bool isSent) const;
  /// Whether the two sides have posted different sizes.
  bool misfits(const Key &key) const;
  /// Nobody asks for that side again.
  void forget(const Key &key, bool isSent);

  /// Goes to the next event, and says of which message it is: no other one's
  /// ends have changed. None: there is no event.
  std::optional<Key> advance();

  /// Bytes of frames that have left `program`, and that have reached it.
  uint64_t sentBy(uint32_t program) const { return nodes[program].sent; }
  uint64_t receivedBy(uint32_t program) const {
    return nodes[program].received;
  }

private:
  struct Travel {
    uint64_t sent = 0, wanted = 0; ///< sizes, as both sides have posted them
    bool isSending = false, isReceiving = false, isCredited = false;
    uint64_t next = 0; ///< how much of it has left
    double ready = 0;  ///< when it could be sent
    rt::FrameLength::Message onLink;
    uint64_t got = 0;
    std::optional<double> received, acknowledged;
    bool isSendForgotten = false, isReceiveForgotten = false;
  };
  struct Frame {
    rt::FrameKind kind = rt::FrameKind::Data;
    Key message; ///< of which it is, in either direction
    uint64_t payload = 0;
    uint64_t bytes = 0;     ///< of this part of it
    bool isLast = true;     ///< part
    bool isRequest = false; ///< MPI's, for an announced frame

    uint32_t from() const { return isBack() ? message.to : message.from; }
    uint32_t to() const { return isBack() ? message.from : message.to; }

  private:
    bool isBack() const { return kind != rt::FrameKind::Data; }
  };
  /// A session's frames to send.
  struct Session {
    explicit Session(const Link &link) : lengths(link.payload) {}

    rt::FrameLength lengths;
    std::deque<Frame> control;
    std::set<rt::MessageName> data;
    std::optional<Frame> rest; ///< of a frame that has begun, or all of it
    double open = 0;           ///< when it may leave
    /// When the two frames before had left the engine; it takes one while
    /// another leaves.
    double last = 0, beforeLast = 0;

    void leave(double time) { beforeLast = std::exchange(last, time); }
    std::deque<Frame> requests;
    double quietSince = 0; ///< the last frame that came or left
    double lookedAt = 0;   ///< when the last frame was found
  };
  struct Node {
    std::map<uint32_t, Session> peers;
    uint32_t last = 0;      ///< the peer whose frame left last
    bool isSending = false; ///< a frame is on its way out
    double freeIn = 0;      ///< when the way in is free
    uint64_t sent = 0, received = 0;
  };
  struct Event {
    enum Kind { PostSend, PostReceive, Opens, Left, Comes, Arrives, Asks };
    double time;
    uint64_t number; ///< in the order of which events of one time happen
    Kind kind;
    Frame frame;
    uint64_t size; ///< of a message that is posted

    bool operator<(const Event &o) const { // the queue's top is the largest
      return std::tie(o.time, o.number) < std::tie(time, number);
    }
  };

  Session &sessionOf(uint32_t program, uint32_t peer) {
    return nodes[program].peers.try_emplace(peer, link).first->second;
  }
  void add(double time, Event::Kind kind, Frame frame, uint64_t size = 0) {
    events.push({time, next++, kind, std::move(frame), size});
  }
  double seconds(uint64_t bytes) const {
    return link.bytesPerSecond > 0 ? double(bytes) / link.bytesPerSecond : 0;
  }
  /// How late `time` is seen on a link that was quiet since then, on average.
  double lateness(double time, double quietSince) const;
  void send(const Key &key, Travel &travel, double time);
  void sendControl(rt::FrameKind kind, const Key &key, double time);
  /// Lets the next frame of `program` out, if it is free.
  void begin(uint32_t program, double time);
  /// The frame that leaves next, if one may at `time`.
  std::optional<Frame> take(Session &session, uint32_t from, uint32_t to,
                            double time);
  std::optional<Frame> takeWhole(Session &session, uint32_t from, uint32_t to,
                                 double time);
  /// The receiver knows of a frame.
  void askFor(const Frame &announced, double time);
  void arrive(const Frame &frame, double time);
  void clean(const Key &key);

  Link link;
  std::vector<Node> nodes;
  std::map<Key, Travel> travels;
  std::priority_queue<Event> events;
  uint64_t next = 0;
};

} // namespace hone::simulate
