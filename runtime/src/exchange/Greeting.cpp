//===- Greeting.cpp - Two programs learn whether they fit -----------------===//
//
// Each side says once for each link which process it is and a digest of what
// must be equal, and says it again until it has the other's. If the digests
// differ both tell all, so that they can name the differences.
//
//===----------------------------------------------------------------------===//

#include "exchange/Pieces.h"
#include "exchange/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

namespace hone::rt {

using std::chrono::milliseconds;

/// For the peer's greeting on a new link, which may be slow.
static constexpr milliseconds kMostGreeting{60000};
/// The key of a greeting that says which process greets; it need not be equal.
static constexpr const char *kIncarnation = ".incarnation";
/// The key of one that does not tell all.
static constexpr const char *kDigest = ".digest";

Session::Equal Session::allEqual() const {
  Equal all = *self.equal;
  all["protocol"] = std::to_string(kProtocol);
  all["bytes of a frame"] = std::to_string(self.payload);
  return all;
}

std::string Session::textOfEqual() const {
  std::string text;
  for (const auto &[key, value] : allEqual())
    text += joined({key, "=", value, "\n"});
  return text;
}

void Session::encodeGreeting(bool asks) {
  std::string text =
      joined({kIncarnation, "=", std::to_string(incarnation), "\n"});
  if (tellsAll) {
    text += textOfEqual();
    makeRoom(kMostGreetingBytes);
  } else {
    text += joined({kDigest, "=", digest, "\n"});
  }
  Frame frame;
  frame.kind = FrameKind::Greeting;
  frame.run = self.run;
  frame.size = asks;
  frame.payload = text.data();
  frame.payloadBytes = uint32_t(std::min(text.size(), size_t(room)));
  pending = encode(frame, frameOut.get());
}

void Session::greet() {
  const Clock::time_point begin = Clock::now();
  Reminder said(Clock::time_point{});
  bool isAlive = true;
  while (isAlive && !isStopping() && Clock::now() - begin < kMostGreeting) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (hasGreeting)
        return;
    }
    if (said.isDue(Clock::now())) {
      encodeGreeting(/*asks=*/true);
      bool hasSent;
      isAlive = sendPending(hasSent);
    }
    isAlive = isAlive && receiveNext(20);
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (hasGreeting || isEnding) // with differences, or to say a last word
    return;
  self.engine->close(link);
  link = nullptr;
}

void Session::tellDifferences() {
  const Clock::time_point begin = Clock::now();
  Reminder said(Clock::time_point{});
  // This program ends already: a silent peer holds it no longer than a run.
  auto isPatient = [&] {
    const auto waited =
        std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    return waited < kMostGreeting && self.patience.check("", waited).isOk();
  };
  for (bool isAlive = link, hasSent = false; isAlive && isPatient();) {
    if (said.isDue(Clock::now()))
      encodeGreeting(/*asks=*/false);
    isAlive = pending == 0 || sendPending(hasSent);
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isKnown && pending == 0)
        return;
    }
    isAlive = isAlive && receiveNext(20);
  }
}

std::string Session::differencesOf(Equal theirs) const {
  const Equal ours = allEqual();
  const std::string none = "none";
  for (const auto &[key, value] : ours)
    theirs.emplace(key, none);
  std::string differences;
  for (const auto &[key, there] : theirs) {
    const auto mine = ours.find(key);
    const std::string &here = mine == ours.end() ? none : mine->second;
    if (here == there)
      continue;
    differences += joined({differences.empty() ? "" : ", ", key, " (here ",
                           here, ", there ", there, ")"});
  }
  return differences;
}

void Session::handleGreeting(const Frame &frame) {
  Equal theirs;
  const std::string text(frame.payload, frame.payloadBytes);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t middle = text.find('=', begin);
    if (middle < end)
      theirs[text.substr(begin, middle - begin)] =
          text.substr(middle + 1, end - middle - 1);
    begin = end + 1;
  }
  const uint64_t theirIncarnation =
      strtoull(theirs[kIncarnation].c_str(), nullptr, 10);
  theirs.erase(kIncarnation);
  if (peerIncarnation != theirIncarnation)
    progress();
  if (peerIncarnation != 0 && peerIncarnation != theirIncarnation) {
    hasFarewell = false;
    busy.clear();
    refusal.clear();
    owesRefusal = false;
    heard = 0;
    if (self.events && self.countsRestarts)
      ++*self.events;
  }
  peerIncarnation = theirIncarnation;
  std::string differences;
  if (const auto told = theirs.find(kDigest); told == theirs.end()) {
    differences = differencesOf(std::move(theirs));
  } else if (told->second != digest) {
    tellsAll = owesGreeting = true;
    isKnown = false;
    return;
  }
  owesGreeting |= hasGreeting && frame.size == 1;
  isKnown = frame.size == 0;
  hasGreeting = true;
  tellsAll |= !differences.empty();
  if (differences.empty())
    isGreeted = true;
  else
    failure = failed(ErrorCode::PartsDiffer, {"the program '", self.peer, "'"},
                     {"differs in ", differences},
                     "compile all parts in one call, and start all programs "
                     "with the same options");
}

Status Session::refusalOf(int number, const char *why) const {
  switch (number) {
  case EACCES:
    return failed(ErrorCode::NotAdmitted, {"the program '", self.peer, "'"},
                  {"does not admit this one: ", why},
                  "have its owner add the name to the file of --admit");
  case EBUSY:
    return failed(ErrorCode::PeerBusy, {"the program '", self.peer, "'"},
                  {"trains with another program: ", why}, kRemedyIfBusy);
  case EINVAL:
    return failed(ErrorCode::NoMeeting,
                  {"--exchange ", self.engine->name, " for the program '",
                   self.peer, "'"},
                  {why}, "see the engine's page for what it needs");
  default:
    return Status::ok();
  }
}

} // namespace hone::rt
