//===- Ensemble.cpp - The programs of one model, in rounds ----------------===//

#include "exchange/Ensemble.h"

#include "exchange/Pieces.h"
#include "platform/System.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>

namespace hone::rt {

/// Steps that are none: nothing is common, or only of different runs.
static constexpr uint64_t kNothing = UINT64_MAX, kOtherRun = UINT64_MAX - 1;
/// For the greeting of a program that needs nothing any more, at most.
static constexpr std::chrono::milliseconds kMostMoment{5000};

static constexpr const char *kSaved = "saved", *kBegin = "begin",
                            *kTold = "command", *kDone = "done";

Result<std::unique_ptr<Ensemble>> Ensemble::open(About about) {
  std::unique_ptr<Ensemble> made(new Ensemble(std::move(about)));
  const About &own = made->about;
  made->rounds = platform::randomNumber() << 32;
  for (const std::string &peer : own.peers) {
    Session::Peer told{own.engine, own.address, own.self,    peer,
                       /*run=*/1,  own.equal,   own.patience};
    told.events = &made->events;
    told.seen = &made->seen;
    told.mayHalt = peer == own.leader;
    told.outlives = !made->leads();
    // Among programs that follow nobody decides.
    told.countsRestarts = told.mayHalt || made->leads();
    told.payload = own.payload;
    HONE_ASSIGN(std::unique_ptr<Session> session,
                Session::start(std::move(told)));
    made->sessions.push_back(std::move(session));
  }
  return made;
}

Ensemble::~Ensemble() {
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

/// Folders that an older version wrote have no name.
static bool isOfOneRun(uint64_t run, uint64_t other) {
  return run == other || run == 0 || other == 0;
}

/// The newest step that all have, or why there is none; the leader's are `own`.
static uint64_t newestCommon(const Saved &own,
                             const std::vector<Saved> &others) {
  uint64_t none = kNothing;
  for (size_t i = 0; i < own[0]; ++i) {
    const uint64_t step = own[1 + i];
    if (!std::all_of(others.begin(), others.end(),
                     [&](const Saved &each) { return has(each, step); }))
      continue;
    if (step == 0 ||
        std::all_of(others.begin(), others.end(), [&](const Saved &each) {
          return isOfOneRun(own.back(), each.back());
        }))
      return step;
    none = kOtherRun;
  }
  return none;
}

/// Where a round begins, or that nothing is common.
static Result<Ensemble::Start> startAt(const Ensemble::Start &start) {
  if (start.step != kNothing && start.step != kOtherRun)
    return start;
  return failed(
      ErrorCode::NoCommonStep, {"--output"},
      {start.step == kNothing
           ? "expects a checkpoint of one step in the folders of all "
             "programs, but there is none"
           : "expects the folders of one run, but those of the programs are "
             "of different runs"},
      "give each program the folder of the same run, or new ones to all");
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
  const Start start{newestCommon(pack(own, kMostSaved), others), steps,
                    own.run ? own.run : platform::randomNumber() | 1};
  const Result<Start> checked = startAt(start);
  if (decided && checked.isOk())
    decided(start);
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
  return startAt({begin[0], begin[1], begin[2]});
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
