//===- Ensemble.cpp - The programs of one model, in rounds ----------------===//

#include "exchange/Ensemble.h"

#include "exchange/Pieces.h"
#include "platform/System.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

namespace hone::rt {

/// Steps that are none: nothing is common, or only of different runs, or the
/// others would lose checkpoints of a run that the leader knows nothing of.
static constexpr uint64_t kNothing = UINT64_MAX, kOtherRun = UINT64_MAX - 1,
                          kNewLeader = UINT64_MAX - 2;
/// For the greeting of a program that needs nothing any more, at most.
static constexpr std::chrono::milliseconds kMostMoment{5000};

static constexpr const char *kSaved = "saved", *kBegin = "begin",
                            *kTold = "command", *kDone = "done";

Result<std::unique_ptr<Ensemble>> Ensemble::open(About about) {
  std::unique_ptr<Ensemble> made(new Ensemble(std::move(about)));
  const About &own = made->about;
  made->rounds = platform::randomNumber() << 32;
  const auto equal = std::make_shared<const std::string>(own.equal);
  for (const auto &[peer, payload] : own.links) {
    const bool isBefore = peer == own.before;
    const bool isAfter =
        std::count(own.after.begin(), own.after.end(), peer) > 0;
    Session::Peer told{own.engine, own.address, own.self,    peer,
                       /*run=*/1,  equal,       own.patience};
    told.events = &made->events;
    told.seen = &made->seen;
    told.mayHalt = isBefore;
    told.outlives = !own.before.empty();
    // Other peers have no part in rounds.
    told.countsRestarts = isBefore || isAfter;
    told.payload = payload;
    if (isAfter)
      told.waiting = made->before;
    HONE_ASSIGN(std::unique_ptr<Session> session,
                Session::start(std::move(told)));
    if (isBefore)
      made->before = session.get();
    if (isAfter)
      made->after.push_back(session.get());
    made->sessions.push_back(std::move(session));
  }
  return made;
}

Ensemble::~Ensemble() {
  leave();
  // Sessions with programs after this one use the session with the one before
  // it, which is the first.
  while (!sessions.empty())
    sessions.pop_back();
}

void Ensemble::leave() {
  // A program that is refused may come back, so nobody is told that it has
  // gone: the one that refused it waits for another process, and so do the
  // others.
  const bool isRefused =
      std::any_of(sessions.begin(), sessions.end(),
                  [](auto &session) { return session->isRefused(); });
  // A program that is busy tells only those that it refuses.
  std::string busy;
  for (auto &session : sessions)
    if (busy.empty())
      busy = session->whoIsBusy();
  for (auto &session : sessions)
    if (isRefused)
      session->keepSilent();
    else
      session->leave(busy);
}

Session::Traffic Ensemble::traffic() {
  Session::Traffic all;
  for (auto &session : sessions) {
    const Session::Traffic own = session->traffic();
    all.sent += own.sent;
    all.received += own.received;
    all.waited += own.waited;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

Transport::Message Ensemble::control(const Session &session,
                                     const char *channel, uint64_t step,
                                     bool isSent) const {
  const bool isOfRound = channel == kTold || channel == kDone;
  return {isOfRound ? Session::kCommand : kControl,
          step,
          channel,
          /*index=*/0,
          session.peer().c_str(),
          isSent};
}

Result<Ensemble::Start> Ensemble::beginRound(const Folder &own, uint64_t steps,
                                             bool isNeeded,
                                             const Decided &decided) {
  for (;;) {
    seen = events.load();
    Result<Start> start =
        leads() ? leadRound(own, steps, isNeeded, decided) : followRound(own);
    if (start.isOk() || !isInterrupted())
      return start;
  }
}

/// The newest step that `all` have, that of the leader as well, and the name of
/// its run, 0 if it has none yet; or why there is none.
static Ensemble::Start newestCommon(const CommonSteps &all, uint64_t ofLeader,
                                    uint64_t steps) {
  const std::optional<uint64_t> step = all.newest(), run = all.run();
  if (!step)
    return {kNothing, steps, 0};
  // A new run of a leader without a name is none of the others'. It has a
  // name before they have it, so checkpoints of theirs are not its own.
  const bool wouldForget = *step == 0 && all.hasCheckpoint();
  if (!run && (*step > 0 || wouldForget))
    return {kOtherRun, steps, 0};
  if (ofLeader == 0 && wouldForget)
    return {kNewLeader, steps, 0};
  return {*step, steps, *step > 0 ? *run : ofLeader};
}

/// Where a round begins, or that nothing is common.
static Result<Ensemble::Start> startAt(const Ensemble::Start &start,
                                       const std::string &leader) {
  auto refuse = [](Pieces problem) {
    return failed(
        ErrorCode::NoCommonStep, {"--output"}, problem,
        "give each program the folder of the same run, or new ones to all");
  };
  switch (start.step) {
  case kNothing:
    return refuse({"expects a checkpoint of one step in the folders of all "
                   "programs, but there is none"});
  case kOtherRun:
    return refuse({"expects the folders of one run, but those of the programs "
                   "are of different runs"});
  case kNewLeader:
    return refuse({"expects the folder of the run that others have checkpoints "
                   "of, but that of the program '",
                   leader, "' is new"});
  default:
    return start;
  }
}

Status Ensemble::awaitGreeting(Session &other, const Patience &patience) {
  Status status = other.awaitGreeting(patience);
  if (!status.isOk())
    seen = events.load();
  return status;
}

Status Ensemble::gather(Session::Asked asked, CommonSteps &common) {
  // Nobody waits for acknowledgements of the round before.
  for (auto &session : sessions)
    session->beginRound(asked.round);
  Patience toGreet = about.patience;
  if (!asked.isNeeded &&
      (toGreet.timeout > kMostMoment || !toGreet.timeout.count()))
    toGreet.timeout = kMostMoment;
  for (Session *each : after) {
    const bool isThere = each->isMet();
    HONE_TRY(awaitGreeting(*each, toGreet));
    // A program that waits for this one learns the reason for the delay.
    if (!isThere && before)
      HONE_TRY(before->tellMet(asked.round));
  }
  for (Session *each : after)
    HONE_TRY(each->halt(asked));
  for (Session *each : after) {
    if (!asked.isNeeded)
      HONE_TRY(each->awaitHeard(asked.round, toGreet));
    CommonSteps::Words saved;
    HONE_TRY(each->receive(control(*each, kSaved, asked.round, false), &saved,
                           sizeof(saved)));
    common.add(CommonSteps(saved));
  }
  return Status::ok();
}

Status Ensemble::enter(uint64_t round, const Start &start) {
  const uint64_t begin[3] = {start.step, start.steps, start.run};
  commands = 0;
  for (Session *each : after)
    HONE_TRY(each->postSend(control(*each, kBegin, round, true),
                            reinterpret_cast<const char *>(begin),
                            sizeof(begin)));
  return Status::ok();
}

Result<Ensemble::Start> Ensemble::leadRound(const Folder &own, uint64_t steps,
                                            bool isNeeded,
                                            const Decided &decided) {
  const uint64_t round = ++rounds;
  CommonSteps all(own.saved, own.run);
  HONE_TRY(gather({round, isNeeded}, all));
  Start start = newestCommon(all, own.run, steps);
  if (start.run == 0)
    start.run = platform::randomNumber() | 1;
  const Result<Start> checked = startAt(start, about.leader);
  if (decided && checked.isOk())
    HONE_TRY(decided(start));
  HONE_TRY(enter(round, start));
  return checked;
}

Result<Session::Asked> Ensemble::awaitAsked() {
  HONE_TRY(awaitGreeting(*before, about.patience));
  const auto from = std::chrono::steady_clock::now();
  const std::string what = joined({"a round of '", before->peer(), "'"});
  for (;;) {
    seen = events.load(); // before they are looked for
    const Session::Asked asked = before->asks();
    if (events.load() != seen)
      continue; // the request would interrupt its own round
    if (asked.round != tried && asked.round != 0)
      return asked;
    // The last round is over, which is said once. Those after this one wait for
    // the next from now on, too.
    if (std::exchange(over, tried) != tried) {
      HONE_TRY(before->askAgain(tried));
      for (Session *each : after)
        HONE_TRY(each->tellOver(tried));
    }
    HONE_TRY(before->checkThere(what));
    if (Status status = about.patience.check(
            what, std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::steady_clock::now() - from));
        !status.isOk()) {
      before->giveUp();
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result<Ensemble::Start> Ensemble::followRound(const Folder &own) {
  HONE_ASSIGN(const Session::Asked asked, awaitAsked());
  tried = asked.round;
  CommonSteps common(own.saved, own.run);
  HONE_TRY(gather(asked, common));
  uint64_t begin[3] = {};
  const CommonSteps::Words saved = common.words();
  HONE_TRY(before->postSend(control(*before, kSaved, asked.round, true),
                            reinterpret_cast<const char *>(&saved),
                            sizeof(saved)));
  HONE_TRY(before->receive(control(*before, kBegin, asked.round, false), begin,
                           sizeof(begin)));
  const Start start{begin[0], begin[1], begin[2]};
  HONE_TRY(enter(asked.round, start));
  return startAt(start, about.leader);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

Status Ensemble::lead(const Command &command) {
  const uint64_t told[2] = {uint64_t(command.kind), command.step};
  for (Session *each : after)
    HONE_TRY(each->postSend(control(*each, kTold, commands, true),
                            reinterpret_cast<const char *>(told),
                            sizeof(told)));
  ++commands;
  return Status::ok();
}

Status Ensemble::awaitAnswers() {
  uint64_t answer = 0;
  for (Session *each : after)
    HONE_TRY(each->receive(control(*each, kDone, commands - 1, false), &answer,
                           sizeof(answer)));
  return Status::ok();
}

Result<Command> Ensemble::follow() {
  uint64_t told[2] = {};
  const Message comes = control(*before, kTold, commands, false);
  HONE_TRY(before->receive(comes, told, sizeof(told)));
  if (told[0] > uint64_t(Command::Kind::Result))
    return failed(
        ErrorCode::MessageMisfit, {comes.describe()},
        {"expects a command but got number ", std::to_string(told[0])},
        "compile all parts in one call");
  const Command command{Command::Kind(told[0]), told[1]};
  HONE_TRY(lead(command));
  return command;
}

Status Ensemble::answer() {
  HONE_TRY(awaitAnswers());
  const uint64_t done = commands;
  return before->postSend(control(*before, kDone, commands - 1, true),
                          reinterpret_cast<const char *>(&done), sizeof(done));
}

Status Ensemble::drain() {
  Status status = before->drain();
  if (!status.isOk() && !isInterrupted())
    for (auto &session : sessions)
      session->giveUp();
  return status;
}

//===----------------------------------------------------------------------===//
// Messages of schedules
//===----------------------------------------------------------------------===//

Session &Ensemble::of(const Message &message) {
  const auto found =
      std::find_if(sessions.begin(), sessions.end(), [&](const auto &each) {
        return each->peer() == message.peer;
      });
  if (found == sessions.end()) // a schedule of parts in another order
    std::abort();
  return **found;
}

Status Ensemble::postSend(const Message &message, const char *bytes,
                          uint64_t size) {
  return of(message).postSend(message, bytes, size);
}
Status Ensemble::postReceive(const Message &message, char *bytes,
                             uint64_t size) {
  return of(message).postReceive(message, bytes, size);
}
Status Ensemble::wait(const Message &message) {
  return of(message).wait(message);
}
void Ensemble::cancel(const Message &message) { of(message).cancel(message); }

} // namespace hone::rt
