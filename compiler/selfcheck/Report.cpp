//===- Report.cpp - The result of a self-check ----------------------------===//

#include "compiler/selfcheck/Report.h"
#include "compiler/selfcheck/Numbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace hone;
using namespace hone::selfcheck;

void Check::add(double found, const std::string &wrong) {
  error = larger(error, found);
  if (!(found <= limit))
    culprit += (culprit.empty() ? "" : ", ") + wrong;
}

bool Report::holds() const {
  return llvm::all_of(checks, [](const Check &c) { return c.holds(); });
}

std::string Report::table() const {
  std::string text;
  for (const Check &check : checks) {
    text += llvm::formatv("{0,-6} {1,8:e1} of {2:e0}  {3,-29} {4}",
                          check.holds() ? "ok" : "FAILED", check.error,
                          check.limit, check.method, check.subject);
    if (!check.culprit.empty())
      text += ": " + check.culprit;
    text += "\n";
  }
  size_t failed =
      llvm::count_if(checks, [](const Check &c) { return !c.holds(); });
  text += std::to_string(checks.size()) + " checks, " + std::to_string(failed) +
          " failed\n";
  return text;
}

Status Report::status(const std::string &place) const {
  auto failed =
      llvm::find_if(checks, [](const Check &c) { return !c.holds(); });
  if (failed == checks.end())
    return Status::ok();
  std::string what = failed->subject;
  if (!failed->culprit.empty())
    what += ": " + failed->culprit;
  return Status(
      ErrorCode::SelfCheckFailed, place,
      llvm::formatv("{0}, {1}: expected an error of at most {2:e0} but "
                    "found {3:e1}",
                    failed->method, what, failed->limit, failed->error),
      "do not train with this spec; please report it with config.json");
}
