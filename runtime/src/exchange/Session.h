//===- Session.h - Messages over a link that may be lost ------------------===//
//
// One session for each pair of programs. A posted receive is the sender's
// credit, so nothing is buffered but numbers; a sent message stays in its place
// until it is acknowledged, so a lost link costs no copy. After a link was lost
// both sides greet again and go on with the bytes that each message lacks.
//
// The work of programs between two failures is a round (Ensemble.h), and a
// message belongs to one: frames that come late from a round that was given up
// are dropped. Messages of kControl are of no round; they are small.
//
// A wait ends after the patience of its program without progress: bytes that
// were not there before, or an answer to a message. That the peer is alive is
// none, since its thread says so of a program that hangs.
//
// A peer that sends a message that no schedule has is told so and ends. A side
// that
// does not lead lives on: it gives up the round and waits for another process
// in the peer's place. A side that leads ends.
//
// A thread moves frames while the step computes. All that is shared with it is
// under one lock; the engine is the thread's alone, but for wake(). Messages.h
// makes the messages whole.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Messages.h"
#include "hone/engine.h"
#include "platform/Thread.h"
#include "step/Transport.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace hone::rt {

class Session {
public:
  struct Peer {
    const hone_engine *engine;
    std::string address, self, peer;
    uint64_t run; ///< the same on both sides
    /// Values that must be equal on both sides: a line "name=value" for each.
    /// Of many parts it is long.
    std::shared_ptr<const std::string> equal;
    Patience patience;
    /// Counts the events that end a round: the peer began anew, or asks for
    /// another round. A wait ends once it is not `*seen`. Null: nothing does.
    std::atomic<uint64_t> *events = nullptr;
    const uint64_t *seen = nullptr;
    bool mayHalt = false; ///< whether the peer asks for rounds
    /// Of a peer that is asked for rounds: the session with the program that
    /// waits for the peer's answers, and is told when the peer has met a
    /// program. Outlives this one.
    Session *waiting = nullptr;
    bool outlives = false; ///< a peer whose message no schedule has
    bool countsRestarts = true;
    uint64_t payload = kFramePayload; ///< of a frame, at most, on both sides
  };

  /// The purpose of messages of a round that are of no schedule.
  static constexpr uint32_t kCommand = Transport::Message::kOfNoSchedule;
  /// A round that a peer asks for. Where nobody needs it, answers are waited
  /// for but a moment.
  struct Asked {
    uint64_t round = 0; ///< 0: it asked for none
    bool isNeeded = true;
  };

  /// Errors: PeerLost, StoppedWaiting; PartsDiffer with every difference.
  static Result<std::unique_ptr<Session>> open(Peer peer);
  /// The same, but does not wait for the peer. Errors: NoThread.
  static Result<std::unique_ptr<Session>> start(Peer peer);
  /// Waits for the peer. Errors: as open().
  Status awaitGreeting() { return awaitGreeting(self.patience); }
  Status awaitGreeting(const Patience &patience);
  /// Waits for acknowledgements of all messages, as long as patience lasts
  /// since leave(), and takes leave.
  ~Session();
  /// Begins to take leave and does not wait, so that several sessions do so at
  /// the same time. The peer hears which program is `busy`, if that is why.
  void leave(const std::string &busy = "");
  /// The end of the session waits for nothing.
  void giveUp();
  /// Nor does it say anything: the peer waits for another process.
  void keepSilent();

  Status postSend(const Transport::Message &message, const char *bytes,
                  uint64_t size);
  Status postReceive(const Transport::Message &message, char *bytes,
                     uint64_t size);
  Status wait(const Transport::Message &message);
  void cancel(const Transport::Message &message);
  /// Posts a receive and waits; cancels it on an error.
  Status receive(const Transport::Message &message, void *bytes, uint64_t size);

  /// Waits until all that was sent is acknowledged. Errors: as wait(); after
  /// one of patience nothing is waited for any more.
  Status drain();
  /// Asks the peer for a round; any other one is over.
  Status halt(const Asked &round);
  /// Waits until the peer's process has heard that, or taken leave: its thread
  /// hears it at any time, so one that does not is not there.
  Status awaitHeard(uint64_t round, const Patience &patience);
  /// Says that a round for which the peer was asked is over. It counts among
  /// the peer's events.
  Status tellOver(uint64_t round);
  /// Says that a program is there for which the peer waits, since this one
  /// waits for it.
  Status tellMet(uint64_t round);
  /// The peer's last request.
  Asked asks();
  /// Says that a round for which the peer asked is over and another one needed.
  /// It counts among the peer's events, unless it has asked for another one.
  Status askAgain(uint64_t round);
  /// Whether the peer has greeted.
  bool isMet();
  /// Whether the peer refused a message of this side.
  bool isRefused();
  /// An error of the wait for `what` once the peer's process took leave.
  Status checkThere(const std::string &what);
  /// The program that trains with others and not with this one, or not with
  /// the peer, which has left for that; empty: none.
  std::string whoIsBusy();
  /// Forgets early messages, and all others but those of kControl; frames of
  /// other rounds are dropped.
  void beginRound(uint64_t round);
  const std::string &peer() const { return self.peer; }

  /// Since the program began.
  struct Traffic {
    uint64_t sent = 0, received = 0; ///< bytes of frames
    double waited = 0;               ///< seconds of the step's thread
  };
  Traffic traffic();

private:
  using Clock = std::chrono::steady_clock;
  /// The longest greeting that tells all; longer ones are cut off.
  static constexpr uint64_t kMostGreetingBytes = 64 * 1024;
  static constexpr const char *kRemedyIfBusy =
      "wait for its run to end, or start a program of your own";
  explicit Session(Peer peer);

  static void *runThread(void *session);
  void run();
  void connect();
  /// Why an engine says that it is of no use to try again; ok: it does not.
  Status refusalOf(int number, const char *why) const;
  void greet();
  /// Waits until the peer, too, knows the differences: it would else wait for a
  /// program that is gone.
  void tellDifferences();
  void progress() { lastProgress = Clock::now(); }
  /// The peer sent a message that no schedule has.
  void refuse(const Frame &frame, const char *problem);
  /// Tells the peer, and ends the session or gives up the round.
  void refuse(Status why);
  /// The values that must be equal, those of every link as well.
  std::string allEqual() const;
  /// `asks` for the peer's, which may have been lost.
  void encodeGreeting(bool asks);
  void encodeRefusal();
  /// For frames with so much payload.
  void makeRoom(uint64_t payload);
  /// Sends one frame, if there is any to send; false: the link is lost.
  bool sendNext(bool &hasSent);
  /// Encodes the next frame that there is to send; returns its bytes, or 0.
  uint64_t encodeNext();
  bool sendPending(bool &hasSent);
  /// Takes one frame, if there is any; false: the link is lost.
  bool receiveNext(int milliseconds);
  /// Takes frames that came over an ordered link that is lost for sending: the
  /// peer's farewell may be among it.
  void takeRest();
  /// Until the next reminder may be due, in milliseconds.
  int pause();
  void handle(const Frame &frame);
  void handleData(const Frame &frame);
  /// Takes a message's frame.
  void take(const Frame &frame);
  void handleGreeting(const Frame &frame);
  /// A small message of no round, by one of these channels.
  Status tell(const char *channel, uint64_t round, uint64_t number);
  /// Handles a message of kControl on a channel that nobody posts a receive
  /// for; false: it is another.
  bool handleAsked(const Frame &frame);
  /// Says again whatever was said long ago.
  void remind(Clock::time_point now);
  void wake();
  bool isStopping();
  /// Whether a round was given up since its program looked.
  bool isInterrupted() const {
    return self.events && self.events->load() != *self.seen;
  }
  /// The round of a message; that of frames without one.
  uint64_t runOf(const MessageName &name) const {
    return name.schedule == kControl ? self.run : round;
  }
  bool hasOpenSends() const;
  /// Whether another process may come in this one's place, so that the peer is
  /// not told that it has gone.
  bool mayComeBack() const;
  /// Whether its end waits for nothing.
  bool endsAtOnce() const;
  /// Whether no link has brought the peer's greeting.
  bool isApart() const { return !link || !hasGreeting; }
  /// The thread's last message: why the peer is refused, or that this side has
  /// gone. Does not wait until it is heard.
  void sayLast();
  void beginToLeave();

  MessageName nameOf(const Transport::Message &message) const;
  /// Whether to go on waiting for `what`, since `begin`. The lock is held.
  Status goOn(const std::string &what, Clock::time_point begin);
  /// As checkThere(). The lock is held.
  Status problemOfLeave(const std::string &what) const;

  Peer self;
  platform::Thread thread;
  bool isStarted = false;
  hone_link *link = nullptr;                 ///< under the lock only for wake()
  std::unique_ptr<char[]> frameOut, frameIn; ///< resident as far as used
  uint64_t room = 0;                         ///< of either, for a payload
  uint64_t pending = 0; ///< bytes of frameOut that the engine did not take yet
  bool isNew = false;   ///< whether they were never sent before
  bool isFarewell = false; ///< whether they are this side's

  std::mutex mutex;
  std::condition_variable changed;
  Messages messages;
  std::string digest; ///< of the values that must be equal
  bool isGreeted = false, hasGreeting = false, owesGreeting = false;
  /// Whether the peer's digest is another one, so that both tell all.
  bool tellsAll = false;
  /// The error of a peer's message that no schedule has; empty: none.
  std::string refusal;
  bool owesRefusal = false;
  bool isKnown = false;   ///< to the peer: this side's greeting
  bool isGivenUp = false; ///< a wait has ended without a sign of the peer
  bool isSilent = false;  ///< see keepSilent()
  bool isLeaving = false, hasFarewell = false, isEnding = false;
  bool hasTakenLeave = false; ///< the engine took this side's farewell
  std::string busy;           ///< as whoIsBusy() and leave()
  Clock::time_point leftAt;   ///< when it began to take leave
  Reminder farewell = Reminder::due();
  std::string reason; ///< why there is no link
  Status failure = Status::ok();
  Clock::time_point lastProgress = Clock::now(), lastSent;
  std::chrono::milliseconds silence{0}; ///< before the next sign of life
  Traffic total;
  const uint64_t incarnation;   ///< another one each time a program begins
  uint64_t peerIncarnation = 0; ///< 0: it has not greeted
  uint64_t round;
  Asked asked;
  uint64_t halted = 0; ///< the round that the peer was asked for last
  /// How many this process has asked for, and the newest request that was heard
  /// of the peer's process.
  uint64_t requests = 0, heard = 0;
  uint64_t over = 0; ///< the one that the peer said is over
};

} // namespace hone::rt
