//===- Explanation.cpp - The meaning of an error code ---------------------===//
//
// The only place that has the catalogue's texts.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Explanation.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <string_view>

using namespace hone;
using llvm::StringRef;

/// A title is a phrase, and fits a line of the list with its code.
static constexpr bool isTitle(std::string_view text) {
  return !text.empty() && text.size() <= 72 && text.back() != '.';
}

/// An explanation is two to six lines that fit a terminal, after a line break.
static constexpr bool isFewLines(std::string_view text) {
  if (text.empty() || text.front() != '\n' || text.back() != '.')
    return false;
  size_t lines = 0;
  while (!text.empty()) {
    text.remove_prefix(1);
    size_t width = std::min(text.find('\n'), text.size());
    if (width == 0 || width > 79)
      return false;
    text.remove_prefix(width);
    ++lines;
  }
  return lines >= 2 && lines <= 6;
}

// Checked here, so that no tool is built with a text that does not fit.
#define HONE_ERROR(code, name, exitCode, title, explanation)                   \
  static_assert(isTitle(title), #code ": a title has at most 72 bytes");       \
  static_assert(isFewLines(explanation), #code                                 \
                ": an explanation has 2 to 6 lines of at most 79 bytes");
#include "base/Errors.def"

static constexpr Explanation all[] = {
#define HONE_ERROR(code, name, exitCode, title, explanation)                   \
  {ErrorCode::name, title, explanation},
#include "base/Errors.def"
};

static constexpr ExplanationGroup groups[] = {
#define HONE_ERRORS(prefix, title) {#prefix, title},
#include "base/Errors.def"
};

llvm::ArrayRef<Explanation> hone::explanations() { return all; }
llvm::ArrayRef<ExplanationGroup> hone::explanationGroups() { return groups; }

static std::string listAll() {
  std::string out;
  for (const ExplanationGroup &group : groups) {
    out += (out.empty() ? "" : "\n") + group.title.str() + "\n";
    for (const Explanation &each : all)
      if (StringRef code = rt::textOf(each.code);
          code.starts_with(group.prefix))
        out += "  " + code.str() + "  " + each.title.str() + "\n";
  }
  return out;
}

Result<std::string> hone::explain(StringRef code) {
  if (code == "all")
    return listAll();
  std::vector<std::string> codes;
  for (const Explanation &each : all) {
    codes.push_back(rt::textOf(each.code));
    if (code.equals_insensitive(codes.back()))
      return codes.back() + ": " + each.title.str() + "\nexit code " +
             std::to_string(static_cast<int>(rt::exitCodeOf(each.code))) +
             "\n" + each.text.str() + "\n";
  }
  return Status(ErrorCode::UnknownCode, "--explain",
                "no error has the code '" + code.str() + "'",
                "codes are H and four digits, from " + codes.front() + " to " +
                    codes.back() + "; honec --explain all lists them");
}
