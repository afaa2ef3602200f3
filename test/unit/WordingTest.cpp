//===- WordingTest.cpp - Users' words for the names in messages -----------===//

#include "base/Wording.h"

#include "gtest/gtest.h"

using namespace hone::rt;

static const Wording words({{"--output", "-o"},
                            {"--data", "DATA"},
                            {"compile with", "begin another run with"},
                            {"compile with --set", "give --set"}});

TEST(Wording, TheLongestIsTaken) {
  EXPECT_EQ(words.apply("error: --output: give another --output"),
            "error: -o: give another -o");
  EXPECT_EQ(words.apply("help: compile with --set a=b, or compile with c"),
            "help: give --set a=b, or begin another run with c");
}

TEST(Wording, OnlyWholeWordsAre) {
  for (const char *same : {"--data-digest", "x--data", "/tmp/--data", "--dat",
                           "--data_", "compile without", ""})
    EXPECT_EQ(words.apply(same), same);
}

TEST(Wording, ALineEndIsSpace) {
  EXPECT_EQ(words.apply("or compile\nwith c"), "or begin another run with c");
}

TEST(Wording, IsReadAsItIsWritten) {
  const Wording read = Wording::parse("no words\n=x\n" + words.text());
  EXPECT_EQ(read.text(), words.text());
  EXPECT_EQ(Wording::parse("").apply("--data"), "--data");
}
