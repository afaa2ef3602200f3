//===- MachineProfileFile.cpp - Measured rates of a machine ---------------===//

#include "compiler/spec/MachineProfileFile.h"

#include "base/Json.h"
#include "base/MappedFile.h"

#include <cmath>

using namespace hone;

Result<MachineProfile> hone::readProfile(const std::string &path,
                                         MachineProfile profile) {
  constexpr const char *remedy =
      "write one with ./dev bench --profile FILE, or leave target.profile out";
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file.isOk())
    return Status(*file.status().errorCode(), path,
                  file.status().message().problem, remedy);
  HONE_ASSIGN(rt::Json parsed, rt::Json::parse(file.value().bytes(), path));
  const std::pair<const char *, double *> rates[] = {
      {"flops_per_second", &profile.flopsPerSecond},
      {"bfloat16_flops_per_second", &profile.bfloat16FlopsPerSecond},
      {"other_flops_per_second", &profile.otherFlopsPerSecond},
      {"bytes_per_second", &profile.bytesPerSecond},
      {"fills_per_second", &profile.fillsPerSecond},
      {"launch_seconds", &profile.launchSeconds}};
  for (auto [name, rate] : rates) {
    const rt::Json *value = parsed.isObject() ? parsed.find(name) : nullptr;
    if (!value && (rate == &profile.bfloat16FlopsPerSecond ||
                   rate == &profile.launchSeconds))
      continue;
    bool good = value && value->isNumber() && std::isfinite(value->number()) &&
                value->number() > 0;
    if (!good)
      return Status(ErrorCode::BadProfile, path,
                    std::string("expected '") + name +
                        "' to be a number greater than 0",
                    remedy);
    *rate = value->number();
  }
  return profile;
}
