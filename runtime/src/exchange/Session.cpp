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

static_assert(HONE_FRAME_BYTES == kFrameHeader + kMostFramePayload);
/// The longest pause between two attempts to connect; the first waits a 16th of
/// it.
static constexpr milliseconds kMostBackOff{2000};
/// The longest wait of a program that ends for acknowledgements.
static constexpr milliseconds kMostLeave{20000};
/// The longest wait for the peer's farewell: if it is there, it waits for this
/// side's last word, on a link that may have to be made anew.
static constexpr milliseconds kMostFarewell{5000};
/// The longest wait for frames that came over a link before it was lost, if the
/// engine does not say that nothing else comes.
static constexpr milliseconds kMostRest{1000};
/// After so long without a frame the peer is told that this side is there; then
/// after twice the time, up to the second: a slow link has room for more than
/// that.
static constexpr milliseconds kSignOfLife{1000}, kMostSilence{32000};
/// A thread's stack is eight times as large as has been seen in use; with
/// AddressSanitizer, at -O1, 76 KiB are.
static constexpr uint64_t kStack = 96 * 1024;
/// A long frame takes at most this part of the time for which a program waits.
static constexpr double kFramesOfPatience = 40;
/// A thread waits so many milliseconds for a frame if nothing is posted, or if
/// something is.
static constexpr int kIdle = 250, kBusy = 20;

/// A long frame takes so long at most: each that comes is progress, and a
/// program that waits is to see some in time.
static double frameSeconds(const Patience &patience) {
  const double waits = std::chrono::duration<double>(patience.timeout).count();
  return waits > 0 ? std::min(kFrameSeconds, waits / kFramesOfPatience)
                   : kFrameSeconds;
}

//===----------------------------------------------------------------------===//
// For the step's thread
//===----------------------------------------------------------------------===//

Session::Session(Peer peer)
    : self(std::move(peer)),
      messages(self.engine->is_ordered,
               FrameLength(self.payload, frameSeconds(self.patience)),
               LinkPlan::namesRemembered(*self.engine)),
      incarnation(platform::randomNumber() | 1), round(self.run) {
  digest = Sha256::hex(allEqual());
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
    wake();
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
  wake();
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
  return !hasFarewell && messages.hasOpenSends();
}

void Session::wake() {
  if (link)
    self.engine->wake(link);
}

MessageName Session::nameOf(const Transport::Message &message) const {
  return {message.schedule, message.step, channelNumber(message.channel),
          message.index};
}

Status Session::postSend(const Transport::Message &message, const char *bytes,
                         uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  messages.postSend(nameOf(message), bytes, size);
  wake();
  return failure;
}

Status Session::postReceive(const Transport::Message &message, char *bytes,
                            uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  if (messages.postReceive(nameOf(message), bytes, size))
    wake();
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
  struct Waited {
    double &seconds;
    Clock::time_point begin;
    ~Waited() {
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  } waited{total.waited, begin};
  while (!messages.isDone(name, message.isSent)) {
    HONE_TRY(failure);
    if (const auto misfit = messages.misfit(name, message.isSent);
        misfit && refusal.empty())
      refuse(messageMisfit(message, misfit->expected, misfit->found));
    HONE_TRY(failure);
    const std::string what = message.describe();
    HONE_TRY(goOn(what, begin));
    HONE_TRY(problemOfLeave(what));
    changed.wait_for(lock, self.patience.slice());
  }
  messages.drop(name, message.isSent);
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
  messages.drop(nameOf(message), message.isSent);
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
  return messages.isIdle() && !isLeaving ? kIdle : kBusy;
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
      messages.clearQueue();
      messages.queue(FrameKind::Farewell);
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
    messages.beginLink();
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

void Session::remind(Clock::time_point now) {
  if (isLeaving && !hasOpenSends() && farewell.isDue(now))
    messages.queue(FrameKind::Farewell);
  // An ordered link is the engine's to find lost, if nothing crosses it.
  if (!self.engine->is_ordered && now - lastSent >= silence) {
    lastSent = now;
    silence = std::min(2 * silence, kMostSilence);
    owesGreeting = true;
  }
  messages.remind(now);
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
  const Clock::time_point now = Clock::now();
  remind(now);
  Frame frame;
  if (!messages.next(now, frame, isNew))
    return 0;
  lastSent = now;
  frame.run = runOf(frame.name);
  isFarewell = frame.kind == FrameKind::Farewell;
  if (isFarewell) {
    frame.run = self.run;
    frame.payload = busy.data();
    // A peer may have sent a longer one than there is room for here.
    frame.payloadBytes = uint32_t(std::min(busy.size(), size_t(kLeastRoom)));
  }
  return encode(frame, frameOut.get());
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
  handle(*frame);
  changed.notify_all();
  return true;
}

//===----------------------------------------------------------------------===//
// Frames that come. The lock is held.
//===----------------------------------------------------------------------===//

void Session::handle(const Frame &frame) {
  switch (frame.kind) {
  case FrameKind::Greeting:
    return handleGreeting(frame);
  case FrameKind::Data:
    return handleData(frame);
  case FrameKind::Credit:
  case FrameKind::Offer:
  case FrameKind::Ack:
    return take(frame);
  case FrameKind::Farewell:
    hasFarewell = true;
    busy.assign(frame.payload, frame.payloadBytes);
    messages.dropSends();
    return;
  case FrameKind::Refusal:
    failure = failed(
        ErrorCode::MessageMisfit, {"the program '", self.peer, "'"},
        {"refuses this one's message: ", {frame.payload, frame.payloadBytes}},
        "compile all parts in one call");
    return;
  }
}

void Session::take(const Frame &frame) {
  if (messages.take(frame, Clock::now()))
    progress();
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
    return messages.acknowledge(frame.name);
  take(frame);
}

} // namespace hone::rt
