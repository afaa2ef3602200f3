//===- MachineProfileFile.cpp - Measured rates of a machine ---------------===//

#include "compiler/spec/MachineProfileFile.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/NearestName.h"
#include "base/Sha256.h"
#include "base/Utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace hone;

static constexpr const char *remedy =
    "write one with ./dev bench --profile FILE, or leave target.profile out";

/// Bytes of a name in a message: it may be as long as the file.
static constexpr size_t LongestShown = 80;

static Status wrong(const std::string &path, const std::string &name,
                    const std::string &expected) {
  return Status(ErrorCode::BadProfile, path,
                "expected '" + rt::shortened(name, LongestShown) + "' to be " +
                    expected,
                remedy);
}

/// An unknown key is a misspelt one, whose value a plan would go without.
static Status checkKeys(const rt::Json &object, const std::string &path,
                        const std::string &place,
                        const std::vector<std::string> &known) {
  for (const auto &[key, value] : object.object()) {
    if (llvm::is_contained(known, key))
      continue;
    const std::string nearest = rt::nearestName(std::string(key), known);
    return Status(ErrorCode::BadProfile, path,
                  "'" + rt::shortened(place + std::string(key), LongestShown) +
                      "' is no key of a profile",
                  nearest.empty() ? "its keys are " + llvm::join(known, ", ")
                                  : "did you mean '" + nearest + "'?");
  }
  return Status::ok();
}

namespace {
/// Wide enough for any machine, and so narrow that every sum over a step is
/// finite: a plan and a program hold it as JSON.
struct Bounds {
  double least, most;
  const char *expected;
};
} // namespace
static constexpr Bounds ofRates = {1e-6, 1e24, "a number from 1e-6 to 1e24"};
static constexpr Bounds ofLaunches = {1e-24, 1e6, "a number from 1e-24 to 1e6"};
static constexpr Bounds ofCosts = {
    0, 1e6, "a number that is not negative and at most 1e6"};

static Status readNumber(const rt::Json &value, const std::string &path,
                         const std::string &name, const Bounds &bounds,
                         double &number) {
  // A NaN is within no bounds.
  if (!value.isNumber() ||
      !(value.number() >= bounds.least && value.number() <= bounds.most))
    return wrong(path, name, bounds.expected);
  number = value.number();
  return Status::ok();
}

/// Reads the cost called `name`, which is that of `object` if it has one.
static Status readCost(const rt::Json &object, const std::string &path,
                       const std::string &place, const char *name,
                       double &seconds) {
  const rt::Json *value = object.find(name);
  return value ? readNumber(*value, path, place + name, ofCosts, seconds)
               : Status::ok();
}

static Status readFamilies(const rt::Json &parsed, const std::string &path,
                           MachineCosts &costs) {
  HONE_TRY(readCost(parsed, path, "", "step_seconds", costs.stepSeconds));
  double threads = 0;
  HONE_TRY(readCost(parsed, path, "", "threads", threads));
  if (threads != std::floor(threads))
    return wrong(path, "threads", "a number of threads");
  costs.threads = static_cast<int64_t>(threads);
  const rt::Json *families = parsed.find("families");
  if (!families)
    return Status::ok();
  if (!families->isObject())
    return wrong(path, "families", "an object");
  for (const auto &[name, each] : families->object()) {
    const std::string place = "families." + std::string(name);
    if (!each.isObject())
      return wrong(path, place, "an object");
    FamilyCosts &family = costs.families[std::string(name)];
    const std::pair<const char *, double *> terms[] = {
        {"flop", &family.flop},
        {"byte", &family.byte},
        {"fill", &family.fill},
        {"launch", &family.launch}};
    std::vector<std::string> known;
    for (auto [term, seconds] : terms)
      known.push_back(term);
    HONE_TRY(checkKeys(each, path, place + ".", known));
    for (auto [term, seconds] : terms)
      HONE_TRY(readCost(each, path, place + ".", term, *seconds));
  }
  return Status::ok();
}

Result<MachineCosts> hone::readProfile(const std::string &path,
                                       MachineProfile rates) {
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file.isOk())
    return Status(*file.status().errorCode(), path,
                  file.status().message().problem, remedy);
  HONE_ASSIGN(rt::Json parsed, rt::Json::parse(file.value().bytes(), path));
  MachineCosts costs;
  costs.rates = rates;
  const struct {
    const char *name;
    double *value;
    Bounds bounds = ofRates;
    bool isNeeded = true;
  } all[] = {
      {"flops_per_second", &costs.rates.flopsPerSecond},
      {"bfloat16_flops_per_second", &costs.rates.bfloat16FlopsPerSecond,
       ofRates, false},
      {"other_flops_per_second", &costs.rates.otherFlopsPerSecond},
      {"bytes_per_second", &costs.rates.bytesPerSecond},
      {"fills_per_second", &costs.rates.fillsPerSecond},
      {"disk_bytes_per_second", &costs.diskBytesPerSecond, ofRates, false},
      {"launch_seconds", &costs.rates.launchSeconds, ofLaunches, false}};
  std::vector<std::string> known = {"step_seconds", "threads", "families"};
  for (const auto &each : all)
    known.push_back(each.name);
  if (parsed.isObject())
    HONE_TRY(checkKeys(parsed, path, "", known));
  for (const auto &each : all) {
    const rt::Json *value =
        parsed.isObject() ? parsed.find(each.name) : nullptr;
    if (value)
      HONE_TRY(readNumber(*value, path, each.name, each.bounds, *each.value));
    else if (each.isNeeded)
      return wrong(path, each.name, each.bounds.expected);
  }
  HONE_TRY(readFamilies(parsed, path, costs));
  costs.digest = rt::Sha256::hex(file.value().bytes());
  return costs;
}
