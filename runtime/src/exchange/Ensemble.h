//===- Ensemble.h - The programs of one model, in rounds ------------------===//
//
// A round is the work of all programs from a step that all have saved until one
// of them begins anew. The first one, which has the data, leads. Each other
// program has one before it, on the way to the leader, and any may have some
// after it: parts of a model form a chain, ranks all come after the first one.
//
// The leader asks for a round. Each program asks those after it, adds the steps
// that they have saved to its own and says them to the one before it; the
// leader says from which step all go on, and each passes that on. Commands
// travel the same way: each program passes one on before it obeys, and answers
// once all after it have answered.
//
// A program that died and came back is seen by those beside it. The one before
// it says that the round is over, which goes up to the leader, which asks for
// another one. A program in a round that is over gives up its waits
// (isInterrupted), and all meet in beginRound() again. So no process but the
// dead one ends.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/CommonSteps.h"
#include "exchange/Session.h"
#include "step/Command.h"

#include <functional>

namespace hone::rt {

class Ensemble final : public Transport {
public:
  struct Link {
    std::string peer;
    uint64_t payload = kFramePayload; ///< see Session::Peer
  };
  struct About {
    const hone_engine *engine;
    std::string address; ///< which the engine understands
    std::string self, leader;
    std::string before;             ///< none: this one leads
    std::vector<std::string> after; ///< those to which it passes commands on
    /// To those that this one meets: the ones before and after it, and others
    /// with which it exchanges values.
    std::vector<Link> links;
    std::string equal; ///< see Session::Peer
    Patience patience;
  };
  /// The steps that a program has saved, newest first, and the name of their
  /// run. 0: it has none.
  struct Folder {
    std::vector<int64_t> saved;
    uint64_t run = 0;
  };
  /// Where a round begins, how many steps the run has, and its name.
  struct Start {
    uint64_t step, steps, run;
  };

  using Decided = std::function<Status(const Start &)>;

  /// Takes leave of all.
  ~Ensemble() override;

  /// Errors: NoThread.
  static Result<std::unique_ptr<Ensemble>> open(About about);

  /// The sum over all sessions.
  Session::Traffic traffic();

  bool leads() const { return !before; }
  /// Whether a failed wait is to be tried again, from beginRound() on.
  bool isInterrupted() const { return events.load() != seen; }

  /// Begins at the newest step that all have saved. A program without one has
  /// the beginning, step 0, which is every run's as long as no checkpoint of a
  /// run is lost by it. `steps` are the leader's. The run's name is the
  /// leader's, or at a checkpoint the followers', or a new one. Where nobody
  /// needs a leader it and the others wait but a moment for those that are
  /// there. A leader calls `decided`, whose error ends the round, before the
  /// others know of it.
  /// Errors: as Session::open; NoCommonStep.
  Result<Start> beginRound(const Folder &own, uint64_t steps,
                           bool isNeeded = true,
                           const Decided &decided = nullptr);

  /// Tells those after this one, as the leader does first and each of them
  /// next. Errors: as Session::wait.
  Status lead(const Command &command);
  /// Waits until all after this one have obeyed the last command.
  Status awaitAnswers();
  /// The next command, which those after this one are told, too. Errors: as
  /// Session::wait; MessageMisfit.
  Result<Command> follow();
  /// Answers that the last command of follow() is done here and in all programs
  /// after this one. Errors: as awaitAnswers().
  Status answer();
  /// Waits until the program before this one knows of all answers. Where it
  /// gives no sign, the end waits for nobody.
  Status drain();
  /// Begins to take leave of all at the same time, and does not wait.
  void leave();

  Status postSend(const Message &message, const char *bytes,
                  uint64_t size) override;
  Status postReceive(const Message &message, char *bytes,
                     uint64_t size) override;
  Status wait(const Message &message) override;
  void cancel(const Message &message) override;

private:
  explicit Ensemble(About about) : about(std::move(about)) {}
  Result<Start> leadRound(const Folder &own, uint64_t steps, bool isNeeded,
                          const Decided &decided);
  Result<Start> followRound(const Folder &own);
  /// Waits for the next round that the program before this one asks for.
  Result<Session::Asked> awaitAsked();
  /// Never waits twice for a program that did not come.
  Status awaitGreeting(Session &other, const Patience &patience);
  /// Asks all after this one for a round, and adds the steps that they have
  /// saved.
  Status gather(Session::Asked asked, CommonSteps &common);
  /// The round begins here, and all after this one are told where.
  Status enter(uint64_t round, const Start &start);
  Session &of(const Message &message);
  Message control(const Session &session, const char *channel, uint64_t step,
                  bool isSent) const;

  About about;
  std::atomic<uint64_t> events{0};
  uint64_t seen = 0;
  uint64_t rounds = 0; ///< of a leader: the last one
  uint64_t tried = 0;  ///< of one that follows: the last one that it met in
  uint64_t over = 0;   ///< the last one that it said is over
  uint64_t commands = 0;
  std::vector<std::unique_ptr<Session>> sessions; ///< end before the rest
  Session *before = nullptr;
  std::vector<Session *> after;
};

} // namespace hone::rt
