//===- RunChoice.cpp - A spec for a model, its data and this machine ------===//

#include "compiler/hone/RunChoice.h"

#include "base/ByteCount.h"
#include "base/Counted.h"
#include "base/Json.h"
#include "base/Utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace hone;

static constexpr int64_t kMostTokens = 1024;
static constexpr int64_t kTextTokens = 512;
static constexpr int64_t kLengthStep = 32;
static constexpr int64_t kMostSamples = 8;
static constexpr uint64_t kFewSamples = 1000, kEnoughToHoldOut = 50;
static constexpr uint64_t kLeastBudget = uint64_t(256) << 20,
                          kBudgetStep = uint64_t(64) << 20;

DataFacts DataFacts::of(const DataSurvey &survey, const std::string &path) {
  return {path,
          rt::describe(survey.data().format()),
          survey.data().sampleCount(),
          survey.isPacked(),
          survey.canSplit(),
          survey.lengths(),
          survey.data().tokenCount()};
}

uint64_t DataFacts::samplesUpTo(int64_t length) const {
  if (isPacked)
    return llvm::divideCeil(tokens, uint64_t(length));
  return canSplit ? lengths.splitAt(length)
                  : samples - lengths.longerThan(length);
}

/// The least max_seq_length that is chosen for so many tokens.
static int64_t lengthFor(int64_t tokens) {
  return int64_t(llvm::alignTo(uint64_t(std::max<int64_t>(tokens, 2)),
                               uint64_t(kLengthStep)));
}

int64_t hone::usualLength(const SampleLengths &lengths) {
  return lengthFor(lengths.percentile(0.99));
}

namespace {

/// How weights are stored.
struct Storage {
  const char *dtype;
  double bytes; ///< of a number, with its part of a group's scales
};

/// Makes a choice, one rule after another.
class Chooser {
public:
  Chooser(const ModelFacts &model, const DataFacts &data,
          const Machine &machine)
      : model(model), data(data), machine(machine) {}

  RunChoice choose() {
    chooseStorage();
    chooseAdapter();
    chooseLength();
    chooseBatch();
    chooseBudget();
    if (data.samples >= kEnoughToHoldOut)
      choice.options = {"--eval-split", "0.1"};
    return std::move(choice);
  }

private:
  void set(const char *key, const std::string &value,
           const std::string &reason) {
    choice.keys.push_back({key, value, reason});
  }
  void chooseStorage();
  void chooseAdapter();
  void chooseLength();
  void chooseBatch();
  void chooseBudget();
  bool knowsMemory() const { return machine.freeMemory != 0; }

  const ModelFacts &model;
  const DataFacts &data;
  const Machine &machine;
  RunChoice choice;
  uint64_t weightBytes = 0;
  bool streams = false;
};

} // namespace

void Chooser::chooseStorage() {
  const uint64_t half = machine.freeMemory / 2;
  const std::string memory = rt::describeBytes(machine.freeMemory);
  if (model.isQuantized) {
    weightBytes = model.fileBytes;
  } else {
    const Storage float32{"float32", 4}, bfloat16{"bfloat16", 2},
        int4{"int4", 0.625};
    const bool isWide = model.dtype == rt::Dtype::F32;
    Storage storage = isWide ? float32 : bfloat16;
    auto bytesIn = [&](const Storage &stored) {
      return uint64_t(double(model.numbers) * stored.bytes);
    };
    auto isTooLarge = [&] { return knowsMemory() && bytesIn(storage) > half; };
    std::string reason = "as the model's files have them";
    for (const Storage &smaller : {bfloat16, int4})
      if (isTooLarge() && smaller.bytes < storage.bytes) {
        reason =
            llvm::formatv("{0} take {1}, of {2} that are free", storage.dtype,
                          rt::describeBytes(bytesIn(storage)), memory);
        storage = smaller;
      }
    weightBytes = bytesIn(storage);
    set("weights.dtype", storage.dtype, reason);
  }
  streams = knowsMemory() && weightBytes > half;
  if (streams)
    set("weights.streaming", "planned",
        "only one layer's weights at a time are resident if the budget needs "
        "it");
}

void Chooser::chooseAdapter() {
  set("lora.r", "8", "rank of the update");
  set("lora.lora_alpha", "16", "its scale is lora_alpha / r");
  set("lora.target_modules", "all-linear", "every linear layer of the model");
}

void Chooser::chooseLength() {
  int64_t most = kMostTokens;
  if (model.positions > 0)
    most = std::min(most, model.positions);
  int64_t length = std::min(most, kTextTokens);
  std::string reason = "tokens of a sample, at most";
  const SampleLengths &lengths = data.lengths;
  if (lengths.count() > 0) {
    const int64_t usual = usualLength(lengths);
    const int64_t whole = lengthFor(lengths.longest());
    length = std::min({whole * 4 <= usual * 5 ? whole : usual, most,
                       data.canSplit ? kTextTokens : most});
    choice.longer = lengths.longerThan(length);
    reason = choice.longer == 0
                 ? llvm::formatv("the longest sample has {0} tokens",
                                 lengths.longest())
                       .str()
                 : llvm::formatv("{0:f1} % of the samples are longer and {1}",
                                 100.0 * double(choice.longer) /
                                     double(lengths.count()),
                                 data.canSplit ? "split" : "left out")
                       .str();
  } else if (data.isPacked) {
    reason = "the text is cut into samples of this length";
  }
  choice.maxSequenceLength = length;
  set("train.max_seq_length", std::to_string(length), reason);
}

void Chooser::chooseBatch() {
  const uint64_t all = data.samplesUpTo(choice.maxSequenceLength);
  const auto samples = int64_t(std::min<uint64_t>(all, 1u << 30));
  choice.batchSize =
      std::clamp(kMostTokens / choice.maxSequenceLength, int64_t(1),
                 std::max(int64_t(1), std::min(kMostSamples, samples / 4)));
  set("train.batch_size", std::to_string(choice.batchSize),
      "up to " + std::to_string(kMostTokens) + " tokens in a step");
  choice.epochs = all < kFewSamples ? 3 : 1;
  set("train.epochs", std::to_string(choice.epochs),
      data.format.empty() ? "passes over the data"
                          : "passes over " + rt::counted(all, "sample"));
  set("train.learning_rate", "2e-4", "common for adapters with AdamW");
  if (samples > 0) {
    const int64_t steps =
        (samples + choice.batchSize - 1) / choice.batchSize * choice.epochs;
    set("train.save_every",
        std::to_string(std::clamp<int64_t>(steps / 10, 5, 500)),
        "steps between checkpoints, from which a killed run goes on");
  }
}

/// Less than `bytes`, by a fifth at most and mostly the same tomorrow: another
/// budget is another program, which would be compiled anew.
static uint64_t roughly(uint64_t bytes) {
  const uint64_t step = std::max(kBudgetStep, llvm::bit_floor(bytes) / 4);
  return bytes / step * step;
}

void Chooser::chooseBudget() {
  if (!knowsMemory())
    return;
  const uint64_t resident = streams ? 0 : weightBytes;
  const uint64_t left =
      machine.freeMemory - std::min(machine.freeMemory, resident);
  const uint64_t budget = roughly(left / 2);
  const std::string memory = rt::describeBytes(machine.freeMemory);
  auto inMebibytes = [](uint64_t bytes) {
    return std::to_string(bytes >> 20) + "MiB";
  };
  if (budget >= kLeastBudget)
    set("train.memory_budget", inMebibytes(budget),
        "about half of the " + memory + " that weights leave" +
            "; the fastest step within it is planned");
  if (streams)
    set("train.resident_budget",
        inMebibytes(roughly(machine.freeMemory / 4 * 3)),
        "about three quarters of " + memory +
            ", with the weights that are resident");
}

RunChoice hone::chooseRun(const ModelFacts &model, const DataFacts &data,
                          const Machine &machine) {
  return Chooser(model, data, machine).choose();
}

static std::string describeOrigin(const ModelFacts &model,
                                  const DataFacts &data) {
  const std::string name = model.name();
  // A line end in it would end the comment.
  const bool isPlain = llvm::all_of(name, [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != 127;
  });
  std::string out =
      "# Chosen by hone for " + (isPlain ? name : rt::jsonString(name));
  if (!data.format.empty())
    out += " and " + rt::jsonString(data.path) + " (" +
           rt::counted(data.samples, "sample") +
           (data.isPacked ? "" : ": " + data.format) + ")";
  return out + ".\n# Every key can be changed and more can be added: "
               "`hone keys` lists them.\n";
}

/// Joins choices and settings of a person. A choice that does not go with these
/// gives way, such as a number of epochs to one of steps.
static Result<Spec> joinChoice(const std::string &folder,
                               llvm::ArrayRef<ChosenKey> keys,
                               llvm::ArrayRef<SpecOverride> overrides) {
  if (rt::findInvalidUtf8(folder) != std::string_view::npos)
    return Status(ErrorCode::WrongOption, folder,
                  "expected a path in UTF-8, since a spec names the model",
                  "rename the folder");
  std::vector<SpecOverride> chosen;
  auto parse = [&] {
    std::vector<SpecOverride> all = chosen;
    all.insert(all.end(), overrides.begin(), overrides.end());
    return parseSpec("model: " + rt::jsonString(folder) + "\n",
                     folder + "/spec", all);
  };
  for (const ChosenKey &key : keys)
    chosen.emplace_back(key.key, "hone", key.value);
  if (Result<Spec> whole = parse(); whole.isOk())
    return whole;
  chosen.clear();
  for (const ChosenKey &key : keys) {
    chosen.emplace_back(key.key, "hone", key.value);
    if (!parse().isOk())
      chosen.pop_back();
  }
  return parse();
}

Result<std::string> hone::renderSpec(const ModelFacts &model,
                                     const DataFacts &data,
                                     const RunChoice &choice,
                                     llvm::ArrayRef<SpecOverride> overrides) {
  std::map<std::string, std::string> reasons, values;
  for (const ChosenKey &chosen : choice.keys) {
    reasons[chosen.key] = chosen.reason;
    values[chosen.key] = chosen.value;
  }
  for (const SpecOverride &override : overrides) {
    const std::string key =
        canonicalKey(llvm::StringRef(override.setting).split('=').first);
    reasons.erase(key);
    values.erase(key);
  }
  HONE_ASSIGN(const Spec spec,
              joinChoice(model.folder, choice.keys, overrides));
  // Lines of one section have their reasons in a column.
  std::vector<std::pair<std::string, std::string>> lines;
  std::string out = describeOrigin(model, data), section;
  auto flush = [&] {
    size_t width = 0;
    for (const auto &[text, reason] : lines)
      width = std::max(width, reason.empty() ? 0 : text.size());
    for (const auto &[text, reason] : lines)
      out += text +
             (reason.empty()
                  ? ""
                  : std::string(width - text.size(), ' ') + "  # " + reason) +
             "\n";
    lines.clear();
  };
  for (const rt::Setting *setting : spec.all()) {
    if (!spec.given.count(setting->key()))
      continue;
    // "parts.lower" is a section in another.
    const llvm::StringRef own = setting->section;
    if (own != section) {
      flush();
      auto [outer, inner] = own.split('.');
      if (outer != llvm::StringRef(section).split('.').first)
        out += outer.str() + ":\n";
      if (!inner.empty())
        out += "  " + inner.str() + ":\n";
      section = own.str();
    }
    const size_t depth = own.empty() ? 0 : 2 + 2 * own.count('.');
    std::string value = values[setting->key()]; // as it was written
    if (value.empty())
      setting->appendJson(value);
    lines.emplace_back(std::string(depth, ' ') + setting->name + ": " + value,
                       reasons[setting->key()]);
  }
  flush();
  return out;
}
