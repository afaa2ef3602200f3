//===- Ensemble.cpp - The programs of one model, in rounds ----------------===//

#include "exchange/Ensemble.h"

#include "exchange/CommonRun.h"
#include "exchange/Pieces.h"
#include "platform/System.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>

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
  const auto equal = std::make_shared<const Session::Equal>(own.equal);
  for (const auto &[peer, payload] : own.links) {
    Session::Peer told{own.engine, own.address, own.self,    peer,
                       /*run=*/1,  equal,       own.patience};
    told.events = &made->events;
    told.seen = &made->seen;
    told.mayHalt = peer == own.leader;
    told.outlives = !made->leads();
    // Among programs that follow nobody decides.
    told.countsRestarts = told.mayHalt || made->leads();
    told.payload = payload;
    HONE_ASSIGN(std::unique_ptr<Session> session,
                Session::start(std::move(told)));
    made->sessions.push_back(std::move(session));
  }
  return made;
}

Ensemble::~Ensemble() { leave(); }

void Ensemble::leave() {
  for (auto &session : sessions)
    session->leave();
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
  return {isOfRound ? Session::kCommand : Session::kControl,
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

using Saved = Ensemble::Saved;

static Saved pack(const Ensemble::Folder &own, size_t most) {
  Saved out{};
  out.back() = own.run;
  if (own.saved.empty()) {
    out[0] = 1; // the beginning
    return out;
  }
  out[0] = std::min(own.saved.size(), most);
  for (size_t i = 0; i < out[0]; ++i)
    out[1 + i] = uint64_t(own.saved[i]);
  return out;
}

static bool has(const Saved &saved, uint64_t step) {
  const auto end =
      saved.begin() + 1 + long(std::min<uint64_t>(saved[0], saved.size() - 2));
  return std::find(saved.begin() + 1, end, step) != end;
}

static uint64_t runOf(const Saved &saved) { return saved.back(); }

/// Of a run that has a name: a checkpoint that it could go on from.
static bool hasCheckpoint(const Saved &saved) {
  return runOf(saved) != 0 && saved[0] > 0 && saved[1] > 0;
}

/// The run that all folders with a name are of; 0: none has one, as those that
/// an older version wrote.
static std::optional<uint64_t> commonRun(const std::vector<Saved> &all) {
  CommonRun run;
  for (const Saved &each : all)
    if (!run.take(runOf(each)))
      return std::nullopt;
  return run.name;
}

/// The newest step that all have and the name of its run, 0 if it has none yet;
/// or why there is none. The leader's are the first of `all`.
static Ensemble::Start newestCommon(const std::vector<Saved> &all,
                                    uint64_t steps) {
  const Saved &own = all.front();
  const std::optional<uint64_t> run = commonRun(all);
  for (size_t i = 0; i < own[0]; ++i) {
    const uint64_t step = own[1 + i];
    if (!std::all_of(all.begin(), all.end(),
                     [&](const Saved &each) { return has(each, step); }))
      continue;
    // A new run of a leader without a name is none of the others'. It has a
    // name before they have it, so checkpoints of theirs are not its own.
    const bool wouldForget =
        step == 0 && std::any_of(all.begin(), all.end(), hasCheckpoint);
    if (!run && (step > 0 || wouldForget))
      return {kOtherRun, steps, 0};
    if (runOf(own) == 0 && wouldForget)
      return {kNewLeader, steps, 0};
    return {step, steps, step > 0 ? *run : runOf(own)};
  }
  return {kNothing, steps, 0};
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

Status Ensemble::askAll(uint64_t round, std::vector<Saved> &others) {
  const char none[8] = "";
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session &session = *sessions[i];
    HONE_TRY(session.postReceive(control(session, kSaved, round, false),
                                 reinterpret_cast<char *>(&others[i]),
                                 sizeof(Saved)));
    HONE_TRY(session.postSend(control(session, Session::kHalt, round, true),
                              none, sizeof(none)));
  }
  for (auto &session : sessions)
    HONE_TRY(session->wait(control(*session, kSaved, round, false)));
  return Status::ok();
}

Result<Ensemble::Start> Ensemble::leadRound(const Folder &own, uint64_t steps,
                                            bool isNeeded,
                                            const Decided &decided) {
  const uint64_t round = ++rounds;
  Patience toGreet = about.patience;
  if (!isNeeded && (toGreet.timeout > kMostMoment || !toGreet.timeout.count()))
    toGreet.timeout = kMostMoment;
  for (auto &session : sessions)
    HONE_TRY(session->awaitGreeting(toGreet));
  std::vector<Saved> others(sessions.size());
  Status status = askAll(round, others);
  if (!status.isOk()) {
    for (auto &session : sessions)
      session->cancel(control(*session, kSaved, round, false));
    return status;
  }
  std::vector<Saved> all = {pack(own, kMostSaved)};
  all.insert(all.end(), others.begin(), others.end());
  Start start = newestCommon(all, steps);
  if (start.run == 0)
    start.run = platform::randomNumber() | 1;
  const Result<Start> checked = startAt(start, about.leader);
  if (decided && checked.isOk())
    HONE_TRY(decided(start));
  const uint64_t begin[3] = {start.step, start.steps, start.run};
  entered = round;
  commands = 0;
  for (auto &session : sessions) {
    session->beginRound(round);
    HONE_TRY(session->postSend(control(*session, kBegin, round, true),
                               reinterpret_cast<const char *>(begin),
                               sizeof(begin)));
  }
  return checked;
}

Result<Ensemble::Start> Ensemble::followRound(const Folder &own) {
  HONE_TRY(leader().awaitGreeting());
  const auto from = std::chrono::steady_clock::now();
  const std::string what = joined({"a round of '", leader().peer(), "'"});
  uint64_t round = 0;
  for (;;) {
    seen = events.load(); // before it is looked for what they are
    round = leader().askedRound();
    if (round != entered && round != 0)
      break;
    if (leader().hasLeft())
      return leader().ended(what);
    HONE_TRY(about.patience.check(
        what, std::chrono::duration_cast<std::chrono::milliseconds>(
                  std::chrono::steady_clock::now() - from)));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  uint64_t begin[3] = {};
  const Saved saved = pack(own, kMostSaved);
  const Message comes = control(leader(), kBegin, round, false);
  HONE_TRY(leader().postReceive(comes, reinterpret_cast<char *>(begin),
                                sizeof(begin)));
  HONE_TRY(leader().postSend(control(leader(), kSaved, round, true),
                             reinterpret_cast<const char *>(&saved),
                             sizeof(saved)));
  if (Status status = leader().wait(comes); !status.isOk()) {
    leader().cancel(comes);
    return status;
  }
  entered = round;
  commands = 0;
  for (auto &session : sessions)
    session->beginRound(round);
  return startAt({begin[0], begin[1], begin[2]}, about.leader);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

Status Ensemble::lead(Command command) {
  const uint64_t told[2] = {uint64_t(command.kind), command.step};
  for (auto &session : sessions)
    HONE_TRY(session->postSend(control(*session, kTold, commands, true),
                               reinterpret_cast<const char *>(told),
                               sizeof(told)));
  ++commands;
  return Status::ok();
}

Status Ensemble::awaitAnswers() {
  uint64_t answer = 0;
  for (auto &session : sessions) {
    const Message done = control(*session, kDone, commands - 1, false);
    HONE_TRY(session->postReceive(done, reinterpret_cast<char *>(&answer),
                                  sizeof(answer)));
    if (Status status = session->wait(done); !status.isOk()) {
      session->cancel(done);
      return status;
    }
  }
  return Status::ok();
}

Result<Command> Ensemble::follow() {
  uint64_t told[2] = {};
  const Message comes = control(leader(), kTold, commands, false);
  HONE_TRY(leader().postReceive(comes, reinterpret_cast<char *>(told),
                                sizeof(told)));
  if (Status status = leader().wait(comes); !status.isOk()) {
    leader().cancel(comes);
    return status;
  }
  ++commands;
  if (told[0] > uint64_t(Command::Kind::Result))
    return failed(
        ErrorCode::MessageMisfit, {comes.describe()},
        {"expects a command but got number ", std::to_string(told[0])},
        "compile all parts in one call");
  return Command{Command::Kind(told[0]), told[1]};
}

Status Ensemble::answer() {
  const uint64_t done = commands;
  return leader().postSend(control(leader(), kDone, commands - 1, true),
                           reinterpret_cast<const char *>(&done), sizeof(done));
}

Status Ensemble::drain() {
  Status status = leader().drain();
  if (!status.isOk() && !isInterrupted())
    for (auto &session : sessions)
      session->giveUp();
  return status;
}

//===----------------------------------------------------------------------===//
// Messages of schedules
//===----------------------------------------------------------------------===//

Session &Ensemble::of(const Message &message) {
  return **std::find_if(
      sessions.begin(), sessions.end(),
      [&](const auto &each) { return each->peer() == message.peer; });
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
