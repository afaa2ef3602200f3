//===- WeightIndex.cpp - Which file has which tensor ----------------------===//
//
// A shard's name comes from a file that anybody may have written, so it may
// name a file in the model's directory and nothing else. Symbolic links are
// followed: Hugging Face's cache is made of them.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightIndex.h"
#include "base/Json.h"
#include "base/Sha256.h"
#include "compiler/import/Quantization.h"
#include "program/NearestName.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"

using namespace hone;
using llvm::StringRef;
using rt::ExitCode;
using rt::Json;
using rt::Result;
using rt::Status;

static Status badData(const std::string &place, const std::string &problem,
                      const std::string &remedy) {
  return Status::error(ExitCode::BadData, {place, problem, remedy});
}

static std::string inDirectory(StringRef directory, StringRef name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

std::vector<ExpectedTensor>
hone::expectedTensors(llvm::ArrayRef<Parameter> frozen, bool isPacked) {
  std::vector<ExpectedTensor> expected;
  for (const Parameter &parameter : frozen) {
    std::vector<int64_t> shape = parameter.type.getShape().vec();
    StorageAttr storage = parameter.storage;
    if (!isPacked || !storage || !storage.isGrouped()) {
      expected.push_back({parameter.name, shape});
      continue;
    }
    std::vector<int64_t> groups = {shape[0], shape[1] / storage.getGroup()};
    expected.push_back({scalesName(parameter.name), groups});
    expected.push_back({biasesName(parameter.name), groups});
    expected.push_back({parameter.name,
                        {shape[0], shape[1] * storage.getBits() / 32},
                        rt::Dtype::U32});
  }
  return expected;
}

void WeightIndex::addFile(rt::SafetensorsFile opened) {
  files.push_back(std::make_unique<rt::SafetensorsFile>(std::move(opened)));
  const rt::SafetensorsFile &file = *files.back();
  for (const rt::TensorInfo &tensor : file.tensors())
    entries[tensor.name] = {&file, &tensor};
}

/// The model's weights are not safetensors: say what they are instead.
static Status describeMissing(const std::string &directory) {
  std::string remedy = "download model.safetensors, or all shards and "
                       "model.safetensors.index.json, into the directory";
  std::vector<std::string> others;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(directory, error), end;
       it != end && !error; it.increment(error)) {
    StringRef name = llvm::sys::path::filename(it->path());
    StringRef extension = llvm::sys::path::extension(name);
    if (extension == ".bin" || extension == ".pt" || extension == ".pth" ||
        extension == ".pkl" || extension == ".ckpt")
      others.push_back(name.str());
  }
  llvm::sort(others);
  if (!others.empty())
    return badData(inDirectory(directory, others.front()),
                   "expected safetensors but found pickle weights, which are "
                   "never read because reading them can run any code",
                   "convert the model to safetensors: "
                   "save_pretrained(..., safe_serialization=True)");
  return Status::error(ExitCode::NoInput,
                       {directory,
                        "expected model.safetensors or "
                        "model.safetensors.index.json but found neither",
                        remedy});
}

Result<WeightIndex> WeightIndex::open(const std::string &path) {
  std::string file = path;
  if (llvm::sys::fs::is_directory(path)) {
    file = inDirectory(path, "model.safetensors");
    std::string index = inDirectory(path, "model.safetensors.index.json");
    if (!llvm::sys::fs::exists(file) && llvm::sys::fs::exists(index))
      return openShards(path, index);
    if (!llvm::sys::fs::exists(file))
      return describeMissing(path);
  }
  Result<rt::SafetensorsFile> opened = rt::SafetensorsFile::open(file);
  if (!opened.isOk())
    return opened.status();
  WeightIndex index;
  index.where = file;
  index.addFile(std::move(opened.value()));
  return Result<WeightIndex>(std::move(index));
}

static bool isShardName(StringRef name) {
  return !name.empty() && name.front() != '.' &&
         name.ends_with(".safetensors") && llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '.' || c == '_' || c == '-';
         });
}

Result<WeightIndex> WeightIndex::openShards(const std::string &directory,
                                            const std::string &indexPath) {
  auto buffer = llvm::MemoryBuffer::getFile(indexPath, /*IsText=*/true);
  if (!buffer)
    return Status::error(ExitCode::NoInput,
                         {indexPath,
                          "cannot be read: " + buffer.getError().message(),
                          "check the file's permissions"});
  Result<Json> json = Json::parse((*buffer)->getBuffer().str(), indexPath);
  if (!json.isOk())
    return json.status();
  const Json *map = json.value().find("weight_map");
  if (!map || !map->isObject() || map->object().empty())
    return badData(indexPath + " /weight_map",
                   "expected an object from tensor names to file names but "
                   "found " +
                       std::string(map ? rt::describe(map->kind()) : "none"),
                   "download the index again");

  WeightIndex index;
  index.where = indexPath;
  llvm::StringSet<> opened;
  for (const auto &[tensor, shard] : map->object()) {
    std::string place = indexPath + ":" + std::to_string(shard.line()) + ":" +
                        std::to_string(shard.column()) + " /weight_map/" +
                        tensor;
    if (!shard.isString() || !isShardName(shard.string()))
      return badData(place,
                     "expected the name of a .safetensors file in the model's "
                     "directory but found " +
                         (shard.isString() ? "'" + shard.string() + "'"
                                           : rt::describe(shard.kind())),
                     "shard names have letters, digits, '.', '_' and '-' "
                     "only");
    if (!opened.insert(shard.string()).second)
      continue;
    Result<rt::SafetensorsFile> file =
        rt::SafetensorsFile::open(inDirectory(directory, shard.string()));
    if (!file.isOk())
      return file.status();
    for (const rt::TensorInfo &info : file.value().tensors()) {
      const Json *mapped = map->find(info.name);
      if (!mapped)
        return badData(file.value().path() + ": tensor " + info.name,
                       "the shard has the tensor but the index does not",
                       "index and shards belong to different models; "
                       "download both again");
      if (const Entry *first = index.find(info.name))
        return badData(file.value().path() + ": tensor " + info.name,
                       "the tensor is in two shards; the first is " +
                           first->file->path(),
                       "download the model again");
    }
    index.addFile(std::move(file.value()));
  }
  for (const auto &[tensor, shard] : map->object()) {
    const Entry *entry = index.find(tensor);
    std::string expected = inDirectory(directory, shard.string());
    if (!entry || entry->file->path() != expected)
      return badData(expected + ": tensor " + tensor,
                     "the index says that the shard has the tensor but " +
                         (entry ? "it is in " + entry->file->path()
                                : std::string("it does not")),
                     "index and shards belong to different models; download "
                     "both again");
  }
  return Result<WeightIndex>(std::move(index));
}

const WeightIndex::Entry *WeightIndex::find(StringRef name) const {
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second;
}

std::vector<std::string> WeightIndex::names() const {
  std::vector<std::string> all;
  for (const auto &entry : entries)
    all.push_back(entry.getKey().str());
  llvm::sort(all);
  return all;
}

Result<WeightIndex::Entry>
WeightIndex::get(StringRef name, const std::string &source,
                 const std::string &described) const {
  if (const Entry *entry = find(name))
    return *entry;
  std::string nearest = rt::nearestName(name.str(), names());
  return badData(
      where + ": tensor " + name.str(),
      source + " asks for this tensor" + described + ", but no file has it" +
          (nearest.empty() ? "" : "; the nearest name is " + nearest),
      "check that " + source + " belongs to these weights");
}

Status WeightIndex::require(const std::vector<ExpectedTensor> &expected,
                            const std::string &source) const {
  for (const ExpectedTensor &tensor : expected) {
    Result<Entry> found = get(tensor.name, source,
                              ", of shape " + rt::describeShape(tensor.shape));
    if (!found.isOk())
      return found.status();
    const Entry *entry = &found.value();
    std::string place = entry->file->path() + ": tensor " + tensor.name;
    const rt::TensorInfo &info = *entry->tensor;
    if (info.shape != tensor.shape)
      return badData(place,
                     "expected shape " + rt::describeShape(tensor.shape) +
                         " from " + source + " but found " +
                         rt::dtypeName(info.dtype) + " " +
                         rt::describeShape(info.shape),
                     "check that " + source + " belongs to these weights");
    bool fits = tensor.dtype ? info.dtype == *tensor.dtype
                             : rt::isConvertible(info.dtype);
    if (!fits)
      return badData(place,
                     std::string("expected ") +
                         (tensor.dtype ? rt::dtypeName(*tensor.dtype)
                                       : "F32, BF16, F16 or F64") +
                         " but found " + rt::dtypeName(info.dtype),
                     tensor.dtype
                         ? "check that " + source + " belongs to these weights"
                         : "quantised weights need `quantization` in MLX's "
                           "config.json; else use the original model");
  }
  return Status::ok();
}

Status
WeightIndex::refuseUnused(const std::vector<ExpectedTensor> &expected,
                          const std::vector<std::string> &redundant) const {
  llvm::StringSet<> allowed;
  for (const ExpectedTensor &tensor : expected)
    allowed.insert(tensor.name);
  for (const std::string &name : redundant)
    allowed.insert(name);
  for (const std::string &name : names()) {
    if (allowed.contains(name) ||
        StringRef(name).ends_with(".rotary_emb.inv_freq"))
      continue;
    const Entry &entry = *find(name);
    return badData(entry.file->path() + ": tensor " + name,
                   "the model of config.json does not use this tensor, of "
                   "shape " +
                       rt::describeShape(entry.tensor->shape),
                   StringRef(name).contains("lora_")
                       ? "give adapters to the training binary with --adapter"
                       : "check that config.json belongs to these weights; a "
                         "tensor that is left out may change what the model "
                         "computes");
  }
  return Status::ok();
}

std::string WeightIndex::contentHash() const {
  std::vector<std::string> all = names();
  std::vector<std::string> digests(all.size());
  llvm::parallelFor(0, all.size(), [&](size_t i) {
    const Entry &entry = *find(all[i]);
    rt::Sha256 hash;
    hash.update(entry.file->data(*entry.tensor), entry.tensor->bytes());
    digests[i] = hash.finishHex();
    entry.file->release(*entry.tensor);
  });
  rt::Sha256 whole;
  for (size_t i = 0; i < all.size(); ++i) {
    const rt::TensorInfo &tensor = *find(all[i])->tensor;
    whole.update(all[i] + "\n" + rt::dtypeName(tensor.dtype) + " " +
                 rt::describeShape(tensor.shape) + "\n" + digests[i] + "\n");
  }
  return whole.finishHex();
}
