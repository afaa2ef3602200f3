//===- MachineProfileFile.cpp - Measured rates of a machine ---------------===//

#include "compiler/spec/MachineProfileFile.h"

#include "base/Json.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace hone;
using rt::ErrorCode;
using rt::Result;
using rt::Status;

Result<MachineProfile> hone::readProfile(const std::string &path) {
  constexpr const char *remedy =
      "write one with ./dev bench --profile FILE, or leave target.profile out";
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return Status::error(ErrorCode::CannotRead,
                         {path,
                          "expected a machine profile but it cannot be read: " +
                              buffer.getError().message(),
                          remedy});
  llvm::StringRef text = (*buffer)->getBuffer();
  Result<rt::Json> parsed =
      rt::Json::parse(std::string_view(text.data(), text.size()), path);
  if (!parsed.isOk())
    return parsed.status();
  MachineProfile profile;
  const std::pair<const char *, double *> rates[] = {
      {"flops_per_second", &profile.flopsPerSecond},
      {"bfloat16_flops_per_second", &profile.bfloat16FlopsPerSecond},
      {"other_flops_per_second", &profile.otherFlopsPerSecond},
      {"bytes_per_second", &profile.bytesPerSecond},
      {"fills_per_second", &profile.fillsPerSecond}};
  for (auto [name, rate] : rates) {
    const rt::Json *value =
        parsed.value().isObject() ? parsed.value().find(name) : nullptr;
    if (!value && rate == &profile.bfloat16FlopsPerSecond)
      continue;
    bool good = value && value->isNumber() && std::isfinite(value->number()) &&
                value->number() > 0;
    if (!good)
      return Status::error(
          ErrorCode::BadProfile,
          {path,
           std::string("expected '") + name + "' to be a number greater than 0",
           remedy});
    *rate = value->number();
  }
  return profile;
}
