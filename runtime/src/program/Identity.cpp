//===- Identity.cpp - What a run is, and how its numbers are computed -----===//
//
// honec says what it compiled (ModuleIdentity.cpp); here the settings and the
// data are added. Settings have the names by which a user of this program
// knows them.
//
//===----------------------------------------------------------------------===//

#include "program/Identity.h"
#include "base/Sha256.h"

#include <cstdlib>

namespace hone::rt {

/// The places in theta, which a checkpoint has as one vector.
static std::string adapterLayout(const hone_module &module) {
  Sha256 hash;
  for (uint32_t i = 0; i < module.trainable_count; ++i)
    hash.update(std::string(module.trainables[i].name) + " " +
                std::to_string(module.trainables[i].offset) + "\n");
  return hash.finishHex();
}

/// Decimal, of as many digits as read back to the bit.
static std::string formatExact(double value) {
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  return text;
}

CheckpointIdentity identityOf(const Module &module, const Options &options,
                              const Dataset &data, uint64_t steps) {
  const ModuleConfig &config = module.config();
  CheckpointIdentity identity{config.run, config.numerics};
  const TrainConfig &train = config.train;
  const std::pair<const char *, std::string> run[] = {
      // The cache's name is a hash of the data, the tokenizer and the lengths.
      {"data", data.cachePath().substr(data.cachePath().rfind('/') + 1)},
      {"adapter layout", adapterLayout(module.abi())},
      {"lora.r", std::to_string(config.lora.r)},
      {"lora.lora_alpha", formatExact(config.lora.lora_alpha)},
      {"lora.use_rslora", config.lora.use_rslora ? "true" : "false"},
      {"train.method", train.method},
      {"train.optimizer", train.optimizer},
      {"train.compute_dtype", train.computeDtype},
      {"train.momentum", formatExact(train.momentum)},
      {"train.adam_beta1", formatExact(train.adamBeta1)},
      {"train.adam_beta2", formatExact(train.adamBeta2)},
      {"train.adam_epsilon", formatExact(train.adamEpsilon)},
      {"train.batch_size", std::to_string(train.batchSize)},
      {"train.max_seq_length", std::to_string(train.maxSeqLength)},
      {"--adapter", options.adapter},
      {"--gradient-accumulation-steps",
       std::to_string(options.gradientAccumulationSteps)},
      {"--learning-rate", formatExact(options.learningRate)},
      {"--lr-scheduler-type", lrSchedulerName(options.scheduler)},
      {"--max-grad-norm", formatExact(options.maxGradNorm)},
      {"--seed", std::to_string(options.seed)},
      {"--shuffle", options.shuffle ? "true" : "false"},
      {"--warmup-steps", std::to_string(options.warmupSteps)},
      {"--weight-decay", formatExact(options.weightDecay)},
  };
  identity.run.insert(std::begin(run), std::end(run));
  // A constant rate does not know how long the run is, so it may grow.
  if (options.scheduler != LrScheduler::Constant)
    identity.run["--steps"] = std::to_string(steps);
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
