//===- ExchangeProgram.cpp - Whether parts' exchanges fit together --------===//

#include "passes/parts/ExchangeProgram.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hone {

namespace {

using Kind = ExchangeItem::Kind;

/// From, to, channel, index in the step.
using MessageName = std::tuple<std::string, std::string, std::string, int64_t>;

/// An action of a program on a message; a program's events are in its order.
struct Event {
  enum { Post, Wait } what;
  size_t item;
  bool isSend;
  MessageName message;
};

/// One program, unrolled.
class Unrolled {
public:
  Unrolled(const ExchangeProgram &program, int64_t count)
      : program(program), count(count) {}

  /// Fills `events`; the problem that one program has by itself, if any.
  std::optional<ExchangeProblem> unroll(size_t index) {
    self = index;
    run(0, program.items.size(), 0);
    for (const auto &[place, messages] : underWay)
      if (!problem && !messages.empty())
        fail(messages.front().item,
             std::string(messages.front().isSend ? "is sent" : "is received") +
                 ", and nobody waits until that has happened");
    return problem;
  }

  std::vector<Event> events;

private:
  using Place = std::pair<size_t, int64_t>; ///< value and slot

  Place placeOf(size_t value) const {
    const ExchangeProgram::Value &own = program.values[value];
    return {value, own.depth ? iterations[own.depth - 1] % own.slots : 0};
  }
  /// Whether a message of `value` is under way; or only one that arrives.
  bool isUnderWay(size_t value, bool receivesAlone) const {
    auto found = underWay.find(placeOf(value));
    return found != underWay.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const Event &event) {
                         return !receivesAlone || !event.isSend;
                       });
  }
  bool readsTooEarly(size_t index, size_t first);
  void fail(size_t item, std::string text) {
    if (!problem)
      problem = {self, item, std::move(text)};
  }
  void run(size_t first, size_t end, size_t depth);
  void runItem(size_t index, size_t depth);
  void repeat(size_t index, size_t depth);
  void post(size_t index);
  void wait(size_t index);

  const ExchangeProgram &program;
  int64_t count;
  size_t self = 0;
  std::optional<ExchangeProblem> problem;
  std::vector<int64_t> iterations;
  std::map<Place, std::vector<Event>> underWay;
  std::map<std::tuple<bool, std::string, std::string>, int64_t> posted;
};

} // namespace

void Unrolled::run(size_t first, size_t end, size_t depth) {
  for (size_t i = first; i < end && !problem; i += 1 + program.items[i].body)
    runItem(i, depth);
}

void Unrolled::repeat(size_t index, size_t depth) {
  const size_t end = index + 1 + program.items[index].body;
  int64_t stages = 1;
  for (size_t i = index + 1; i < end; i += 1 + program.items[i].body)
    stages = std::max(stages, program.items[i].stage + 1);
  iterations.push_back(0);
  for (int64_t tick = 0; tick < count + stages - 1; ++tick)
    for (size_t i = index + 1; i < end && !problem;
         i += 1 + program.items[i].body) {
      iterations[depth] = tick - program.items[i].stage;
      if (iterations[depth] >= 0 && iterations[depth] < count)
        runItem(i, depth + 1);
    }
  iterations.pop_back();
}

/// Whether item `index` reads a value that has not arrived, from its operand
/// `first` on.
bool Unrolled::readsTooEarly(size_t index, size_t first) {
  const std::vector<size_t> &reads = program.items[index].reads;
  for (size_t i = first; i < reads.size(); ++i)
    if (isUnderWay(reads[i], /*receivesAlone=*/true)) {
      fail(index, "reads a value before a wait says that it has arrived");
      return true;
    }
  return false;
}

void Unrolled::post(size_t index) {
  const ExchangeItem &item = program.items[index];
  const bool isSend = item.kind == Kind::Send;
  if (readsTooEarly(index, isSend ? 1 : 0))
    return;
  std::vector<Event> &own =
      underWay[placeOf(isSend ? item.reads.front() : item.makes.front())];
  // A value may leave for several parts at once.
  if (std::any_of(own.begin(), own.end(),
                  [&](const Event &other) { return !isSend || !other.isSend; }))
    return fail(index, isSend ? "is sent before it has arrived"
                              : "arrives where another message is under way");
  const int64_t number = posted[{isSend, item.peer, item.channel}]++;
  Event event{Event::Post, index, isSend,
              isSend
                  ? MessageName{program.part, item.peer, item.channel, number}
                  : MessageName{item.peer, program.part, item.channel, number}};
  events.push_back(event);
  own.push_back(event);
}

void Unrolled::wait(size_t index) {
  std::vector<Event> &own =
      underWay[placeOf(program.items[index].reads.front())];
  if (own.empty())
    return fail(index, "waits for a value that is not under way");
  for (Event &event : own) {
    event.what = Event::Wait;
    events.push_back(event);
    events.back().item = index;
  }
  own.clear();
}

void Unrolled::runItem(size_t index, size_t depth) {
  const ExchangeItem &item = program.items[index];
  switch (item.kind) {
  case Kind::Send:
  case Kind::Receive:
    return post(index);
  case Kind::Wait:
    return wait(index);
  case Kind::Repeat:
  case Kind::Other:
    break;
  }
  for (size_t value : item.reads)
    if (isUnderWay(value, /*receivesAlone=*/true))
      return fail(index,
                  "reads a value before a wait says that it has arrived");
  for (size_t value : item.makes)
    if (isUnderWay(value, /*receivesAlone=*/false))
      return fail(index, "makes a value anew while its message is under way");
  if (item.kind == Kind::Repeat)
    repeat(index, depth);
}

//===----------------------------------------------------------------------===//
// All programs together
//===----------------------------------------------------------------------===//

namespace {

/// Both ends of a message.
struct Ends {
  struct End {
    size_t program, item;
    bool isPosted = false, isOver = false;
  };
  std::optional<End> send, receive;
};

class Together {
public:
  explicit Together(const std::vector<ExchangeProgram> &programs)
      : programs(programs) {}
  std::optional<ExchangeProblem> find(int64_t count);

private:
  const ExchangeItem &itemOf(const Ends::End &end) const {
    return programs[end.program].items[end.item];
  }
  std::optional<ExchangeProblem> match();
  std::optional<ExchangeProblem> run();
  /// Whether the message that `event` waits for is through.
  bool isDone(const Event &event) const;
  bool step(size_t program);

  const std::vector<ExchangeProgram> &programs;
  std::vector<std::vector<Event>> events;
  std::vector<size_t> at;
  std::map<MessageName, Ends> messages;
};

} // namespace

static std::string describe(const MessageName &name) {
  const auto &[from, to, channel, index] = name;
  return "message " + std::to_string(index) + " of " + channel + " from '" +
         from + "' to '" + to + "'";
}

std::optional<ExchangeProblem> Together::match() {
  for (size_t program = 0; program < events.size(); ++program)
    for (const Event &event : events[program])
      if (event.what == Event::Post)
        (event.isSend ? messages[event.message].send
                      : messages[event.message].receive) =
            Ends::End{program, event.item};
  for (const auto &[name, ends] : messages) {
    if (!ends.send)
      return ExchangeProblem{ends.receive->program, ends.receive->item,
                             "receives " + describe(name) +
                                 ", which nobody sends"};
    if (!ends.receive)
      return ExchangeProblem{ends.send->program, ends.send->item,
                             "sends " + describe(name) +
                                 ", which nobody receives"};
    const ExchangeItem &from = itemOf(*ends.send), &to = itemOf(*ends.receive);
    if (from.type != to.type)
      return ExchangeProblem{ends.receive->program, ends.receive->item,
                             "receives " + describe(name) + " as " + to.type +
                                 ", but it is sent as " + from.type};
    if (from.behind != to.behind)
      return ExchangeProblem{ends.receive->program, ends.receive->item,
                             "receives " + describe(name) + " of " +
                                 std::to_string(to.behind) +
                                 " steps before, but it is sent as one of " +
                                 std::to_string(from.behind)};
    // Its receive is posted when the sender is some steps ahead.
    if (to.behind > 0 && !from.isSmall)
      return ExchangeProblem{ends.receive->program, ends.receive->item,
                             "receives " + describe(name) +
                                 " from a step before, for which it is too "
                                 "large"};
  }
  return std::nullopt;
}

bool Together::isDone(const Event &event) const {
  const Ends &ends = messages.at(event.message);
  if (!event.isSend)
    return ends.send->isPosted || itemOf(*ends.receive).behind > 0;
  const ExchangeItem &item = itemOf(*ends.send);
  return item.isSmall ||
         (item.comesInPieces ? ends.receive->isOver : ends.receive->isPosted);
}

bool Together::step(size_t program) {
  const Event &event = events[program][at[program]];
  Ends &ends = messages[event.message];
  Ends::End &end = event.isSend ? *ends.send : *ends.receive;
  if (event.what == Event::Post)
    end.isPosted = true;
  else if (!isDone(event))
    return false;
  else
    end.isOver = true;
  ++at[program];
  return true;
}

std::optional<ExchangeProblem> Together::run() {
  at.assign(programs.size(), 0);
  bool goesOn = true;
  while (goesOn) {
    goesOn = false;
    for (size_t program = 0; program < programs.size(); ++program)
      while (at[program] < events[program].size() && step(program))
        goesOn = true;
  }
  for (size_t program = 0; program < programs.size(); ++program) {
    if (at[program] == events[program].size())
      continue;
    const Event &event = events[program][at[program]];
    const Ends &ends = messages[event.message];
    const size_t peer =
        event.isSend ? ends.receive->program : ends.send->program;
    std::string text = "waits for ever for " + describe(event.message);
    if (at[peer] < events[peer].size())
      text += "; '" + programs[peer].part + "' waits for " +
              describe(events[peer][at[peer]].message);
    return ExchangeProblem{program, event.item, text};
  }
  return std::nullopt;
}

std::optional<ExchangeProblem> Together::find(int64_t count) {
  for (size_t program = 0; program < programs.size(); ++program) {
    Unrolled unrolled(programs[program], count);
    if (auto problem = unrolled.unroll(program))
      return problem;
    events.push_back(std::move(unrolled.events));
  }
  if (auto problem = match())
    return problem;
  return run();
}

std::optional<ExchangeProblem>
findExchangeProblem(const std::vector<ExchangeProgram> &programs) {
  int64_t most = 0;
  for (const ExchangeProgram &program : programs)
    for (const ExchangeItem &item : program.items)
      most = std::max(most, item.stage);
  for (int64_t count : {int64_t(1), most + 3})
    if (auto problem = Together(programs).find(count))
      return problem;
  return std::nullopt;
}

} // namespace hone
