//===- AdapterBase.cpp - The model that an adapter was trained on ---------===//

#include "program/AdapterBase.h"

#include "formats/Adapter.h"
#include "platform/Files.h"

#include <algorithm>
#include <string>

namespace hone::rt {

bool mayBeSameModel(const std::string &one, const std::string &other) {
  const std::string a = platform::lastPart(one), b = platform::lastPart(other);
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string describeOtherBase(const std::string &directory,
                              const ModuleConfig &config) {
  Result<AdapterConfig> read = readAdapterConfig(directory, /*hasConv1d=*/true);
  if (!read.isOk())
    return ""; // loading it says why
  const std::string &base = read.value().base_model_name_or_path;
  const std::string &own = config.adapter.base_model_name_or_path;
  if (base.empty() || mayBeSameModel(base, config.modelName) ||
      mayBeSameModel(base, own))
    return "";
  return "the adapter says that it was trained on " + base +
         ", and this program was compiled from " +
         (own.empty() ? config.modelName : own);
}

Status nameOtherBase(const Status &status, const std::string &directory,
                     const ModuleConfig &config) {
  const std::string other = describeOtherBase(directory, config);
  if (other.empty() || !status.errorCode())
    return status;
  Message message = status.message();
  message.problem += "; " + other;
  return Status(*status.errorCode(), std::move(message));
}

} // namespace hone::rt
