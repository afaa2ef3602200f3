//===- Ensemble.h - The programs of one model, in rounds ------------------===//
//
// A round is what all programs do from a step that all have saved until one of
// them begins anew. The first one, which has the data, leads: it asks for a
// round, is told what each has saved, and says from which step all go on; then
// it says what is done next. A program that died and came back, or that is
// asked for another round, gives up what it waits for (isInterrupted), and all
// meet in beginRound() again. So no process but the dead one ends.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Session.h"
#include "step/Command.h"

#include <array>
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
    /// To those that this one meets: all others if it leads, else the leader
    /// first, and those that it exchanges anything with.
    std::vector<Link> links;
    Session::Equal equal; ///< see Session::Peer
    Patience patience;
  };
  /// What a program has saved, newest first, and the name of the run that it is
  /// of. 0: it has none.
  struct Folder {
    std::vector<int64_t> saved;
    uint64_t run = 0;
  };
  /// Where a round begins, how many steps the run has, and its name.
  struct Start {
    uint64_t step, steps, run;
  };

  using Decided = std::function<Status(const Start &)>;

  /// How many steps a program has saved, the newest of them, and the run's
  /// name.
  using Saved = std::array<uint64_t, 8>;

  /// Takes leave of all.
  ~Ensemble() override;

  /// Errors: NoThread.
  static Result<std::unique_ptr<Ensemble>> open(About about);

  /// Of all sessions.
  Session::Traffic traffic();

  bool leads() const { return about.self == about.leader; }
  /// Whether what failed is to be done again, from beginRound() on.
  bool isInterrupted() const { return events.load() != seen; }

  /// Begins at the newest step that all have saved. A program without one has
  /// the beginning, step 0, which is every run's as long as no checkpoint of a
  /// run is lost by it. `steps` are the leader's. The run's name is the
  /// leader's, or at a checkpoint the followers', or a new one. A leader that
  /// nobody needs waits but a moment for those that are there. A leader calls
  /// `decided`, whose error ends the round, before the others know of it.
  /// Errors: as Session::open; NoCommonStep.
  Result<Start> beginRound(const Folder &own, uint64_t steps,
                           bool isNeeded = true,
                           const Decided &decided = nullptr);

  /// Tells all others. Errors: as Session::wait.
  Status lead(Command command);
  /// That all have done what they were told last.
  Status awaitAnswers();
  /// The next command. Errors: as Session::wait; MessageMisfit.
  Result<Command> follow();
  /// That the command which follow() gave last is done.
  Status answer();
  /// Waits until the leader knows of all answers. Where it gives no sign, the
  /// end waits for nobody.
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
  /// Steps that a program says it has saved, at most; a message of them is
  /// small.
  static constexpr size_t kMostSaved = 6;

  explicit Ensemble(About about) : about(std::move(about)) {}
  /// Asks all for `round`, and what they have saved.
  Status askAll(uint64_t round, std::vector<Saved> &others);
  Result<Start> leadRound(const Folder &own, uint64_t steps, bool isNeeded,
                          const Decided &decided);
  Result<Start> followRound(const Folder &own);
  Session &leader() { return *sessions.front(); }
  Session &of(const Message &message);
  Message control(const Session &session, const char *channel, uint64_t step,
                  bool isSent) const;

  About about;
  std::atomic<uint64_t> events{0};
  uint64_t seen = 0;
  uint64_t rounds = 0;  ///< of a leader: the last one
  uint64_t entered = 0; ///< the round that is under way
  uint64_t commands = 0;
  std::vector<std::unique_ptr<Session>> sessions; ///< end before the rest
};

} // namespace hone::rt
