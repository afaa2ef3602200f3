//===- BaseModel.cpp - The model that an adapter belongs to ---------------===//

#include "compiler/hone-adapter/BaseModel.h"
#include "base/NearestName.h"
#include "compiler/import/ConfigReader.h"
#include "compiler/import/families/Family.h"
#include "formats/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

using namespace hone;
using llvm::StringRef;
using rt::Json;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static const char *bytesOf(const WeightIndex::Entry &entry) {
  return entry.file->data(*entry.tensor);
}

unsigned BaseMatrix::packed(uint64_t index) const {
  // Words are little endian, and the first number is in the lowest bits.
  auto bytes = reinterpret_cast<const unsigned char *>(bytesOf(*numbers));
  return quantization.bits == 8 ? bytes[index]
                                : bytes[index / 2] >> (index % 2 * 4) & 15;
}

void BaseMatrix::load(uint64_t first, uint64_t count, double *values) const {
  const rt::Dtype dtype = numbers->tensor->dtype;
  if (!isGrouped())
    return rt::convertElements(
        dtype, bytesOf(*numbers) + first * rt::dtypeBytes(dtype),
        rt::Dtype::F64, values, count);
  const uint64_t group = quantization.groupSize;
  for (uint64_t at = 0; at < count; at += group) {
    uint64_t g = (first + at) / group;
    double scale = rt::loadAsDouble(scales->tensor->dtype, bytesOf(*scales), g);
    double bias = rt::loadAsDouble(biases->tensor->dtype, bytesOf(*biases), g);
    for (uint64_t i = at; i < at + group; ++i)
      values[i] = scale * packed(first + i) + bias;
  }
}

void BaseMatrix::release(uint64_t first, uint64_t count) const {
  const uint64_t bits =
      isGrouped() ? quantization.bits : rt::dtypeBits(numbers->tensor->dtype);
  numbers->file->release(*numbers->tensor, first * bits / 8, count * bits / 8);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

std::string BaseModel::configPath() const { return folder + "/config.json"; }

std::string BaseModel::modelType() const {
  const Json *type = root.find("model_type");
  return type && type->isString() ? type->string() : "";
}

Result<bool> BaseModel::tiesEmbeddings() const {
  const Family *family = familyOf(modelType());
  ConfigReader reader(root, configPath());
  const bool ties = readTiesEmbeddings(
      reader, family ? family->tiesEmbeddings : !index->find("lm_head.weight"));
  return reader.failed() ? Result<bool>(reader.status()) : Result<bool>(ties);
}

std::optional<BaseModel::TiedTable> BaseModel::tiedTable() const {
  const Family *family = familyOf(modelType());
  if (!family)
    return std::nullopt;
  const std::string name = family->embeddingModule.str() + ".weight";
  Result<std::string> inFiles = nameOf(name, configPath());
  if (!inFiles.isOk())
    return std::nullopt;
  return TiedTable{inFiles.value(),
                   name.substr(0, name.size() - inFiles.value().size())};
}

Status BaseModel::readQuantization() {
  for (const char *key : {"quantization", "quantization_config"}) {
    const Json *found = root.find(key);
    if (!found || found->isNull())
      continue;
    HONE_ASSIGN(Quantization read,
                hone::readQuantization(*found, key, configPath()));
    if (groups && !(*groups == read))
      return rt::badJson(ErrorCode::BadConfig, configPath(), found,
                         "expected quantization_config to equal quantization",
                         "remove one of the two");
    groups = read;
  }
  return Status::ok();
}

Result<BaseModel> BaseModel::openConfig(const std::string &directory) {
  BaseModel model;
  model.folder = directory;
  if (!llvm::sys::fs::exists(model.configPath()))
    return Status(ErrorCode::NoModel, directory,
                  "expected a model's config.json, found none",
                  "give the folder of the Hugging Face model that the "
                  "adapter was trained on");
  HONE_ASSIGN(model.root, rt::readJsonFile(model.configPath()));
  return Result<BaseModel>(std::move(model));
}

Result<BaseModel> BaseModel::open(const std::string &directory) {
  Result<BaseModel> opened = openConfig(directory);
  HONE_TRY(opened);
  BaseModel &model = opened.value();
  HONE_TRY(model.readQuantization());
  HONE_ASSIGN(WeightIndex weights, WeightIndex::open(directory));
  model.index.emplace(std::move(weights));
  return opened;
}

Result<std::string> BaseModel::nameOf(const std::string &tensor,
                                      const std::string &place) const {
  if (index->find(tensor))
    return tensor;
  // gpt2's files hold "h.0..." where the model with its head has
  // "transformer.h.0...".
  auto [body, rest] = StringRef(tensor).split('.');
  std::vector<std::string> names = index->names();
  bool hasBody = llvm::any_of(names, [body = body](const std::string &name) {
    return StringRef(name).starts_with((body + ".").str());
  });
  if (!hasBody && index->find(rest))
    return rest.str();
  std::string nearest = rt::nearestName(tensor, names);
  bool isHead = tensor == "lm_head.weight";
  return Status(
      ErrorCode::AdapterOfOtherModel, place,
      "expected the model in " + folder + " to have " + tensor +
          ", found no such tensor" +
          (isHead || nearest.empty() ? "" : "; the nearest name is " + nearest),
      isHead ? "the model's head is its embedding, which would change too; "
               "train without lm_head"
             : "use the model that the adapter was trained on");
}

bool BaseModel::isGrouped(const std::string &name, std::string &weight) const {
  if (!groups)
    return false;
  StringRef module = name;
  if (!module.consume_back(".scales") && !module.consume_back(".biases") &&
      !module.consume_back(".weight"))
    return false;
  weight = module.str() + ".weight";
  const WeightIndex::Entry *numbers = index->find(weight);
  return numbers && numbers->tensor->dtype == rt::Dtype::U32 &&
         index->find(scalesName(weight)) && index->find(biasesName(weight));
}

Result<BaseMatrix> BaseModel::matrix(const std::string &name) const {
  BaseMatrix matrix;
  matrix.numbers = index->find(name);
  if (!matrix.numbers)
    return Status(ErrorCode::Bug, name, "the tensor is gone",
                  "please report this");
  const rt::TensorInfo &tensor = *matrix.numbers->tensor;
  auto misfit = [&](const rt::TensorInfo &info, const std::string &expected) {
    return Status(ErrorCode::TensorMisfit,
                  matrix.numbers->file->path() + ": tensor " + info.name,
                  "expected " + expected + ", found " +
                      rt::dtypeName(info.dtype) + " " +
                      rt::describeShape(info.shape),
                  "check that config.json belongs to these weights");
  };
  if (tensor.shape.size() != 2)
    return misfit(tensor, "a matrix");
  matrix.rows = tensor.shape[0];
  matrix.columns = tensor.shape[1];
  std::string weight;
  if (!isGrouped(name, weight)) {
    if (!rt::isConvertible(tensor.dtype))
      return misfit(tensor, "F32, BF16, F16 or F64");
    return matrix;
  }
  matrix.quantization = *groups;
  matrix.scales = index->find(scalesName(name));
  matrix.biases = index->find(biasesName(name));
  // In 128 bits: a dimension is below 2^63.
  auto columns = static_cast<unsigned __int128>(matrix.columns) * 32 /
                 static_cast<uint64_t>(groups->bits);
  if (columns > INT64_MAX ||
      columns % static_cast<uint64_t>(groups->groupSize) != 0)
    return misfit(tensor, "rows of whole groups of " +
                              std::to_string(groups->groupSize));
  matrix.columns = static_cast<int64_t>(columns);
  const std::vector<int64_t> shape = {matrix.rows,
                                      matrix.columns / groups->groupSize};
  for (const WeightIndex::Entry *entry : {matrix.scales, matrix.biases})
    if (entry->tensor->shape != shape ||
        !rt::isConvertible(entry->tensor->dtype))
      return misfit(*entry->tensor,
                    "floats of shape " + rt::describeShape(shape));
  return matrix;
}

Result<int64_t> hone::sizeIn(const BaseModel &model, const char *key) {
  const Json *found = model.config().find(key);
  if (!found || found->isNull())
    return int64_t(0);
  if (found->isInteger() && found->integer() >= 1 &&
      found->integer() <= INT32_MAX)
    return found->integer();
  return rt::badJson(ErrorCode::BadConfig, model.configPath(), found,
                     std::string("expected ") + key +
                         " to be an integer from 1 to 2147483647",
                     "take config.json and weights from the same place");
}
