//===- JoinAdapters.cpp - One adapter of those of the parts ---------------===//
//
// Programs of one spec write one adapter_config.json: it is of the model, and
// each has its own layers. So the joined one is any of them.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-adapter/JoinAdapters.h"
#include "base/Counted.h"
#include "compiler/hone-adapter/NewFolder.h"
#include "compiler/hone-adapter/PeftAdapter.h"
#include "exchange/CommonRun.h"
#include "formats/RunName.h"
#include "module/Setting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <numeric>
#include <set>

using namespace hone;

void JoinSummary::print(const std::string &output) const {
  llvm::outs() << "wrote        " << output << ", "
               << rt::counted(tensors, "tensor") << " of "
               << rt::counted(layers, "layer") << " from " << parts
               << " adapters\n";
}

static Status notParts(const std::string &place, const std::string &problem,
                       const std::string &remedy) {
  return Status(ErrorCode::NotParts, place, problem, remedy);
}

static std::string text(const std::vector<std::string> &words) {
  return "[" + llvm::join(words, ", ") + "]";
}

static std::string text(const std::vector<int64_t> &numbers) {
  std::vector<std::string> words;
  for (int64_t number : numbers)
    words.push_back(std::to_string(number));
  return text(words);
}

/// In any order.
static std::string text(const rt::ModuleNumbers &pattern) {
  std::map<std::string, double> sorted(pattern.begin(), pattern.end());
  std::vector<std::string> items;
  for (const auto &[key, number] : sorted)
    items.push_back(key + ": " + rt::formatExact(number));
  return "{" + llvm::join(items, ", ") + "}";
}

/// The settings that all parts of one adapter must share, by their keys.
static std::vector<std::pair<std::string, std::string>>
settingsOf(const rt::AdapterConfig &config) {
  auto truth = [](bool is) { return is ? "true" : "false"; };
  return {{"r", std::to_string(config.r)},
          {"lora_alpha", rt::formatExact(config.lora_alpha)},
          {"lora_dropout", rt::formatExact(config.lora_dropout)},
          {"use_rslora", truth(config.use_rslora)},
          {"use_dora", truth(config.use_dora)},
          {"fan_in_fan_out", truth(config.fan_in_fan_out)},
          {"rank_pattern", text(config.rank_pattern)},
          {"alpha_pattern", text(config.alpha_pattern)},
          {"layers_to_transform", text(config.layers_to_transform)},
          {"target_modules", text(config.target_modules)},
          {"modules_to_save", text(config.modules_to_save)},
          {"bias", config.bias},
          {"base_model_name_or_path", config.base_model_name_or_path}};
}

/// All that differs, with both values.
static Status checkAlike(const std::string &first, const rt::AdapterConfig &own,
                         const std::string &part,
                         const rt::AdapterConfig &other) {
  std::string differences;
  const auto mine = settingsOf(own), theirs = settingsOf(other);
  for (size_t i = 0; i < mine.size(); ++i)
    if (mine[i].second != theirs[i].second)
      differences += (differences.empty() ? "" : ", ") + mine[i].first + " (" +
                     mine[i].second + ", here " + theirs[i].second + ")";
  if (differences.empty())
    return Status::ok();
  return notParts(part + "/adapter_config.json",
                  "differs from " + first + " in " + differences,
                  "join the adapters of programs that one honec call compiled");
}

/// That those which say their run are of one. A folder that an adapter was
/// copied to says none.
static Status checkRuns(const std::vector<std::string> &folders) {
  std::string first;
  rt::CommonRun run;
  for (const std::string &folder : folders) {
    if (run.name == 0)
      first = folder;
    HONE_ASSIGN(const uint64_t own, rt::readRunName(folder));
    if (!run.take(own))
      return notParts(folder, "is of another run than " + first,
                      "join the adapters of programs that trained together");
  }
  return Status::ok();
}

/// A name may say anything; no model has more layers.
static constexpr int64_t MostLayers = 1 << 20;

/// That `layers` are all: those that the settings name, or all up to the
/// highest one.
static Status checkWhole(const std::set<int64_t> &layers,
                         const rt::AdapterConfig &config) {
  std::vector<int64_t> wanted = config.layers_to_transform;
  if (wanted.empty() && !layers.empty()) {
    wanted.resize(size_t(*layers.rbegin()) + 1);
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  constexpr size_t most = 16;
  std::string missing;
  size_t count = 0;
  for (int64_t layer : wanted)
    if (!layers.count(layer) && ++count <= most)
      missing += (missing.empty() ? "" : ", ") + std::to_string(layer);
  if (count == 0)
    return Status::ok();
  if (count > most)
    missing += " and " + std::to_string(count - most) + " more";
  return notParts("join",
                  "expected all layers, found no adapter with layer " + missing,
                  "give the adapters of all parts");
}

Result<JoinSummary> hone::joinAdapters(const JoinRequest &request) {
  if (request.parts.size() < 2)
    return Status(ErrorCode::MissingOption, "join",
                  "expected the adapters of two parts or more, found " +
                      std::to_string(request.parts.size()),
                  "write hone-adapter join A B -o FOLDER");
  std::vector<PeftAdapter> parts;
  std::map<std::string, size_t> owners; ///< of tensors
  std::vector<rt::TensorSpec> specs;
  std::set<int64_t> layers;
  for (const std::string &folder : request.parts) {
    HONE_ASSIGN(PeftAdapter part, PeftAdapter::open(folder));
    parts.push_back(std::move(part));
    HONE_TRY(checkAlike(request.parts.front(), parts.front().config(), folder,
                        parts.back().config()));
    for (const rt::TensorInfo &tensor : parts.back().file().tensors()) {
      auto [owner, isNew] = owners.emplace(tensor.name, parts.size() - 1);
      if (!isNew)
        return notParts(parts.back().placeOf(tensor),
                        "is in " + request.parts[owner->second] + ", too",
                        "give each part once");
      specs.push_back({tensor.name, tensor.dtype, tensor.shape});
      const int64_t layer = layerModule(tensor.name).layer;
      if (layer >= 0 && layer < MostLayers)
        layers.insert(layer);
    }
  }
  HONE_TRY(checkWhole(layers, parts.front().config()));
  HONE_TRY(checkRuns(request.parts));

  HONE_ASSIGN(NewFolder folder, NewFolder::create(request.output));
  const JoinSummary summary{parts.size(), layers.size(), specs.size()};
  constexpr const char *tensorsName = "adapter_model.safetensors";
  HONE_ASSIGN(rt::SafetensorsWriter writer,
              rt::SafetensorsWriter::create(folder.pathOf(tensorsName),
                                            std::move(specs),
                                            parts.front().file().metadata()));
  for (const rt::TensorInfo &tensor : writer.tensors()) {
    const rt::SafetensorsFile &file = parts[owners.at(tensor.name)].file();
    Status status = Status::ok();
    file.visit(*file.find(tensor.name), [&](const char *bytes, uint64_t size) {
      if (status.isOk())
        status = writer.write(bytes, size);
    });
    HONE_TRY(std::move(status));
  }
  HONE_TRY(writer.commit(rt::FolderSync::Later));
  folder.wrote(tensorsName);
  HONE_TRY(folder.copy("adapter_config.json",
                       request.parts.front() + "/adapter_config.json"));
  HONE_TRY(folder.commit());
  return summary;
}
