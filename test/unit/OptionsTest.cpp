//===- OptionsTest.cpp - The command line of a training binary ------------===//
//
// Every refusal must name the option, the expected value and the given one.
//
//===----------------------------------------------------------------------===//

#include "program/Options.h"
#include "base/NearestName.h"
#include "program/Meeting.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hone::rt;

static Result<Options> parse(std::vector<std::string> arguments) {
  auto defaults = Options::defaults(Settings());
  return Options::parse(arguments, defaults);
}

static std::string refusal(std::vector<std::string> arguments,
                           ErrorCode code = ErrorCode::WrongOption) {
  arguments.insert(arguments.begin(), {"--data", "d", "--output", "o"});
  auto result = parse(arguments);
  EXPECT_FALSE(result.isOk());
  EXPECT_EQ(result.status().errorCode(), code);
  return result.status().render();
}

TEST(Options, ACompiledSettingSaysWhereItBelongs) {
  EXPECT_EQ(refusal({"--optimizer", "sgd"}),
            "error[H0101]: --optimizer: is no option, since train.optimizer "
            "is compiled in\n"
            "  help: set train.optimizer in the spec and compile again\n");
}

TEST(Options, MeetOverGrpcByAddressesAndKeys) {
  Options options;
  options.output = "/runs/a/";
  options.serve = "0.0.0.0:1";
  options.keys = "k";
  options.admit = "n";
  ASSERT_TRUE(meetOverNetwork(options).isOk());
  EXPECT_EQ(options.exchange, "grpc");
  EXPECT_EQ(options.exchangeAt, "serve=0.0.0.0:1,keys=k,admit=n");
  auto atOf = [](const char *connect, const char *output) {
    Options own;
    own.output = output;
    own.connect = connect;
    EXPECT_TRUE(meetOverNetwork(own).isOk());
    return std::string(own.exchangeAt);
  };
  const std::string one = atOf("[::1]:1", "/runs/a");
  EXPECT_EQ(one.substr(0, one.find(",run=")), "connect=[::1]:1");
  // A run is its folder, however that is written.
  EXPECT_EQ(one, atOf("[::1]:1", "/runs/a/"));
  EXPECT_NE(one, atOf("[::1]:1", "/runs/b"));
  const std::string two = atOf("b=h:1,c=unix:x=y,unix:p=q", "o");
  EXPECT_EQ(two.substr(0, two.find(",run=")),
            "connect.b=h:1,connect.c=unix:x=y,connect=unix:p=q");
}

TEST(Options, RefuseHalvesOfAMeeting) {
  refusal({"--keys", "k"}, ErrorCode::MissingOption);
  refusal({"--connect", "h:1", "--admit", "n"}, ErrorCode::MissingOption);
  refusal({"--serve", "h:1", "--exchange", "test"}, ErrorCode::OptionsDisagree);
  refusal({"--connect", "h:1", "--exchange-at", "a"},
          ErrorCode::OptionsDisagree);
  refusal({"--serve", "unix:a,b"});
}

TEST(Options, BoundsAreWhatWasCompiledIn) {
  EXPECT_EQ(refusal({"--batch-size", "4"}, ErrorCode::OptionsDisagree),
            "error[H0103]: --batch-size: expects batches of at most 256 rows, "
            "which were compiled in, but 4 sequences of up to 256 tokens have "
            "1024\n"
            "  help: give --max-seq-length 64, or compile with a larger "
            "batch_size\n");
  EXPECT_NE(refusal({"--max-seq-length", "257"}, ErrorCode::OptionsDisagree)
                .find("at most 256"),
            std::string::npos);
  refusal({"--batch-size", "0"});
  refusal({"--max-seq-length", "1"});
  auto fits = parse(
      {"--data=d", "--output=o", "--batch-size=4", "--max-seq-length=64"});
  ASSERT_TRUE(fits.isOk()) << fits.status().render();
  EXPECT_EQ(fits.value().settings.train.batch_size, 4);
}

TEST(Options, KeepWhatTheModuleWasCompiledWith) {
  Settings compiled;
  compiled.train.learning_rate = 0.5;
  compiled.train.lr_scheduler_type = "cosine";
  compiled.train.steps = 9;
  auto defaults = Options::defaults(compiled);
  auto options = Options::parse({"--data", "d", "--output", "o"}, defaults);
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options.value().settings.train.learning_rate, 0.5);
  EXPECT_EQ(options.value().settings.train.lr_scheduler_type, "cosine");
  EXPECT_EQ(options.value().settings.train.steps, 9);
  EXPECT_EQ(options.value().settings.train.max_grad_norm, 1.0);
}

TEST(Options, RefuseWhatAnUpdateInTheBackwardCannotDo) {
  Settings compiled;
  compiled.train.optimizer_in_backward = true;
  compiled.train.max_grad_norm = 0;
  auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--data=d", "--output=o"});
    auto result = Options::parse(arguments, Options::defaults(compiled));
    return result.isOk() ? "" : result.status().render();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({"--max-grad-norm", "1"})
                .find("error[H0103]: --max-grad-norm: expects 0"),
            std::string::npos);
  EXPECT_NE(refusal({"--gradient-accumulation-steps", "2"})
                .find("error[H0103]: --gradient-accumulation-steps: expects 1"),
            std::string::npos);
}

TEST(Options, EpochsOverrideCompiledSteps) {
  Settings compiled;
  compiled.train.steps = 9;
  auto options = Options::parse({"--data=d", "--output=o", "--epochs=2"},
                                Options::defaults(compiled));
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options.value().settings.train.steps, 0);
  EXPECT_EQ(options.value().settings.train.epochs, 2);
}

TEST(Options, ReadEveryKindOfArgument) {
  auto options =
      parse({"--data", "d", "--output=o", "--learning-rate", "1e-4",
             "--seed=18446744073709551615", "--seed", "5", "--shuffle", "false",
             "--lr-scheduler-type", "constant_with_warmup"});
  EXPECT_FALSE(options.isOk()); // 2^64 - 1 is beyond the range
  options = parse({"--data", "d", "--output=o", "--learning-rate", "1e-4",
                   "--seed", "5", "--shuffle", "false", "--lr-scheduler-type",
                   "constant_with_warmup"});
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options.value().output, "o");
  EXPECT_EQ(options.value().settings.train.learning_rate, 1e-4);
  EXPECT_EQ(options.value().settings.train.seed, 5);
  EXPECT_FALSE(options.value().settings.train.shuffle);
  EXPECT_TRUE(options.value().settings.train.hasConstantRate());
}

TEST(Options, SuggestTheNearestName) {
  EXPECT_EQ(refusal({"--learning-rte", "1"}),
            "error[H0101]: --learning-rte: there is no such option\n"
            "  help: did you mean --learning-rate?\n");
  EXPECT_NE(refusal({"--frobnicate"}).find("--help"), std::string::npos);
}

TEST(Options, RefuseValuesOutOfRange) {
  EXPECT_EQ(refusal({"--learning-rate", "nan"}),
            "error[H0101]: --learning-rate: expects a number at least 0 but "
            "got 'nan'\n  help: write --learning-rate X\n");
  EXPECT_NE(refusal({"--learning-rate", "-1"}).find("'-1'"), std::string::npos);
  EXPECT_NE(refusal({"--learning-rate", "1e999"}).find("a number"),
            std::string::npos);
  EXPECT_NE(refusal({"--learning-rate", "0x1"}).find("a number"),
            std::string::npos);
  EXPECT_NE(refusal({"--epochs", "0"}).find("at least 1"), std::string::npos);
  EXPECT_NE(refusal({"--steps", "ten"}).find("'ten'"), std::string::npos);
  EXPECT_NE(refusal({"--steps", "1.5"}).find("an integer"), std::string::npos);
  EXPECT_NE(refusal({"--threads", "-1"}).find("from 0 to 1024"),
            std::string::npos);
  EXPECT_NE(refusal({"--shuffle", "maybe"}).find("true or false"),
            std::string::npos);
  EXPECT_NE(refusal({"--lr-scheduler-type", "step"}).find("cosine"),
            std::string::npos);
  EXPECT_NE(refusal({"--log", ""}).find("expects a path"), std::string::npos);
}

TEST(Options, RefuseWhatMakesNoSense) {
  EXPECT_NE(
      refusal({"--steps", "1", "--epochs", "1"}, ErrorCode::OptionsDisagree)
          .find("one of the two"),
      std::string::npos);
  EXPECT_NE(refusal({"--eval-every", "2"}, ErrorCode::MissingOption)
                .find("--eval-data"),
            std::string::npos);
  EXPECT_NE(
      refusal({"--eval-only"}, ErrorCode::MissingOption).find("--eval-data"),
      std::string::npos);
  EXPECT_NE(refusal({"--plan=yes"}).find("takes no argument"),
            std::string::npos);
  EXPECT_NE(refusal({"--steps"}).find("got none"), std::string::npos);
  EXPECT_NE(refusal({"data.txt"}).find("expects an option"), std::string::npos);
  EXPECT_FALSE(parse({"--output", "o"}).isOk());
  EXPECT_FALSE(parse({"--data", "d"}).isOk());
}

TEST(Options, AskForLittleWhenNothingIsTrained) {
  EXPECT_TRUE(parse({"--help"}).isOk());
  EXPECT_TRUE(parse({"--plan"}).isOk());
  EXPECT_TRUE(parse({"--version"}).isOk());
  EXPECT_TRUE(parse({"--data", "d", "--dump-gradients", "g"}).isOk());
  EXPECT_TRUE(parse({"--eval-only", "--eval-data", "e"}).isOk());
  EXPECT_TRUE(parse({"--eval-only", "--eval-data", "e", "--adapter", "a",
                     "--output", "o", "--threads", "2"})
                  .isOk());
  EXPECT_TRUE(parse({"--data", "d", "--dump-gradients", "g", "--seed", "1",
                     "--output", "o", "--no-verify"})
                  .isOk());
}

TEST(Options, RefuseWhatIsNotReadWhenNothingIsTrained) {
  const auto expectUnread = [](std::vector<std::string> arguments,
                               const std::string &mode,
                               std::vector<std::string> unread) {
    arguments.push_back(mode);
    for (const std::string &name : unread) {
      arguments.insert(arguments.begin(), {name, "1"});
      Status status = parse(arguments).status();
      EXPECT_EQ(status.errorCode(), ErrorCode::OptionsDisagree) << name;
      EXPECT_EQ(status.message().place, name);
      EXPECT_EQ(status.message().problem,
                mode.substr(0, mode.find('=')) +
                    " trains nothing and does not read it");
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
  };
  expectUnread({"--eval-data", "e"}, "--eval-only",
               {"--data", "--log", "--profile", "--dump-gradients",
                "--learning-rate", "--eval-every", "--seed"});
  expectUnread({"--data", "d"}, "--dump-gradients=g",
               {"--eval-data", "--steps", "--max-grad-norm", "--save-every",
                "--gradient-accumulation-steps"});
}

TEST(Options, StepsOfZeroLeaveItToTheEpochs) {
  Result<Options> options =
      parse({"--data", "d", "--output", "o", "--steps", "0", "--epochs", "2"});
  ASSERT_TRUE(options.isOk()) << options.status().render();
  EXPECT_EQ(options.value().settings.train.steps, 0);
  EXPECT_EQ(options.value().settings.train.epochs, 2);
}

TEST(Options, AreOfOneTableWithTheSpec) {
  // A setting is compiled in, an option, or both; none is both ways.
  Options options = Options::defaults(Settings());
  std::vector<std::string> names;
  for (const Setting *setting : options.all()) {
    EXPECT_NE(setting->setBy, SetBy::Spec) << setting->key();
    EXPECT_FALSE(std::count(names.begin(), names.end(), setting->option()))
        << setting->option();
    names.push_back(setting->option());
  }
  EXPECT_TRUE(std::count(names.begin(), names.end(), "learning-rate"));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "batch-size"));
  EXPECT_FALSE(std::count(names.begin(), names.end(), "compute-dtype"));
}

TEST(Options, HelpShowsEveryOptionAndTheExitCodes) {
  std::string text = Options::usage(Options::defaults(Settings()));
  for (const char *word : {"--data FILE", "--dump-gradients FILE", "--plan",
                           "[5e-05]", "[linear]", "130"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(Options, TasksHaveNoSpecialTokens) {
  Settings compiled;
  compiled.train.task = "sst2";
  auto defaults = Options::defaults(compiled);
  auto result = Options::parse(
      {"--data", "d", "--output", "o", "--special-tokens", "parse"}, defaults);
  ASSERT_FALSE(result.isOk());
  EXPECT_NE(
      result.status().render().find("--special-tokens: a task's examples"),
      std::string::npos);
}

TEST(Options, RefuseOneThatIsGivenTwice) {
  for (std::vector<std::string> twice :
       {std::vector<std::string>{"--data", "e"},
        {"--data=d"},
        {"--seed", "1", "--seed", "2"},
        {"--no-verify", "--no-verify"}})
    EXPECT_NE(refusal(twice).find("is given more than once"), std::string::npos)
        << twice.front();
}

TEST(Options, APartOfTheDataIsCountedInWholeSamples) {
  const auto with = [](const char *part) {
    return parse({"--data", "d", "--output", "o", "--eval-split", part});
  };
  for (const char *part : {"0.5", "7", "9007199254740992"})
    EXPECT_TRUE(with(part).isOk()) << part;
  for (const char *part : {"1.5", "1e17", "1e300"})
    EXPECT_EQ(with(part).status().errorCode(), ErrorCode::WrongOption) << part;
}

TEST(Options, ATimeHasAUnitOrIsInSeconds) {
  const auto with = [](const char *time) {
    return parse({"--data", "d", "--output", "o", "--for", time});
  };
  for (auto [text, seconds] : {std::pair("200s", 200.0), std::pair("5m", 300.0),
                               std::pair("2h", 7200.0), std::pair("0.5", 0.5),
                               std::pair("1e-3s", 1e-3)}) {
    Result<Options> parsed = with(text);
    ASSERT_TRUE(parsed.isOk()) << text;
    EXPECT_EQ(parsed.value().timeLimit.seconds(), seconds);
    Options again;
    EXPECT_TRUE(again.timeLimit.parse(parsed.value().timeLimit.text()));
    EXPECT_EQ(again.timeLimit.seconds(), seconds);
  }
  for (const char *wrong : {"", "0", "-1s", "s", "5 m", "5d", "inf", "1e300h"})
    EXPECT_EQ(with(wrong).status().errorCode(), ErrorCode::WrongOption)
        << wrong;
}

TEST(Options, AnEvaluationDoesNotStopInItsMiddle) {
  Result<Options> parsed = parse(
      {"--data", "d", "--output", "o", "--for", "20s", "--eval-data", "e"});
  EXPECT_EQ(parsed.status().errorCode(), ErrorCode::OptionsDisagree);
  EXPECT_TRUE(
      parse({"--data", "d", "--output", "o", "--suspend", "--eval-data", "e"})
          .isOk());
}

TEST(Options, TheChatTemplatesDateIsADay) {
  const auto with = [](const char *date) {
    return parse({"--data", "d", "--output", "o", "--chat-date", date});
  };
  EXPECT_TRUE(with("2024-02-29").isOk());
  for (const char *date : {"2023-02-29", "2024-13-01", "2024-1-1", "today",
                           "1899-12-31", "2024-00-10", "2024-02-30x"}) {
    Result<Options> parsed = with(date);
    EXPECT_EQ(parsed.status().errorCode(), ErrorCode::WrongOption) << date;
    EXPECT_EQ(parsed.status().message().place, "--chat-date");
  }
}

TEST(NearestName, OffersNothingThatIsFar) {
  EXPECT_EQ(nearestName("sed", {"steps", "seed"}), "seed");
  EXPECT_EQ(nearestName("grad", {"gradient", "data"}), "gradient");
  EXPECT_EQ(nearestName("zzzzzz", {"steps", "seed"}), "");
}
