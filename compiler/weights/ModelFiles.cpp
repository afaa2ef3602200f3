//===- ModelFiles.cpp - What a run needs to write the model back ----------===//

#include "compiler/weights/ModelFiles.h"
#include "base/Json.h"
#include "formats/ModelFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace hone;
using llvm::StringRef;
using rt::Result;
using rt::Status;

/// What goes with a model: what it computes, how text becomes tokens, and how it
/// is meant to speak.
static constexpr const char *copied[] = {rt::ModelLayout::configName,
                                         "generation_config.json",
                                         "tokenizer.json",
                                         "tokenizer_config.json",
                                         "tokenizer.model",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "vocab.json",
                                         "merges.txt",
                                         "chat_template.jinja",
                                         "chat_template.json"};

std::string hone::withElementType(std::string config, StringRef name) {
  for (const char *key : {"\"torch_dtype\"", "\"dtype\""}) {
    size_t at = config.find(key);
    if (at == std::string::npos)
      continue;
    size_t colon = config.find_first_not_of(" \t\r\n", at + StringRef(key).size());
    if (colon == std::string::npos || config[colon] != ':')
      continue;
    size_t begin = config.find_first_not_of(" \t\r\n", colon + 1);
    if (begin == std::string::npos || config[begin] != '"')
      continue;
    size_t end = config.find('"', begin + 1);
    if (end != std::string::npos)
      config.replace(begin, end + 1 - begin, "\"" + name.str() + "\"");
  }
  return config;
}

static std::string quoted(StringRef text) {
  std::string out;
  rt::appendJsonString(out, text.str());
  return out;
}

Result<std::vector<WeightBlock>>
hone::collectModelFiles(const WeightIndex &source,
                        llvm::ArrayRef<Parameter> trained,
                        const std::string &folder, mlir::Type stored) {
  std::map<std::string, std::string> tensors; // by file: pairs of names
  for (const Parameter &parameter : trained) {
    Result<WeightIndex::Entry> entry =
        source.get(parameter.name, "the compiled model");
    if (!entry.isOk())
      return entry.status();
    std::string file =
        folder.empty()
            ? "model.safetensors"
            : llvm::sys::path::filename(entry.value().file->path()).str();
    StringRef name =
        folder.empty() ? parameter.name : entry.value().tensor->name;
    std::string &list = tensors[file];
    list += (list.empty() ? "[" : ",[") + quoted(name) + "," +
            quoted(parameter.name) + "]";
  }
  std::string layout = "{";
  StringRef index = llvm::sys::path::filename(source.path());
  if (!folder.empty() && index.ends_with(".index.json"))
    layout += "\"index\":" + quoted(index) + ",";
  layout += "\"shards\":[";
  for (const auto &[file, list] : tensors)
    layout += (layout.back() == '[' ? "" : ",") + std::string("{\"file\":") +
              quoted(file) + ",\"tensors\":[" + list + "]}";
  layout += "],\"files\":[";

  std::vector<WeightBlock> blocks;
  for (const char *name : copied) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (folder.empty() || !llvm::sys::fs::exists(path))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return Status::error(rt::ErrorCode::CannotRead,
                           {path.str().str(),
                            "cannot be read: " + buffer.getError().message(),
                            "check the file's permissions"});
    std::string content = (*buffer)->getBuffer().str();
    if (StringRef(name) == rt::ModelLayout::configName)
      content = withElementType(std::move(content), stored.isBF16() ? "bfloat16"
                                                    : stored.isF64() ? "float64"
                                                                     : "float32");
    if (content.empty())
      continue;
    layout += (layout.back() == '[' ? "" : ",") + quoted(name);
    blocks.push_back({rt::ModelLayout::filePrefix + std::string(name),
                      std::move(content)});
  }
  blocks.push_back({rt::ModelLayout::tensorName, layout + "]}"});
  return blocks;
}
