//===- CommandLineHelp.cpp - The text of a tool's --help ------------------===//

#include "compiler/driver/CommandLineHelp.h"

#include "base/HelpText.h"

#include "llvm/ADT/StringExtras.h"

using namespace hone;
using llvm::StringRef;
using Rows = std::vector<rt::HelpRow>;

/// Every tool of LLVM has these. Help and version have our words, at the end.
static bool isGeneric(StringRef name) {
  return llvm::is_contained({"--help", "--help-list", "--version", "--color"},
                            name);
}

/// Adds a line "  --emit=<value>   - what to write", or one of its values:
/// "    =mlir   -   MLIR after lowering".
static void addRow(Rows &rows, StringRef line) {
  const auto [left, right] = line.split(" - ");
  std::string name = left.trim().str();
  const StringRef text = right.trim();
  if (isGeneric(name))
    return;
  if (StringRef(name).starts_with("="))
    name = "  " + name;
  // An option whose value may be missing is said twice.
  StringRef value = name;
  if (!rows.empty() && value.consume_front(rows.back().name) &&
      value.starts_with("="))
    rows.back().name += "[" + value.str() + "]";
  else
    rows.push_back({name, text.str()});
}

static std::string sentence(StringRef text) {
  return llvm::toUpper(text.front()) + text.drop_front().str() + ".";
}

std::string hone::commandLineHelp(StringRef said) {
  if (!said.starts_with("OVERVIEW: "))
    return said.str();
  std::string about, usage, tool;
  Rows commands, options, *rows = nullptr;
  bool hasVersion = false;
  for (StringRef line : llvm::split(said, '\n')) {
    if (line.consume_front("OVERVIEW: ")) {
      about = line.trim().str();
    } else if (line.consume_front("SUBCOMMAND '")) {
      about = line.split("': ").second.trim().str();
    } else if (line.consume_front("USAGE: ")) {
      tool = line.split(' ').first.str();
      const auto [before, after] = line.split("[subcommand]");
      usage = before.str() + (before == line ? "" : "COMMAND") + after.str();
    } else if (line.starts_with("SUBCOMMANDS:")) {
      rows = &commands;
    } else if (line.starts_with("OPTIONS:")) {
      rows = &options;
    } else if (rows && line.starts_with("  ") && line.contains(" - ")) {
      hasVersion |= line.trim().starts_with("--version ");
      addRow(*rows, line);
    }
  }
  options.push_back({"--help", "print this and exit"});
  if (hasVersion)
    options.push_back({"--version", "print versions and exit"});
  std::string out = rt::wrapped(sentence(about), 0) + "\n\nusage: " +
                    rt::wrapped(usage, /*indent=*/7, /*used=*/7) + "\n";
  if (!commands.empty())
    out += "\ncommands:\n" + rt::helpTable(commands);
  out += "\noptions:\n" + rt::helpTable(options);
  if (!commands.empty())
    out += "\n" + tool + " COMMAND --help describes a command.\n";
  return out;
}
