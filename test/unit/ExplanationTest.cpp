//===- ExplanationTest.cpp - The catalogue of errors ----------------------===//

#include "compiler/driver/Explanation.h"
#include "program/Options.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

using namespace hone;
using llvm::StringRef;
using rt::ErrorCode;

TEST(Explanation, CodesAscendWithinTheirGroups) {
  std::string before;
  auto group = explanationGroups().begin();
  for (const Explanation &each : explanations()) {
    StringRef code = rt::textOf(each.code);
    EXPECT_TRUE(code.size() == 5 && code[0] == 'H' &&
                llvm::all_of(code.drop_front(), llvm::isDigit))
        << code.str();
    EXPECT_LT(before, code.str()) << "unique, and in order";
    before = code.str();
    while (group != explanationGroups().end() &&
           !code.starts_with(group->prefix))
      ++group;
    ASSERT_NE(group, explanationGroups().end()) << code.str();
  }
  EXPECT_EQ(group + 1, explanationGroups().end()) << "no group is empty";
}

TEST(Explanation, EveryExitCodeIsInTheHelpOfATrainingBinary) {
  std::string help = rt::Options::usage(rt::Options::defaults(rt::Settings()));
  std::string section = help.substr(help.find("exit codes"));
  for (char &c : section)
    c = llvm::isSpace(c) ? ' ' : c;
  for (const Explanation &each : explanations()) {
    int exit = static_cast<int>(rt::exitCodeOf(each.code));
    EXPECT_NE(section.find(" " + std::to_string(exit) + " "), std::string::npos)
        << rt::textOf(each.code);
  }
}

TEST(Explanation, IsFoundByItsCode) {
  auto text = explain("H0202");
  ASSERT_TRUE(text.isOk());
  EXPECT_EQ(text.value().find("H0202: the spec has a key that does not exist\n"
                              "exit code 2\n\nA key is misspelt"),
            0u)
      << text.value();
  EXPECT_EQ(explain("h0202").value(), text.value());
  for (const char *wrong : {"", "H0", "H0299", "202", "H02020", "--explain"}) {
    auto unknown = explain(wrong);
    EXPECT_EQ(unknown.status().errorCode(), ErrorCode::UnknownCode) << wrong;
    EXPECT_NE(unknown.status().message().remedy.find("from H0101 to H"),
              std::string::npos);
  }
}

TEST(Explanation, AllHasEveryTitleOnce) {
  std::string all = explain("all").value();
  for (const Explanation &each : explanations()) {
    std::string line = std::string("  ") + rt::textOf(each.code) + "  " +
                       each.title.str() + "\n";
    size_t at = all.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    EXPECT_EQ(all.find(line, at + 1), std::string::npos) << line;
  }
}

TEST(Explanation, AnErrorIsRenderedWithItsCode) {
  rt::Status status = rt::Status(ErrorCode::UnknownKey, "spec.yaml:2:1: trian",
                                 "unknown key", "hint");
  EXPECT_EQ(status.render(),
            "error[H0202]: spec.yaml:2:1: trian: unknown key\n  help: hint\n");
  EXPECT_EQ(status.exitCode(), rt::ExitCode::Usage);
  EXPECT_EQ(rt::Status::ok().render(), "");
  EXPECT_EQ(rt::Status::ok().exitCode(), rt::ExitCode::Success);
  EXPECT_FALSE(rt::Status::ok().errorCode());
}
