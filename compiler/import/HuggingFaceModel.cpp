//===- HuggingFaceModel.cpp - A model directory, understood ---------------===//

#include "compiler/import/HuggingFaceModel.h"
#include "compiler/import/ConfigReader.h"
#include "compiler/import/families/Family.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace hone;
using rt::Json;

const Family *hone::familyOf(llvm::StringRef modelType) {
  auto found = llvm::find_if(families, [&](const Family *family) {
    return family->modelType == modelType;
  });
  return found == std::end(families) ? nullptr : *found;
}

/// Null, with an error, when no family has the model's type.
static const Family *readFamily(ConfigReader &config) {
  auto names = llvm::map_range(
      families, [](const Family *family) { return family->modelType; });
  std::string supported = "supported: " + llvm::join(names, ", ");
  const Json *type = config.take("model_type");
  if (!type || !type->isString()) {
    config.failAt(ErrorCode::BadConfig, "model_type",
                  "expected the name of a model type but found " +
                      (type ? describeValue(*type) : std::string("none")),
                  supported);
    return nullptr;
  }
  if (const Family *family = familyOf(type->string()))
    return family;
  config.failAt(ErrorCode::UnsupportedModel, "model_type",
                "model type '" + type->string() + "' is not supported",
                supported + "; other models can be written as an .mlir file");
  return nullptr;
}

static void checkArchitecture(ConfigReader &config, const Family &family) {
  const Json *found = config.take("architectures");
  if (!found)
    return;
  bool isOne = found->isArray() && found->array().size() == 1;
  const Json &name = isOne ? found->array()[0] : *found;
  if (!isOne || !name.isString() || name.string() != family.architecture)
    config.failAt(ErrorCode::UnsupportedModel, "architectures",
                  "expected [\"" + family.architecture.str() +
                      "\"] but found " + describeValue(name),
                  "only causal language models can be fine-tuned");
}

/// Whether `name` is of the form "Qwen/Qwen2.5-0.5B".
static bool isHubName(llvm::StringRef name) {
  auto isWord = [](llvm::StringRef word) {
    return !word.empty() && word.front() != '.' &&
           llvm::all_of(word, [](char c) {
             return llvm::isAlnum(c) || llvm::StringRef("-_.").contains(c);
           });
  };
  auto [owner, model] = name.split('/');
  return isWord(owner) && isWord(model);
}

Result<std::unique_ptr<HuggingFaceModel>>
HuggingFaceModel::parse(const std::string &text, const std::string &place) {
  HONE_ASSIGN(Json json, Json::parse(text, place));
  ConfigReader config(json, place);
  if (!json.isObject())
    config.fail(ErrorCode::BadConfig, json, "/",
                std::string("expected an object but found ") +
                    rt::describe(json.kind()),
                takeFromTheSamePlace);
  const Family *family = config.failed() ? nullptr : readFamily(config);
  if (!family)
    return config.status();

  std::unique_ptr<HuggingFaceModel> model = family->create();
  model->file = place;
  model->modelType = family->modelType.str();
  checkArchitecture(config, *family);
  config.checkCommonKeys();
  model->quantization = config.quantization();
  model->maxPositionEmbeddings = config.size("max_position_embeddings", 0);
  model->initializerRange = config.positive("initializer_range", 0.02);
  model->tiesEmbeddings = readTiesEmbeddings(config, family->tiesEmbeddings);
  model->embeddingModule = family->embeddingModule.str();
  model->targetModule = family->targetModule.str();
  // Transformers writes where it loaded the model from, often a folder.
  if (const rt::Json *name = config.take("_name_or_path");
      name && name->isString() && isHubName(name->string()))
    model->hubName = name->string();
  if (model->tiesEmbeddings)
    model->redundantTensors.push_back(headWeight);
  model->read(config);
  config.refuseUnknownKeys(family->modelType);
  if (config.failed())
    return config.status();
  model->notes = config.notes();
  return Result<std::unique_ptr<HuggingFaceModel>>(std::move(model));
}

Result<std::unique_ptr<HuggingFaceModel>>
HuggingFaceModel::open(const std::string &directory) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, "config.json");
  // A model's folder may be hostile, and a device has no end.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return Status(ErrorCode::NoModel, path.str().str(),
                  "expected the model's configuration but found a directory or "
                  "a device",
                  "give the file itself");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer && isHubName(directory) && !llvm::sys::fs::exists(directory))
    return Status(
        ErrorCode::NoModel, directory,
        "there is no such folder; this is a model's name on the Hugging Face "
        "Hub, from which Hone loads nothing",
        "download it with `hf download " + directory + " --local-dir " +
            llvm::sys::path::filename(directory).str() +
            "` and name that folder");
  if (!buffer)
    return Status(
        ErrorCode::NoModel, path.str().str(),
        "expected the model's configuration but it cannot be read: " +
            buffer.getError().message(),
        "give the folder of a Hugging Face model; in a spec, `model:` may name "
        "an .mlir file, too");
  return parse((*buffer)->getBuffer().str(), path.str().str());
}
