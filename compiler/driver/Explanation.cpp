//===- Explanation.cpp - What an error code means -------------------------===//
//
// The only place that has the catalogue's texts.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Explanation.h"

#include "llvm/ADT/STLExtras.h"

using namespace hone;
using llvm::StringRef;

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
