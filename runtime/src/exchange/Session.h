//===- Session.h - Messages over a link that may be lost ------------------===//
//
// One session for each pair of programs. A posted receive is the sender's
// credit, so nothing is buffered but numbers; what is sent stays where it is
// until it is acknowledged, so a lost link costs no copy. After a link was lost
// both sides greet again and go on with what each message lacks.
//
// A thread moves frames while the step computes. All that is shared with it is
// under one lock; the engine is the thread's alone, but for wake().
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Frame.h"
#include "hone/engine.h"
#include "platform/Thread.h"
#include "step/Transport.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace hone::rt {

class Session {
public:
  struct Peer {
    const hone_engine *engine;
    std::string address, self, peer;
    uint64_t run; ///< the same on both sides
    /// What must be equal on both sides, by name.
    std::map<std::string, std::string> equal;
    Patience patience;
  };

  /// Errors: PeerLost, StoppedWaiting; PartsDiffer with every difference.
  static Result<std::unique_ptr<Session>> open(Peer peer);
  /// Waits for what is sent to be acknowledged, as long as patience lasts, and
  /// takes leave.
  ~Session();

  Status postSend(const Transport::Message &message, const char *bytes,
                  uint64_t size);
  Status postReceive(const Transport::Message &message, char *bytes,
                     uint64_t size);
  Status wait(const Transport::Message &message);
  void cancel(const Transport::Message &message);

private:
  using Clock = std::chrono::steady_clock;
  struct Outgoing {
    const char *bytes;
    uint64_t size;
    std::string copy; ///< of a small one
    bool isCredited = false, isOver = false;
    uint64_t next = 0;       ///< from where to send, with a credit
    uint64_t expected = 0;   ///< the size that the peer has room for
    Clock::time_point heard; ///< when it was last offered or sent
  };
  struct Incoming {
    char *bytes;
    uint64_t size;
    uint64_t got = 0;
    uint64_t offered = 0; ///< the size that the peer sends
    bool isOver = false;
    Clock::time_point heard;
  };

  explicit Session(Peer peer) : self(std::move(peer)) {}

  static void *runThread(void *session);
  void run();
  bool connect();
  bool greet();
  /// `asks` for the peer's, which may have been lost.
  void encodeGreeting(bool asks);
  /// Sends one frame, if there is any to send; false: the link is lost.
  bool sendNext(bool &hasSent);
  /// Encodes the next frame that there is to send; returns its bytes, or 0.
  uint64_t encodeNext();
  bool sendPending(bool &hasSent);
  bool receiveNext(int milliseconds);
  void handle(const Frame &frame);
  void handleData(const Frame &frame);
  void handleCredit(const Frame &frame);
  void handleGreeting(const Frame &frame);
  /// Asks again for what has not come, offers again what was not taken.
  void remind();
  void queue(FrameKind kind, const MessageName &name, uint64_t offset,
             uint64_t size);
  void finish(const MessageName &name);
  bool isFinished(const MessageName &name) const;
  bool isStopping();
  bool hasOpenSends() const;

  MessageName nameOf(const Transport::Message &message) const;
  Status problemOf(const Transport::Message &message) const;

  Peer self;
  platform::Thread thread;
  bool isStarted = false;
  hone_link *link = nullptr; ///< under the lock only for wake()
  std::vector<char> frameOut, frameIn;
  uint64_t pending = 0; ///< bytes of frameOut that the engine did not take yet

  std::mutex mutex;
  std::condition_variable changed;
  std::map<MessageName, Outgoing> sends;
  std::map<MessageName, Incoming> receives;
  std::map<MessageName, std::string> early; ///< small, not yet asked for
  std::map<MessageName, std::pair<uint64_t, uint64_t>> credits; ///< the same
  std::set<MessageName> finished;
  std::deque<MessageName> finishedOrder;
  std::deque<std::pair<FrameKind,
                       std::pair<MessageName, std::pair<uint64_t, uint64_t>>>>
      control;
  bool isGreeted = false, hasGreeting = false, owesGreeting = false;
  bool isLeaving = false, hasFarewell = false, isEnding = false;
  Clock::time_point farewell; ///< when it was last said
  std::string reason;         ///< why there is no link
  Status failure = Status::ok();
  Clock::time_point lastHeard = Clock::now();
};

/// To each peer by its session.
class SessionTransport final : public Transport {
public:
  void add(const std::string &peer, std::unique_ptr<Session> session) {
    sessions[peer] = std::move(session);
  }
  Status postSend(const Message &message, const char *bytes,
                  uint64_t size) override {
    return of(message).postSend(message, bytes, size);
  }
  Status postReceive(const Message &message, char *bytes,
                     uint64_t size) override {
    return of(message).postReceive(message, bytes, size);
  }
  Status wait(const Message &message) override {
    return of(message).wait(message);
  }
  void cancel(const Message &message) override { of(message).cancel(message); }

private:
  Session &of(const Message &message) { return *sessions.at(message.peer); }
  std::map<std::string, std::unique_ptr<Session>> sessions;
};

} // namespace hone::rt
