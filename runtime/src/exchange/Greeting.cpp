//===- Greeting.cpp - Two programs learn whether they fit -----------------===//
//
// Each side says once for each link which process it is, with a digest of the
// values that must be equal, and says it again until it has the other's. If the
// digests differ both tell all, so that they can name the differences.
//
//===----------------------------------------------------------------------===//

#include "exchange/Pieces.h"
#include "exchange/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace hone::rt {

using std::chrono::milliseconds;

/// For the peer's greeting on a new link, which may be slow.
static constexpr milliseconds kMostGreeting{60000};
/// In a greeting, the name of the line that tells processes apart; its value
/// need not be equal.
static constexpr std::string_view kIncarnation = ".incarnation";
/// The name of the line with a digest, in a greeting that does not tell all.
static constexpr std::string_view kDigest = ".digest";
/// The value of a name that a side does not have.
static constexpr std::string_view kNone = "none";

/// Takes the first line "name=value" of `lines`; false: there is none.
static bool takeLine(std::string_view &lines, std::string_view &name,
                     std::string_view &value) {
  if (lines.empty())
    return false;
  const std::string_view line = lines.substr(0, lines.find('\n'));
  lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  name = line.substr(0, line.find('='));
  value = line.substr(std::min(name.size() + 1, line.size()));
  return true;
}

static std::string_view valueIn(std::string_view lines, std::string_view name) {
  std::string_view each, value;
  while (takeLine(lines, each, value))
    if (each == name)
      return value;
  return kNone;
}

/// Adds the names whose values differ, of our lines; with `isOurs` false, those
/// that only the peer has.
static void addDifferences(std::string &differences, std::string_view ours,
                           std::string_view theirs, bool isOurs) {
  std::string_view lines = isOurs ? ours : theirs, name, value;
  while (takeLine(lines, name, value)) {
    const std::string_view here = isOurs ? value : valueIn(ours, name),
                           there = isOurs ? valueIn(theirs, name) : value;
    if (here != there && (isOurs || here == kNone) && name != kIncarnation)
      differences += joined({differences.empty() ? "" : ", ", name, " (here ",
                             here, ", there ", there, ")"});
  }
}

std::string Session::allEqual() const {
  return joined({*self.equal, "bytes of a frame=", std::to_string(self.payload),
                 "\nprotocol=", std::to_string(kProtocol), "\n"});
}

void Session::encodeGreeting(bool asks) {
  std::string text =
      joined({kIncarnation, "=", std::to_string(incarnation), "\n"});
  if (tellsAll) {
    text += allEqual();
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

void Session::handleGreeting(const Frame &frame) {
  const std::string_view theirs(frame.payload, frame.payloadBytes);
  const uint64_t theirIncarnation =
      strtoull(std::string(valueIn(theirs, kIncarnation)).c_str(), nullptr, 10);
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
  const std::string_view told = valueIn(theirs, kDigest);
  if (told == kNone) {
    const std::string ours = allEqual();
    for (const bool isOurs : {true, false})
      addDifferences(differences, ours, theirs, isOurs);
  } else if (told != digest) {
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
