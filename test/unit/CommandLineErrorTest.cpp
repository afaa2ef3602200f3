//===- CommandLineErrorTest.cpp - Errors of a command line ----------------===//
//
// The texts are those that LLVM's parser printed.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLineError.h"

#include "gtest/gtest.h"

using namespace hone;

static std::string of(const char *said) {
  return commandLineError("hone export", "hone export RUN", said).render();
}

TEST(CommandLineError, SaysWhichOptionAndWhatItExpects) {
  EXPECT_EQ(of("hone: for the --to option: Cannot find option named 'foo'!\n"),
            "error[H0101]: --to: has no value 'foo'\n"
            "  help: see hone export --help\n");
  EXPECT_EQ(of("hone: for the -o option: must be specified at least once!\n"
               "hone: for the --to option: must be specified at least once!\n"),
            "error[H0101]: -o: is missing\n"
            "  help: see hone export --help\n");
  EXPECT_EQ(of("hone: for the -o option: requires a value!\n"),
            "error[H0101]: -o: expects a value but got none\n"
            "  help: see hone export --help\n");
  EXPECT_EQ(of("hone: for the --n option: '-1' value invalid for uint "
               "argument!\n"),
            "error[H0101]: --n: expects a whole number from 0 to 4294967295 "
            "but got '-1'\n"
            "  help: see hone export --help\n");
  EXPECT_EQ(of("hone: for the --n option: '1.5' value invalid for ulong "
               "argument!\n"),
            "error[H0101]: --n: expects a whole number from 0 to "
            "18446744073709551615 but got '1.5'\n"
            "  help: see hone export --help\n");
  EXPECT_EQ(of("hone: for the --n option: '1.5' value invalid for int "
               "argument!\n"),
            "error[H0101]: --n: expects a whole number but got '1.5'\n"
            "  help: see hone export --help\n");
}

TEST(CommandLineError, NamesWhatIsNear) {
  EXPECT_EQ(of("hone: Unknown command line argument '--jso'.  Try: 'hone "
               "--help'\nhone: Did you mean '--json'?\n"),
            "error[H0101]: --jso: there is no such option\n"
            "  help: did you mean --json?\n");
  EXPECT_EQ(of("hone: Unknown subcommand 'chta'.  Try: 'hone --help'\n"
               "hone: Did you mean 'chat'?\n"),
            "error[H0101]: chta: there is no such command\n"
            "  help: did you mean chat?\n");
}

TEST(CommandLineError, CountsArguments) {
  EXPECT_EQ(of("hone: Not enough positional command line arguments specified!\n"
               "Must specify at least 1 positional argument: See: hone "
               "--help\n"),
            "error[H0101]: hone export: expects more arguments\n"
            "  help: write hone export RUN\n");
  EXPECT_EQ(
      of("hone: Unknown command line argument 'x'.  Try: 'hone --help'\n"),
      "error[H0101]: hone export: 'x' is one argument too many\n"
      "  help: write hone export RUN\n");
}

TEST(CommandLineError, EmptyTextsAreNoValues) {
  const auto of = [](const char *command, std::vector<std::string> arguments,
                     bool passesOn = false) {
    const Status status = checkEmptyArguments(command, arguments, passesOn);
    return status.isOk() ? std::string() : status.message().place;
  };
  EXPECT_EQ(of("honec", {"spec.yaml", "-o", "out", "--set", "a.b=c"}), "");
  EXPECT_EQ(of("honec", {"spec.yaml", "-o", ""}), "-o");
  EXPECT_EQ(of("honec", {"spec.yaml", "--target="}), "--target");
  EXPECT_EQ(of("honec", {""}), "honec");
  EXPECT_EQ(of("hone finetune", {"finetune", "model", ""}), "hone finetune");
  EXPECT_EQ(of("hone finetune", {"finetune", "m", "d", "--", "--map", ""}), "");
  EXPECT_EQ(of("hone generate", {"generate", "run", "--prompt", ""}, true), "");
  EXPECT_EQ(of("hone generate", {"generate", ""}, true), "hone generate");
}

TEST(CommandLineError, AnUnknownMessageIsSaidAsItIs) {
  EXPECT_EQ(of("hone: something new\n"),
            "error[H0101]: hone export: something "
            "new\n  help: see hone export --help\n");
}
