//===- ExchangeProgramTest.cpp - Whether parts' exchanges fit together ----===//

#include "passes/parts/ExchangeProgram.h"

#include <gtest/gtest.h>

using namespace hone;

namespace {

using Kind = ExchangeItem::Kind;

/// Writes a program item by item; values are numbers from 0.
class Part {
public:
  explicit Part(std::string name) { program.part = std::move(name); }

  size_t value(size_t depth = 0, int64_t slots = 1) {
    program.values.push_back({slots, depth});
    return program.values.size() - 1;
  }
  ExchangeItem &add(Kind kind, std::vector<size_t> reads,
                    std::vector<size_t> makes, int64_t stage = 0) {
    ExchangeItem item;
    item.kind = kind;
    item.reads = std::move(reads);
    item.makes = std::move(makes);
    item.stage = stage;
    program.items.push_back(item);
    return program.items.back();
  }
  ExchangeItem &send(size_t value, std::string to, std::string channel,
                     int64_t stage = 0) {
    return name(add(Kind::Send, {value}, {}, stage), to, channel);
  }
  ExchangeItem &receive(size_t value, std::string from, std::string channel,
                        int64_t stage = 0) {
    return name(add(Kind::Receive, {}, {value}, stage), from, channel);
  }
  void wait(size_t value, int64_t stage = 0) {
    add(Kind::Wait, {value}, {}, stage);
  }
  void make(size_t value, int64_t stage = 0) {
    add(Kind::Other, {}, {value}, stage);
  }
  void read(size_t value, int64_t stage = 0) {
    add(Kind::Other, {value}, {}, stage);
  }
  void repeat(size_t body) { add(Kind::Repeat, {}, {}).body = body; }

  ExchangeProgram program;

private:
  static ExchangeItem &name(ExchangeItem &item, const std::string &peer,
                            const std::string &channel) {
    item.peer = peer;
    item.channel = channel;
    item.type = "tensor<?x4xf32>";
    return item;
  }
};

std::string problemOf(const std::vector<Part> &parts) {
  std::vector<ExchangeProgram> programs;
  for (const Part &part : parts)
    programs.push_back(part.program);
  auto problem = findExchangeProblem(programs);
  return problem ? programs[problem->program].part + " " + problem->text : "";
}

/// A client that sends a hidden state in each iteration and gets a number back,
/// read at `stage`; the number is large if that is to be seen.
std::pair<Part, Part> clientAndServer(int64_t stage, bool isSmall) {
  const int64_t slots = stage + 1;
  Part client("client");
  size_t h = client.value(1), loss = client.value(1, slots);
  client.repeat(6);
  client.make(h);
  client.send(h, "server", "h");
  client.receive(loss, "server", "loss", stage).isSmall = isSmall;
  client.wait(loss, stage);
  client.read(loss, stage);
  client.wait(h);
  Part server("server");
  size_t state = server.value(1, slots), answer = server.value(1, slots);
  server.repeat(5);
  server.receive(state, "client", "h");
  server.wait(state, stage);
  server.add(Kind::Other, {state}, {answer}, stage);
  server.send(answer, "client", "loss", stage).isSmall = isSmall;
  server.wait(answer, stage);
  return {client, server};
}

} // namespace

TEST(ExchangeProgramTest, PartsThatFitHaveNoProblem) {
  for (int64_t stage : {0, 1, 2})
    for (bool isSmall : {true, false}) {
      auto [client, server] = clientAndServer(stage, isSmall);
      EXPECT_EQ(problemOf({client, server}), "") << stage << isSmall;
    }
}

// Each waits for the other's receive, which stands after its own wait.
TEST(ExchangeProgramTest, TwoSendsThatWaitForEachOther) {
  auto make = [](const char *self, const char *other, bool isSmall) {
    Part part(self);
    size_t mine = part.value(), theirs = part.value();
    part.send(mine, other, self).isSmall = isSmall;
    part.wait(mine);
    part.receive(theirs, other, other).isSmall = isSmall;
    part.wait(theirs);
    return part;
  };
  EXPECT_EQ(problemOf({make("a", "b", false), make("b", "a", false)}),
            "a waits for ever for message 0 of a from 'a' to 'b'; 'b' waits "
            "for message 0 of b from 'b' to 'a'");
  EXPECT_EQ(problemOf({make("a", "b", true), make("b", "a", true)}), "");
}

TEST(ExchangeProgramTest, EverySendHasItsReceive) {
  auto [client, server] = clientAndServer(0, true);
  client.program.items[2].channel = "g";
  EXPECT_EQ(problemOf({client, server}),
            "client sends message 0 of g from 'client' to 'server', which "
            "nobody receives");
  auto [again, other] = clientAndServer(0, true);
  other.program.items[1].type = "tensor<?x4xbf16>";
  EXPECT_EQ(problemOf({again, other}),
            "server receives message 0 of h from 'client' to 'server' as "
            "tensor<?x4xbf16>, but it is sent as tensor<?x4xf32>");
}

// As many as the repeat runs, so one outside is one too many.
TEST(ExchangeProgramTest, SendsAreCountedOverRepeats) {
  auto [client, server] = clientAndServer(0, true);
  size_t more = client.value();
  client.send(more, "server", "h");
  client.wait(more);
  EXPECT_EQ(problemOf({client, server}),
            "client sends message 1 of h from 'client' to 'server', which "
            "nobody receives");
}

TEST(ExchangeProgramTest, ValuesRestWhileTheyTravel) {
  Part early("a");
  size_t x = early.value();
  early.receive(x, "b", "x");
  early.read(x);
  early.wait(x);
  EXPECT_EQ(problemOf({early}),
            "a reads a value before a wait says that it has arrived");
  Part anew("a");
  x = anew.value();
  anew.send(x, "b", "x");
  anew.make(x);
  EXPECT_EQ(problemOf({anew}),
            "a makes a value anew while its message is under way");
  Part never("a");
  x = never.value();
  never.send(x, "b", "x");
  EXPECT_EQ(problemOf({never}),
            "a is sent, and nobody waits until that has happened");
}

// Two iterations in flight need two slots.
TEST(ExchangeProgramTest, OneSlotTooFewIsSeen) {
  auto [client, server] = clientAndServer(1, true);
  server.program.values[0].slots = 1;
  EXPECT_EQ(problemOf({client, server}),
            "server arrives where another message is under way");
}

// Its sender may end only when the receiver has asked for all of it.
TEST(ExchangeProgramTest, ABatchHoldsItsSenderUntilItIsRead) {
  auto make = [](bool comesInPieces) {
    Part leader("a"), follower("b");
    size_t batch = leader.value(), answer = leader.value();
    leader.send(batch, "b", "batch").comesInPieces = comesInPieces;
    leader.wait(batch);
    leader.send(answer, "b", "h");
    leader.wait(answer);
    batch = follower.value(), answer = follower.value();
    follower.receive(batch, "a", "batch").comesInPieces = comesInPieces;
    follower.receive(answer, "a", "h");
    follower.wait(answer);
    follower.wait(batch);
    return std::vector<Part>{leader, follower};
  };
  EXPECT_EQ(problemOf(make(false)), "");
  EXPECT_EQ(problemOf(make(true)).substr(0, 23), "a waits for ever for me");
}

TEST(ExchangeProgramTest, OnlyNumbersMayComeFromAStepBefore) {
  auto [client, server] = clientAndServer(0, true);
  client.program.items[3].behind = server.program.items[4].behind = 2;
  EXPECT_EQ(problemOf({client, server}), "");
  server.program.items[1].behind = client.program.items[2].behind = 1;
  EXPECT_EQ(problemOf({client, server}),
            "server receives message 0 of h from 'client' to 'server' from a "
            "step before, for which it is too large");
}

// Else it would not be sent again after a checkpoint, or never be read.
TEST(ExchangeProgramTest, BothEndsKnowHowLateAMessageIs) {
  auto [client, server] = clientAndServer(0, true);
  client.program.items[3].behind = 2;
  server.program.items[4].behind = 1;
  EXPECT_EQ(problemOf({client, server}),
            "client receives message 0 of loss from 'server' to 'client' of 2 "
            "steps before, but it is sent as one of 1");
}
