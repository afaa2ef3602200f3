//===- RunIdentity.cpp - A run's identity, and its numerics ---------------===//
//
// honec says which model it compiled (ModuleIdentity.cpp); here the settings
// and the data are added.
//
//===----------------------------------------------------------------------===//

#include "step/RunIdentity.h"

#include "base/Json.h"
#include "base/Sha256.h"

#include <algorithm>

namespace hone::rt {

/// The places in theta, which a checkpoint has as one vector.
static std::string adapterLayout(const hone_module &module) {
  Sha256 hash;
  for (uint32_t i = 0; i < module.trainable_count; ++i)
    hash.update(std::string(module.trainables[i].name) + " " +
                std::to_string(module.trainables[i].offset) + "\n");
  return hash.finishHex();
}

/// A path need not be UTF-8, and a checkpoint's JSON is: both sides of a
/// comparison have the text that a checkpoint gives back.
static void makeSaveable(CheckpointFields &fields) {
  for (auto &[name, value] : fields)
    if (Result<Json> saved = Json::parse(jsonString(value), name); saved.isOk())
      value = saved.value().string();
}

CheckpointIdentity identityOf(const Module &module, const Settings &settings,
                              const std::vector<const Setting *> &more,
                              const std::string &data, uint64_t steps) {
  CheckpointIdentity identity{module.config().identity, {}};
  identity.run["data"] = data;
  identity.run["adapter layout"] = adapterLayout(module.abi());
  std::vector<const Setting *> all = settings.all();
  // Sections list their members in one order.
  const Settings defaults;
  const std::vector<const Setting *> standard = defaults.all();
  for (size_t i = 0; i < standard.size(); ++i)
    if (all[i]->bits == Bits::RunUnlessStandard &&
        all[i]->text() == standard[i]->text())
      all[i] = nullptr;
  all.insert(all.end(), more.begin(), more.end());
  for (const Setting *setting : all)
    if (setting && setting->bits != Bits::None &&
        settings.isReadByTraining(*setting))
      (setting->bits == Bits::Numerics ? identity.numerics : identity.run)
          .emplace(setting->identity(), setting->text());
  // Constant rates and ratios do not know how long the run is, so it may grow.
  std::vector<const MethodSettings *> methods = settings.methods();
  if (std::any_of(
          methods.begin(), methods.end(), [&](const MethodSettings *method) {
            const Word &ratio = method->selection_schedule;
            return !method->hasConstantRate() ||
                   (settings.isReadByTraining(ratio) && ratio != "constant");
          }))
    identity.run[settings.train.steps.spelling()] = std::to_string(steps);
  makeSaveable(identity.run);
  makeSaveable(identity.numerics);
  return identity;
}

/// The items of `list` that `other` lacks, digests by their beginning.
static std::string itemsOnlyIn(const std::string &list,
                               const std::string &other) {
  std::string out;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string item = list.substr(begin, end - begin);
    if (("," + other + ",").find("," + item + ",") == std::string::npos)
      out += (out.empty() ? "" : ",") +
             (item.size() == 64 ? item.substr(0, 12) + "..." : item);
    begin = end + 1;
  }
  return out.empty() ? "none" : out;
}

std::string describeDifferences(const CheckpointFields &before,
                                const CheckpointFields &now) {
  CheckpointFields all = before;
  all.insert(now.begin(), now.end());
  std::string text;
  for (const auto &[name, value] : all) {
    auto valueIn = [name = name](const CheckpointFields &fields) {
      CheckpointFields::const_iterator found = fields.find(name);
      return found == fields.end() ? "" : found->second;
    };
    std::string was = valueIn(before), is = valueIn(now);
    if (was != is)
      text += (text.empty() ? "" : ", ") + name + " (was " +
              itemsOnlyIn(was, is) + ", now " + itemsOnlyIn(is, was) + ")";
  }
  return text;
}

} // namespace hone::rt
