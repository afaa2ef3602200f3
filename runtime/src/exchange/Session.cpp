//===- Session.cpp - Messages over a link that may be lost ----------------===//

#include "exchange/Session.h"

#include "base/Sha256.h"
#include "exchange/LinkPlan.h"
#include "exchange/Pieces.h"
#include "platform/System.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace hone::rt {

using std::chrono::milliseconds;

/// A message of which nothing was heard for so long is mentioned again; then
/// after twice the time, up to the second.
static constexpr milliseconds kReminder{100}, kMostReminder{3200};
static_assert(HONE_FRAME_BYTES == kFrameHeader + kMostFramePayload);
/// Between two attempts to connect, at most; the first waits a 16th of it.
static constexpr milliseconds kMostBackOff{2000};
/// For acknowledgements of a program that ends, at most.
static constexpr milliseconds kMostLeave{20000};
/// For the peer's farewell: if it is there, it waits for what this side says
/// last, on a link that may have to be made anew.
static constexpr milliseconds kMostFarewell{5000};
/// For what came over a link before it was lost, if the engine does not say
/// that nothing else comes.
static constexpr milliseconds kMostRest{1000};
/// After so long without a frame the peer is told that this side is there; then
/// after twice the time, up to the second: a slow link has room for more than
/// that.
static constexpr milliseconds kSignOfLife{1000}, kMostSilence{32000};
/// Small messages that came early, and credits, each.
static constexpr size_t kMostEarly = 4096;
/// Of a thread, eight times what has been seen in use; with AddressSanitizer,
/// at -O1, 76 KiB are.
static constexpr uint64_t kStack = 96 * 1024;
/// Of the time for which a program waits, what a long frame takes at most.
static constexpr double kFramesOfPatience = 40;
/// Of a session for which nothing is posted, between two looks.
static constexpr int kIdle = 250, kBusy = 20;

static double secondsOf(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// That a long frame takes: each that comes is progress, and a program that
/// waits is to see some in time.
static double frameSeconds(const Patience &patience) {
  const double waits = std::chrono::duration<double>(patience.timeout).count();
  return waits > 0 ? std::min(kFrameSeconds, waits / kFramesOfPatience)
                   : kFrameSeconds;
}

//===----------------------------------------------------------------------===//
// For the step's thread
//===----------------------------------------------------------------------===//

Session::Session(Peer peer)
    : self(std::move(peer)), lengths(self.payload, frameSeconds(self.patience)),
      finished(LinkPlan::namesRemembered(*self.engine)),
      incarnation(platform::randomNumber() | 1), round(self.run) {
  digest = Sha256::hex(allEqual());
}

Session::Reminder::Reminder(Clock::time_point heard)
    : heard(heard), after(kReminder) {}

bool Session::Reminder::isDue(Clock::time_point now) {
  if (now - heard < after)
    return false;
  heard = now;
  after = std::min(2 * after, kMostReminder);
  return true;
}

Session::Traffic Session::traffic() {
  std::lock_guard<std::mutex> lock(mutex);
  return total;
}

Result<std::unique_ptr<Session>> Session::open(Peer peer) {
  HONE_ASSIGN(std::unique_ptr<Session> session, start(std::move(peer)));
  HONE_TRY(session->awaitGreeting());
  return session;
}

Result<std::unique_ptr<Session>> Session::start(Peer peer) {
  std::unique_ptr<Session> session(new Session(std::move(peer)));
  session->makeRoom(std::max(session->self.payload, kLeastRoom));
  if (std::error_code error =
          session->thread.start(kStack, runThread, session.get()))
    return failed(ErrorCode::NoThread, {"exchange"}, {error.message()},
                  "allow one thread more");
  session->isStarted = true;
  return session;
}

Status Session::awaitGreeting(const Patience &patience) {
  std::unique_lock<std::mutex> lock(mutex);
  const Clock::time_point begin = Clock::now();
  while (!isGreeted && failure.isOk()) {
    const bool hasReason = !reason.empty();
    HONE_TRY(patience.check(
        joined({"the program '", self.peer, "' at ", self.address,
                hasReason ? " (" : "", reason, hasReason ? ")" : ""}),
        std::chrono::duration_cast<milliseconds>(Clock::now() - begin)));
    changed.wait_for(lock, patience.slice());
  }
  return failure;
}

bool Session::isMet() {
  std::lock_guard<std::mutex> lock(mutex);
  return isGreeted;
}

bool Session::isRefused() {
  std::lock_guard<std::mutex> lock(mutex);
  return failure.errorCode() == ErrorCode::MessageMisfit && refusal.empty();
}

Status Session::problemOfLeave(const std::string &what) const {
  if (!hasFarewell)
    return Status::ok();
  if (!busy.empty())
    return failed(ErrorCode::PeerBusy, {"the program '", self.peer, "'"},
                  {"has ended, since '", busy, "' trains with another program"},
                  kRemedyIfBusy);
  return failed(ErrorCode::PeerLost, {what}, {"the other program has ended"},
                "read its last message, and give the same commands again");
}

Status Session::checkThere(const std::string &what) {
  std::lock_guard<std::mutex> lock(mutex);
  return problemOfLeave(what);
}

std::string Session::whoIsBusy() {
  std::lock_guard<std::mutex> lock(mutex);
  return busy;
}

Session::~Session() {
  if (!isStarted)
    return;
  {
    std::unique_lock<std::mutex> lock(mutex);
    beginToLeave();
    // A peer that began anew does not need what is not acknowledged by then,
    // and its answer to a farewell may be lost with the program that gave it.
    // A peer that took leave first waits for this side's farewell, as long as
    // it keeps the link.
    auto isOver = [&] {
      if (endsAtOnce())
        return true;
      const auto waited =
          std::chrono::duration_cast<milliseconds>(Clock::now() - leftAt);
      return hasOpenSends() ? !self.patience.check("", waited).isOk() ||
                                  isInterrupted() || waited > kMostLeave
                            : (hasFarewell && (hasTakenLeave || isApart())) ||
                                  waited > kMostFarewell;
    };
    while (!isOver())
      changed.wait_for(lock, self.patience.slice());
    isEnding = true;
    if (link)
      self.engine->wake(link);
  }
  thread.join();
}

bool Session::mayComeBack() const {
  return isSilent || (self.patience.isStopped && self.patience.isStopped());
}

bool Session::endsAtOnce() const {
  return !isGreeted || isGivenUp || !failure.isOk() || mayComeBack();
}

void Session::beginToLeave() {
  if (isLeaving || endsAtOnce())
    return;
  isLeaving = true;
  leftAt = Clock::now();
  if (link)
    self.engine->wake(link);
}

void Session::leave(const std::string &third) {
  std::lock_guard<std::mutex> lock(mutex);
  busy = third;
  beginToLeave();
}

void Session::giveUp() {
  std::lock_guard<std::mutex> lock(mutex);
  isGivenUp = true;
}

void Session::keepSilent() {
  std::lock_guard<std::mutex> lock(mutex);
  isSilent = true;
}

bool Session::hasOpenSends() const {
  // Nor does anybody need messages that are sent after a farewell.
  return !hasFarewell &&
         std::any_of(sends.begin(), sends.end(),
                     [](const auto &each) { return !each.second.isOver; });
}

MessageName Session::nameOf(const Transport::Message &message) const {
  return {message.schedule, message.step, channelNumber(message.channel),
          message.index};
}

Status Session::postSend(const Transport::Message &message, const char *bytes,
                         uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  const MessageName name = nameOf(message);
  // One that was acknowledged: the same step again, after it was undone.
  Outgoing &own = sends[name] = Outgoing();
  own.bytes = bytes;
  own.size = size;
  own.rewind.after = kReminder / 2;
  if (size <= kEagerBytes) {
    own.copy.assign(bytes, size);
    own.bytes = own.copy.data();
    own.isCredited = true;
  } else if (auto credit = credits.find(name); credit != credits.end()) {
    own.isCredited = true;
    std::tie(own.next, own.expected) = credit->second;
    credits.erase(credit);
  }
  if (link)
    self.engine->wake(link);
  return failure;
}

Status Session::postReceive(const Transport::Message &message, char *bytes,
                            uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  const MessageName name = nameOf(message);
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
  return failure;
}

Status Session::problemOf(const Transport::Message &message) const {
  const MessageName name = nameOf(message);
  if (message.isSent) {
    const Outgoing &own = sends.at(name); // it is not over
    if (own.expected != 0 && own.expected != own.size)
      return messageMisfit(message, own.expected, own.size);
  } else {
    const Incoming &own = receives.at(name);
    if (own.offered != 0 && own.offered != own.size)
      return messageMisfit(message, own.size, own.offered);
  }
  return failure;
}

Status Session::goOn(const std::string &what, Clock::time_point begin) {
  if (isInterrupted())
    return failed(ErrorCode::PeerLost, {what},
                  {refusal.empty() ? "another program of the model began anew"
                                   : "it sent a message that does not fit: ",
                   refusal},
                  "give the same command again");
  Status status = self.patience.check(
      what, std::chrono::duration_cast<milliseconds>(
                Clock::now() - std::max(begin, lastProgress)));
  isGivenUp |= !status.isOk();
  return status;
}

Status Session::wait(const Transport::Message &message) {
  std::unique_lock<std::mutex> lock(mutex);
  const MessageName name = nameOf(message);
  const Clock::time_point begin = Clock::now();
  auto isDone = [&] {
    if (!message.isSent)
      return receives.at(name).isOver;
    auto own = sends.find(name);
    return own == sends.end() || own->second.isOver ||
           !own->second.copy.empty();
  };
  struct Waited {
    double &seconds;
    Clock::time_point begin;
    ~Waited() {
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  } waited{total.waited, begin};
  while (!isDone()) {
    HONE_TRY(failure);
    if (Status problem = problemOf(message); !problem.isOk() && refusal.empty())
      refuse(std::move(problem));
    HONE_TRY(failure);
    const std::string what = message.describe();
    HONE_TRY(goOn(what, begin));
    HONE_TRY(problemOfLeave(what));
    changed.wait_for(lock, self.patience.slice());
  }
  if (!message.isSent)
    receives.erase(name);
  else if (auto own = sends.find(name);
           own != sends.end() && own->second.isOver)
    sends.erase(own);
  return Status::ok();
}

Status Session::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  const Clock::time_point begin = Clock::now();
  while (hasOpenSends()) {
    HONE_TRY(failure);
    HONE_TRY(goOn(joined({"the last answer to '", self.peer, "'"}), begin));
    changed.wait_for(lock, self.patience.slice());
  }
  return Status::ok();
}

void Session::cancel(const Transport::Message &message) {
  std::lock_guard<std::mutex> lock(mutex);
  const MessageName name = nameOf(message);
  if (!message.isSent)
    receives.erase(name);
  else if (auto found = sends.find(name);
           found != sends.end() && found->second.copy.empty())
    sends.erase(found);
}

Status Session::receive(const Transport::Message &message, void *bytes,
                        uint64_t size) {
  Status status = postReceive(message, static_cast<char *>(bytes), size);
  if (status.isOk())
    status = wait(message);
  if (!status.isOk())
    cancel(message);
  return status;
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void *Session::runThread(void *session) {
  static_cast<Session *>(session)->run();
  return nullptr;
}

bool Session::isStopping() {
  std::lock_guard<std::mutex> lock(mutex);
  // One that leaves does not dial a peer that has left.
  const bool haveBothLeft = isLeaving && hasFarewell && isApart();
  return isEnding || haveBothLeft || !failure.isOk();
}

int Session::pause() {
  std::lock_guard<std::mutex> lock(mutex);
  return sends.empty() && receives.empty() && !isLeaving ? kIdle : kBusy;
}

void Session::run() {
  while (!isStopping()) {
    if (!link) {
      connect();
      continue;
    }
    bool hasSent = false;
    if (!sendNext(hasSent))
      takeRest();
    else if (receiveNext(hasSent ? 0 : pause()))
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    self.engine->close(link);
    link = nullptr;
    changed.notify_all();
  }
  if (link)
    sayLast();
  std::lock_guard<std::mutex> lock(mutex);
  if (link)
    self.engine->close(link);
  link = nullptr;
}

void Session::sayLast() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    if (failure.errorCode() == ErrorCode::PartsDiffer) {
      lock.unlock();
      return tellDifferences();
    }
    if (!owesRefusal && (hasTakenLeave || !failure.isOk() || mayComeBack()))
      return;
    owesGreeting = false;
    if (!owesRefusal) {
      control.clear();
      control.push_back({FrameKind::Farewell, {}, 0, 0});
    }
  }
  // A frame that the engine has not taken yet leaves first.
  bool hasSent = true;
  for (int frames = 0; frames < 2 && hasSent && !hasTakenLeave; ++frames)
    if (!sendNext(hasSent))
      return;
}

void Session::takeRest() {
  const Clock::time_point begin = Clock::now();
  while (self.engine->is_ordered && !isStopping() &&
         Clock::now() - begin < kMostRest && receiveNext(kBusy)) {
  }
}

void Session::makeRoom(uint64_t payload) {
  if (payload <= room)
    return;
  room = payload;
  std::unique_ptr<char[]> larger(new char[kFrameHeader + room]);
  if (pending > 0)
    memcpy(larger.get(), frameOut.get(), pending);
  frameOut = std::move(larger);
  frameIn.reset(new char[kFrameHeader + room]);
}

void Session::connect() {
  char why[256] = "";
  milliseconds backOff = kMostBackOff / 16;
  hone_link *made = nullptr;
  while (!isStopping()) {
    errno = 0;
    made = self.engine->open(self.address.c_str(), self.self.c_str(),
                             self.peer.c_str(), int(backOff.count()), why,
                             sizeof(why));
    if (made)
      break;
    const Status refused = refusalOf(errno, why);
    std::unique_lock<std::mutex> lock(mutex);
    reason = why;
    if (!refused.isOk())
      failure = refused;
    if (refused.errorCode() == ErrorCode::PeerBusy)
      busy = self.peer;
    changed.notify_all();
    backOff = std::min(2 * backOff, kMostBackOff);
  }
  if (!made)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    link = made;
    pending = 0;
    isNew = isFarewell = false;
    silence = kSignOfLife;
    farewell = Reminder::due();
    reason.clear();
    hasGreeting = owesGreeting = tellsAll = false;
    control.clear();
    lengths.beginLink();
    hasJoined = false;
    // Whatever was under way is asked for anew, from where it is.
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
  greet();
}

void Session::encodeRefusal() {
  Frame frame;
  frame.kind = FrameKind::Refusal;
  frame.run = self.run;
  frame.payload = refusal.data();
  frame.payloadBytes = uint32_t(std::min(refusal.size(), size_t(1024)));
  pending = encode(frame, frameOut.get());
}

void Session::queue(FrameKind kind, const MessageName &name, uint64_t offset,
                    uint64_t size) {
  control.push_back({kind, name, offset, size});
  if (link)
    self.engine->wake(link);
}

void Session::remind() {
  const Clock::time_point now = Clock::now();
  if (isLeaving && !hasOpenSends() && farewell.isDue(now))
    control.push_back({FrameKind::Farewell, {}, 0, 0});
  // An ordered link is the engine's to find lost, if nothing crosses it.
  if (!self.engine->is_ordered && now - lastSent >= silence) {
    lastSent = now;
    silence = std::min(2 * silence, kMostSilence);
    owesGreeting = true;
  }
  for (auto &[name, own] : receives) {
    // An ordered link loses no credit, but for one of a round that the peer has
    // not begun; the peer offers what it sends then.
    if (own.isOver || own.size <= kEagerBytes ||
        (self.engine->is_ordered && own.isAsked) || !own.reminder.isDue(now))
      continue;
    control.push_back({FrameKind::Credit, name, own.got, own.size});
    own.isAsked = true;
  }
  for (auto &[name, own] : sends) {
    // The receiver asks for messages that are under way.
    const bool isUnderWay =
        self.engine->is_ordered && own.isCredited && own.copy.empty();
    if (own.isOver || isUnderWay || !own.reminder.isDue(now))
      continue;
    if (own.copy.empty())
      control.push_back({FrameKind::Offer, name, 0, own.size});
    else
      own.next = 0;
  }
}

bool Session::sendPending(bool &hasSent) {
  const int taken = self.engine->send(link, frameOut.get(), pending);
  hasSent = taken == 0;
  if (hasSent) {
    std::lock_guard<std::mutex> lock(mutex);
    total.sent += std::exchange(pending, 0);
    if (std::exchange(isNew, false))
      progress();
    if (std::exchange(isFarewell, false)) {
      hasTakenLeave = true;
      changed.notify_all();
    }
  }
  return taken >= 0;
}

bool Session::sendNext(bool &hasSent) {
  if (pending == 0) {
    bool owes = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (std::exchange(owesRefusal, false))
        encodeRefusal();
      else
        owes = std::exchange(owesGreeting, false);
    }
    if (owes)
      encodeGreeting(/*asks=*/false);
    else if (pending == 0)
      pending = encodeNext();
  }
  hasSent = false;
  return pending == 0 || sendPending(hasSent);
}

uint64_t Session::encodeNext() {
  std::lock_guard<std::mutex> lock(mutex);
  Frame frame;
  isNew = false;
  remind();
  if (!control.empty()) {
    const Control &first = control.front();
    frame.kind = first.kind;
    frame.name = first.name;
    isFarewell = frame.kind == FrameKind::Farewell;
    frame.run = isFarewell ? self.run : runOf(frame.name);
    frame.offset = first.offset;
    frame.size = first.size;
    if (isFarewell) {
      frame.payload = busy.data();
      // A peer may have sent a longer one than there is room for here.
      frame.payloadBytes = uint32_t(std::min(busy.size(), size_t(kLeastRoom)));
    }
    control.erase(control.begin());
    lastSent = Clock::now();
    return encode(frame, frameOut.get());
  }
  for (auto &[name, out] : sends) {
    if (out.isOver || !out.isCredited || out.next >= out.size)
      continue;
    frame.kind = FrameKind::Data;
    frame.name = name;
    frame.run = runOf(name);
    frame.offset = out.next;
    frame.size = out.size;
    frame.payload = out.bytes + out.next;
    out.reminder.heard = out.rewind.heard = lastSent = Clock::now();
    frame.payloadBytes = uint32_t(
        lengths.next(out.onLink, out.next, out.size, secondsOf(lastSent)));
    // Nothing is lost then but what the peer has no room for.
    if (hasJoined && self.engine->is_ordered)
      out.reminder.after = kMostReminder;
    out.next += frame.payloadBytes;
    isNew = out.next > out.furthest && out.copy.empty();
    out.furthest = std::max(out.furthest, out.next);
    return encode(frame, frameOut.get());
  }
  return 0;
}

bool Session::receiveNext(int timeout) {
  if (tellsAll) // and hears all
    makeRoom(kMostGreetingBytes);
  const int64_t size =
      self.engine->next(link, frameIn.get(), kFrameHeader + room, timeout);
  if (size < 0)
    return false;
  if (size == 0)
    return true;
  const std::optional<Frame> frame = decode(frameIn.get(), uint64_t(size));
  std::lock_guard<std::mutex> lock(mutex);
  total.received += uint64_t(size);
  if (!frame)
    return true; // lost on its way
  if (!refusal.empty() && frame->kind != FrameKind::Greeting) {
    owesRefusal = true; // the one before may be lost
    return true;
  }
  const bool isOfNoRound = frame->kind == FrameKind::Greeting ||
                           frame->kind == FrameKind::Farewell ||
                           frame->kind == FrameKind::Refusal;
  if (frame->run != (isOfNoRound ? self.run : runOf(frame->name)))
    return true; // of a round that is over, or not begun here
  hasJoined |= !isOfNoRound && frame->name.schedule != kControl;
  handle(*frame);
  changed.notify_all();
  return true;
}

//===----------------------------------------------------------------------===//
// What comes. The lock is held.
//===----------------------------------------------------------------------===//

void Session::finish(const MessageName &name) {
  control.push_back({FrameKind::Ack, name, 0, 0});
  if (!finished.contains(name))
    finished.insert(name);
}

void Session::handle(const Frame &frame) {
  switch (frame.kind) {
  case FrameKind::Greeting:
    return handleGreeting(frame);
  case FrameKind::Credit:
    return handleCredit(frame);
  case FrameKind::Data:
    return handleData(frame);
  case FrameKind::Offer: {
    auto own = receives.find(frame.name);
    if (own != receives.end() && !own->second.isOver) {
      own->second.offered = frame.size;
      control.push_back(
          {FrameKind::Credit, frame.name, own->second.got, own->second.size});
    } else if (finished.contains(frame.name)) {
      finish(frame.name);
    }
    return;
  }
  case FrameKind::Farewell:
    hasFarewell = true;
    busy.assign(frame.payload, frame.payloadBytes);
    sends.clear(); // nobody needs them
    return;
  case FrameKind::Refusal:
    failure = failed(
        ErrorCode::MessageMisfit, {"the program '", self.peer, "'"},
        {"refuses this one's message: ", {frame.payload, frame.payloadBytes}},
        "compile all parts in one call");
    return;
  case FrameKind::Ack:
    if (auto own = sends.find(frame.name); own != sends.end()) {
      const Outgoing &out = own->second;
      if (!out.isOver) {
        progress();
        lengths.acknowledge(out.onLink, out.size, secondsOf(Clock::now()));
      }
      own->second.isOver = true;
      if (!own->second.copy.empty()) // nobody waits for it
        sends.erase(own);
    }
    return;
  }
}

void Session::handleCredit(const Frame &frame) {
  auto own = sends.find(frame.name);
  if (own == sends.end()) {
    if (credits.size() < kMostEarly)
      credits[frame.name] = {frame.offset, frame.size};
    return;
  }
  Outgoing &out = own->second;
  out.expected = frame.size;
  if (frame.size != out.size)
    return;
  // Messages under way are sent again only where frames get lost, later each
  // time: a link may be slow.
  const bool isUnderWay =
      std::exchange(out.isCredited, true) && out.next > frame.offset;
  if (!isUnderWay)
    progress();
  else if (self.engine->is_ordered || !out.rewind.isDue(Clock::now()))
    return;
  out.next = frame.offset;
}

void Session::refuse(const Frame &frame, const char *problem) {
  char where[64] = "";
  if (frame.name.schedule < kCommand)
    snprintf(where, sizeof(where), " in schedule %" PRIu32 ", step %" PRIu64,
             frame.name.schedule, frame.name.step + 1);
  refuse(failed(ErrorCode::MessageMisfit,
                {"a frame of the program '", self.peer, "'"},
                {"expects a message of a schedule but got ", problem, where},
                "compile all parts in one call, and let nobody else reach "
                "the programs"));
}

void Session::refuse(Status why) {
  const Message told = why.message();
  refusal = joined({told.place, ": ", told.problem});
  owesRefusal = true;
  if (self.outlives && self.events)
    ++*self.events;
  else
    failure = std::move(why);
  changed.notify_all();
}

void Session::handleData(const Frame &frame) {
  if (frame.payloadBytes > frame.size - frame.offset)
    return refuse(frame, "bytes beyond the end of a message");
  if (frame.name.schedule == kControl && !hasGreeting)
    return; // of a process that is not known yet; it says so again
  if (frame.name.schedule == kControl && handleAsked(frame))
    return finish(frame.name);
  auto own = receives.find(frame.name);
  if (own == receives.end() || own->second.isOver) {
    const bool isKnown = finished.contains(frame.name);
    if (isKnown || frame.size > kEagerBytes || frame.offset != 0 ||
        frame.payloadBytes != frame.size || early.size() >= kMostEarly) {
      if (isKnown)
        finish(frame.name);
      return;
    }
    progress();
    early[frame.name].assign(frame.payload, frame.payloadBytes);
    return finish(frame.name);
  }
  Incoming &in = own->second;
  in.offered = frame.size;
  if (frame.size != in.size || frame.offset != in.got)
    return;
  memcpy(in.bytes + in.got, frame.payload, frame.payloadBytes);
  in.got += frame.payloadBytes;
  in.reminder = Reminder();
  progress();
  in.isOver = in.got == in.size;
  if (in.isOver)
    finish(frame.name);
}

} // namespace hone::rt
