//===- ModelBlocks.cpp - The blocks from which a run writes a model -------===//

#include "compiler/weights/ModelBlocks.h"
#include "base/MappedFile.h"
#include "compiler/import/HuggingFaceModel.h"
#include "compiler/weights/ModelConfig.h"
#include "formats/JsonFile.h"
#include "formats/ModelFolder.h"
#include "platform/Files.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace hone;
using llvm::StringRef;

/// Empty if there is no such file.
static Result<std::string> contentOf(const std::string &path) {
  if (!rt::platform::exists(path)) // a link that leads nowhere is an error
    return std::string();
  HONE_ASSIGN(rt::MappedFile file, rt::MappedFile::open(path));
  return std::string(file.bytes());
}

static rt::Dtype dtypeOf(mlir::Type stored) {
  return stored.isBF16()  ? rt::Dtype::BF16
         : stored.isF64() ? rt::Dtype::F64
                          : rt::Dtype::F32;
}

Result<std::vector<WeightBlock>>
hone::collectModelBlocks(const WeightIndex &source,
                         llvm::ArrayRef<Parameter> trained,
                         const std::string &folder, mlir::Type stored) {
  std::map<std::string, std::string> tensors; // by file: pairs of names
  bool untiesHead = false;
  for (const Parameter &parameter : trained) {
    HONE_ASSIGN(WeightIndex::Entry entry,
                source.get(parameter.name, "the compiled model"));
    std::string file =
        folder.empty() ? "model.safetensors"
                       : llvm::sys::path::filename(entry.file->path()).str();
    StringRef name = folder.empty() ? parameter.name : entry.tensor->name;
    if (!folder.empty() && parameter.name == headWeight &&
        !name.ends_with(headWeight)) {
      name = headWeight; // which was the embedding's
      untiesHead = true;
    }
    std::string &list = tensors[file];
    list += (list.empty() ? "[" : ",[") + rt::jsonString(name) + "," +
            rt::jsonString(parameter.name) + "]";
  }
  std::string layout = "{";
  StringRef index = llvm::sys::path::filename(source.path());
  if (!folder.empty() && index.ends_with(".index.json"))
    layout += "\"index\":" + rt::jsonString(index) + ",";
  layout += "\"shards\":[";
  for (const auto &[file, list] : tensors)
    layout += (layout.back() == '[' ? "" : ",") + std::string("{\"file\":") +
              rt::jsonString(file) + ",\"tensors\":[" + list + "]}";
  layout += "],\"files\":[";

  std::vector<WeightBlock> blocks;
  auto add = [&](const char *name, std::string content) {
    layout += (layout.back() == '[' ? "" : ",") + rt::jsonString(name);
    blocks.push_back(
        {rt::ModelLayout::filePrefix + std::string(name), std::move(content)});
  };
  if (!folder.empty()) {
    HONE_ASSIGN(rt::Json config,
                rt::readJsonFile(folder + "/" + rt::ModelLayout::configName));
    add(rt::ModelLayout::configName,
        renderConfig(config, {dtypeOf(stored),
                              /*losesGroups=*/false, untiesHead}));
    for (const char *name : modelCompanions()) {
      HONE_ASSIGN(std::string content, contentOf(folder + "/" + name));
      if (!content.empty())
        add(name, std::move(content));
    }
  }
  blocks.push_back({rt::ModelLayout::tensorName, layout + "]}"});
  return blocks;
}
