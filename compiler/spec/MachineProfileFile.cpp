//===- MachineProfileFile.cpp - Measured rates of a machine ---------------===//

#include "compiler/spec/MachineProfileFile.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/Sha256.h"

#include <cmath>

using namespace hone;

static constexpr const char *remedy =
    "write one with ./dev bench --profile FILE, or leave target.profile out";

static Status wrong(const std::string &path, const std::string &name,
                    const char *expected) {
  return Status(ErrorCode::BadProfile, path,
                "expected '" + name + "' to be " + expected, remedy);
}

/// Reads the number called `name`, which is that of `object` if it has one.
static Status readNumber(const rt::Json &object, const std::string &path,
                         const std::string &place, const char *name,
                         double &number) {
  const rt::Json *value = object.find(name);
  if (!value)
    return Status::ok();
  if (!value->isNumber() || !std::isfinite(value->number()) ||
      value->number() < 0)
    return wrong(path, place + name, "a number that is not negative");
  number = value->number();
  return Status::ok();
}

static Status readFamilies(const rt::Json &parsed, const std::string &path,
                           MachineCosts &costs) {
  HONE_TRY(readNumber(parsed, path, "", "step_seconds", costs.stepSeconds));
  double threads = 0;
  HONE_TRY(readNumber(parsed, path, "", "threads", threads));
  if (threads != std::floor(threads) || threads > 1e6)
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
    for (auto [term, seconds] : terms)
      HONE_TRY(readNumber(each, path, place + ".", term, *seconds));
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
  const std::pair<const char *, double *> all[] = {
      {"flops_per_second", &costs.rates.flopsPerSecond},
      {"bfloat16_flops_per_second", &costs.rates.bfloat16FlopsPerSecond},
      {"other_flops_per_second", &costs.rates.otherFlopsPerSecond},
      {"bytes_per_second", &costs.rates.bytesPerSecond},
      {"fills_per_second", &costs.rates.fillsPerSecond},
      {"disk_bytes_per_second", &costs.diskBytesPerSecond},
      {"launch_seconds", &costs.rates.launchSeconds}};
  for (auto [name, rate] : all) {
    const rt::Json *value = parsed.isObject() ? parsed.find(name) : nullptr;
    if (!value && (rate == &costs.rates.bfloat16FlopsPerSecond ||
                   rate == &costs.diskBytesPerSecond ||
                   rate == &costs.rates.launchSeconds))
      continue;
    bool good = value && value->isNumber() && std::isfinite(value->number()) &&
                value->number() > 0;
    if (!good)
      return wrong(path, name, "a number greater than 0");
    *rate = value->number();
  }
  HONE_TRY(readFamilies(parsed, path, costs));
  costs.digest = rt::Sha256::hex(file.value().bytes());
  return costs;
}
