//===- ChatInputTest.cpp - The turns of a person, line by line ------------===//

#include "program/ChatInput.h"

#include <gtest/gtest.h>

using namespace hone::rt;

/// The turns that are read of `text`, which comes in pieces of `size` bytes.
static std::vector<std::string> turnsOf(const std::string &text, size_t size,
                                        std::string *prompts = nullptr) {
  size_t at = 0;
  ChatInput input(
      [&](std::string &out, bool &isEnd) {
        out += text.substr(at, size);
        isEnd = at == text.size();
        at = std::min(at + size, text.size());
        return Status::ok();
      },
      [&](bool goesOn) {
        if (prompts)
          *prompts += goesOn ? '.' : '>';
      });
  std::vector<std::string> out;
  for (;;) {
    std::string turn;
    bool isEnd = false;
    Status status = input.next(turn, isEnd);
    if (isEnd)
      return out;
    out.push_back(status.isOk() ? turn : status.message().place);
  }
}

using Turns = std::vector<std::string>;

TEST(ChatInput, HasATurnForEachLine) {
  for (size_t size : {1, 2, 3, 5, 100}) {
    EXPECT_EQ(turnsOf("", size), Turns());
    EXPECT_EQ(turnsOf("one\ntwo\n", size), (Turns{"one", "two"}));
    EXPECT_EQ(turnsOf("one\n\ntwo", size), (Turns{"one", "", "two"}));
    EXPECT_EQ(turnsOf("one\r\ntwo\r\n", size), (Turns{"one", "two"}));
  }
}

TEST(ChatInput, GoesOnAfterABackslash) {
  for (size_t size : {1, 2, 3, 5, 100}) {
    std::string prompts;
    EXPECT_EQ(turnsOf("one\\\ntwo\\\nthree\nfour\n", size, &prompts),
              (Turns{"one\ntwo\nthree", "four"}));
    EXPECT_EQ(prompts, ">..>>");
    EXPECT_EQ(turnsOf("one\\", size), (Turns{"one\n"}));
    EXPECT_EQ(turnsOf("o\\ne\n", size), (Turns{"o\\ne"}));
  }
}

TEST(ChatInput, GoesOnAfterWhatIsNoTurn) {
  for (size_t size : {1, 7, 4096}) {
    EXPECT_EQ(turnsOf("one\na\xFFz\n\xC0\xAF\ntwo\n", size),
              (Turns{"one", "standard input:2", "standard input:3", "two"}));
    const std::string longest(ChatInput::LongestTurn, 'a');
    EXPECT_EQ(turnsOf(longest + "\n" + longest + "a\nb\n", size),
              (Turns{longest, "standard input:2", "b"}));
    EXPECT_EQ(turnsOf(longest + "\\\n" + longest + "\nb", size),
              (Turns{"standard input:2", "b"}));
    EXPECT_EQ(turnsOf(longest + "a", size), (Turns{"standard input:1"}));
  }
}
