//===- GenerateOptionsTest.cpp - The command line of generate -------------===//

#include "program/GenerateOptions.h"

#include <gtest/gtest.h>

using namespace hone::rt;

static Status parse(const std::vector<std::string> &arguments) {
  return GenerateOptions::parse(arguments).status();
}

TEST(GenerateOptions, IsGreedyByDefault) {
  Result<GenerateOptions> options =
      GenerateOptions::parse({"--prompt", "Once"});
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options.value().prompt, "Once");
  EXPECT_EQ(options.value().sampling().temperature, 0);
}

TEST(GenerateOptions, ReadsSampling) {
  Result<GenerateOptions> options = GenerateOptions::parse(
      {"--prompt-ids=1,2", "--temperature", "0.8", "--top-k", "40", "--top-p",
       "0.9", "--seed", "7", "--min-p", "0.05", "--repetition-penalty", "1.1"});
  ASSERT_TRUE(options.isOk());
  SamplingSettings sampling = options.value().sampling();
  EXPECT_EQ(sampling.temperature, 0.8);
  EXPECT_EQ(sampling.topK, 40u);
  EXPECT_EQ(sampling.topP, 0.9);
  EXPECT_EQ(sampling.seed, 7u);
  EXPECT_EQ(sampling.minP, 0.05);
  EXPECT_EQ(sampling.repetitionPenalty, 1.1);
  EXPECT_EQ(options.value().promptIds.size(), 2u);
}

TEST(GenerateOptions, TakesSeveralStopTexts) {
  Result<GenerateOptions> options = GenerateOptions::parse(
      {"--prompt", "a", "--stop", "b,c", "--stop", "\n"});
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options.value().stop, (std::vector<std::string>{"b,c", "\n"}));
  EXPECT_EQ(parse({"--prompt", "a", "--prompt", "b"}).errorCode(),
            ErrorCode::WrongOption);
  EXPECT_EQ(parse({"--prompt", "a", "--stop", ""}).errorCode(),
            ErrorCode::WrongOption);
}

TEST(GenerateOptions, IsAConversationWithoutAPrompt) {
  Result<GenerateOptions> options = GenerateOptions::parse({"--chat"});
  ASSERT_TRUE(options.isOk());
  EXPECT_TRUE(options.value().isConversation());
  EXPECT_EQ(int64_t(options.value().maxNewTokens), GenerateOptions::MostTokens);
  options = GenerateOptions::parse(
      {"--chat", "--max-new-tokens", "7", "--messages", "file"});
  ASSERT_TRUE(options.isOk());
  EXPECT_TRUE(options.value().isConversation());
  EXPECT_EQ(int64_t(options.value().maxNewTokens), 7);
  options = GenerateOptions::parse({"--chat", "--prompt", "a"});
  ASSERT_TRUE(options.isOk());
  EXPECT_FALSE(options.value().isConversation());
  EXPECT_EQ(int64_t(options.value().maxNewTokens), 128);
  options = GenerateOptions::parse({"--messages", "-", "--system", "a"});
  ASSERT_TRUE(options.isOk());
  EXPECT_FALSE(options.value().isConversation());
}

TEST(GenerateOptions, AnEmptyPromptIsAPrompt) {
  Result<GenerateOptions> options = GenerateOptions::parse({"--prompt", ""});
  ASSERT_TRUE(options.isOk()) << options.status().render();
  options = GenerateOptions::parse({"--chat", "--prompt="});
  ASSERT_TRUE(options.isOk()) << options.status().render();
  EXPECT_FALSE(options.value().isConversation());
}

TEST(GenerateOptions, RefusesValuesThatMeanNothing) {
  for (const std::vector<std::string> &bad :
       {std::vector<std::string>{"--temperature", "-1"},
        {"--temperature", "nan"},
        {"--top-p", "0"},
        {"--top-p", "1.5"},
        {"--min-p", "1.5"},
        {"--repetition-penalty", "0"},
        {"--repetition-penalty", "1e-320"},
        {"--top-k", "-3"},
        {"--max-new-tokens", "0"},
        {"--seed", "-1"}}) {
    std::vector<std::string> arguments = {"--prompt", "a"};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    EXPECT_EQ(parse(arguments).errorCode(), ErrorCode::WrongOption) << bad[0];
  }
}

TEST(GenerateOptions, RefusesWhatNothingReads) {
  EXPECT_EQ(parse({}).errorCode(), ErrorCode::MissingOption);
  for (const std::vector<std::string> &both :
       {std::vector<std::string>{"--prompt", "a", "--prompt-file", "b"},
        {"--prompt", "a", "--prompt-ids", "1"},
        {"--prompt-ids", "1", "--chat"},
        {"--prompt", "a", "--system", "b"},
        {"--prompt", "a", "--special-tokens", "parse", "--chat"},
        {"--prompt-ids", "1", "--special-tokens", "parse"},
        {"--prompt", "a", "--messages", "b"},
        {"--chat", "--messages", "-"},
        {"--messages", "a", "--special-tokens", "parse"},
        {"--prompt", "a", "--compare"},
        {"--prompt", "a", "--min-p", "0.1"},
        {"--prompt", "a", "--top-k", "3"},
        {"--prompt", "a", "--top-p", "0.5"},
        {"--prompt", "a", "--seed", "3"},
        {"--prompt", "a", "--stop", "b", "--show-ids"}})
    EXPECT_EQ(parse(both).errorCode(), ErrorCode::OptionsDisagree) << both[2];
}

TEST(GenerateOptions, ListsEveryOption) {
  std::string usage = GenerateOptions::usage();
  GenerateOptions options;
  for (const Setting *setting : options.members())
    EXPECT_NE(usage.find(setting->spelling()), std::string::npos)
        << setting->name;
}
