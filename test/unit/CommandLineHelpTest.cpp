//===- CommandLineHelpTest.cpp - The --help of a tool ---------------------===//
//
// The texts are those that LLVM's parser printed.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLineHelp.h"

#include "gtest/gtest.h"

using namespace hone;

TEST(CommandLineHelp, OfATool) {
  EXPECT_EQ(
      commandLineHelp(
          "OVERVIEW: Compiles a model\n\n"
          "USAGE: honec [options] SPEC.yaml\n\n"
          "OPTIONS:\n\n"
          "Generic Options:\n\n"
          "  --help               - Display available options\n"
          "  --help-list          - Display list of available options\n"
          "  --version            - Display the version of this program\n\n"
          "honec options:\n\n"
          "  --emit=<value>       - what to write\n"
          "    =mlir              -   MLIR after lowering\n"
          "  -o <path>            - folder for programs and "
          "weights.hone.safetensors; a file for the other kinds of --emit\n"
          "  --print-plan         - print the memory plan\n"
          "  --print-plan=<value> - print the memory plan\n"
          "    =<empty>           -   for a person\n"),
      "Compiles a model.\n\n"
      "usage: honec [options] SPEC.yaml\n\n"
      "options:\n"
      "  --emit=<value>          what to write\n"
      "    =mlir                 MLIR after lowering\n"
      "  -o <path>               folder for programs and "
      "weights.hone.safetensors; a\n"
      "                          file for the other kinds of --emit\n"
      "  --print-plan[=<value>]  print the memory plan\n"
      "    =<empty>              for a person\n"
      "  --help                  print this and exit\n"
      "  --version               print versions and exit\n");
}

TEST(CommandLineHelp, OfCommandsAndOfOne) {
  EXPECT_EQ(commandLineHelp(
                "OVERVIEW: Fine-tunes language models\n\n"
                "USAGE: hone [subcommand] [options]\n\n"
                "SUBCOMMANDS:\n\n"
                "  chat - talk to a run's adapter\n"
                "  plan - print the memory plan\n\n"
                "  Type \"hone <subcommand> --help\" to get more help on a "
                "specific subcommand\n\n"
                "OPTIONS:\n\n"
                "Color Options:\n\n"
                "  --color   - Use colors in output (default=autodetect)\n\n"
                "Generic Options:\n\n"
                "  --version - Display the version of this program\n"),
            "Fine-tunes language models.\n\n"
            "usage: hone COMMAND [options]\n\n"
            "commands:\n"
            "  chat  talk to a run's adapter\n"
            "  plan  print the memory plan\n\n"
            "options:\n"
            "  --help     print this and exit\n"
            "  --version  print versions and exit\n\n"
            "hone COMMAND --help describes a command.\n");
  EXPECT_EQ(commandLineHelp("OVERVIEW: Fine-tunes language models\n\n"
                            "SUBCOMMAND 'plan': print the memory plan\n\n"
                            "USAGE: hone plan [options] MODEL\n\n"
                            "OPTIONS:\n\n"
                            "plan:\n\n"
                            "  --json - for a program\n"),
            "Print the memory plan.\n\n"
            "usage: hone plan [options] MODEL\n\n"
            "options:\n"
            "  --json  for a program\n"
            "  --help  print this and exit\n");
}

TEST(CommandLineHelp, LeavesOtherTextsAsTheyAre) {
  EXPECT_EQ(commandLineHelp("honec 1.0, LLVM 22\n"), "honec 1.0, LLVM 22\n");
  EXPECT_EQ(commandLineHelp(""), "");
}
