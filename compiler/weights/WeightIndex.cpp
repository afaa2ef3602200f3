//===- WeightIndex.cpp - Which file has which tensor ----------------------===//
//
// A shard's name comes from a file that anybody may have written, so it may
// name a file in the model's directory and nothing else. Symbolic links are
// followed: Hugging Face's cache is made of them. Index and shards are compared
// as sorted lists, in n log n.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightIndex.h"
#include "base/JsonReader.h"
#include "base/MappedFile.h"
#include "base/NearestName.h"
#include "base/Sha256.h"
#include "compiler/import/Quantization.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace hone;
using llvm::StringRef;
using rt::Json;

static std::string inDirectory(StringRef directory, StringRef name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

std::vector<ExpectedTensor>
hone::expectedTensors(llvm::ArrayRef<Parameter> model, bool isPacked) {
  std::vector<ExpectedTensor> expected;
  for (const Parameter &parameter : model) {
    std::vector<int64_t> shape = parameter.type.getShape().vec();
    StorageAttr storage = parameter.storage;
    if (!isPacked || !storage || !storage.isGrouped()) {
      if (parameter.transposed)
        std::reverse(shape.begin(), shape.end());
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
    entries.push_back({&file, &tensor});
}

/// After the last addFile. An error when two files have one tensor.
Status WeightIndex::sortEntries() {
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    int order = a.tensor->name.compare(b.tensor->name);
    return order != 0 ? order < 0 : a.file->path() < b.file->path();
  });
  auto same = std::adjacent_find(entries.begin(), entries.end(),
                                 [](const Entry &a, const Entry &b) {
                                   return a.tensor->name == b.tensor->name;
                                 });
  if (same == entries.end())
    return Status::ok();
  return Status(ErrorCode::ShardsDisagree,
                same[1].file->path() + ": tensor " + same->tensor->name,
                "the tensor is in two shards; the first is " +
                    same->file->path(),
                "download the model again");
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
    return Status(ErrorCode::PickledWeights,
                  inDirectory(directory, others.front()),
                  "expected safetensors but found pickle weights, which are "
                  "never read because reading them can run any code",
                  "convert the model to safetensors: "
                  "save_pretrained(..., safe_serialization=True)");
  return Status(ErrorCode::NoWeights, directory,
                "expected model.safetensors or "
                "model.safetensors.index.json but found neither",
                remedy);
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
  HONE_ASSIGN(rt::SafetensorsFile opened, rt::SafetensorsFile::open(file));
  WeightIndex index;
  index.where = file;
  index.addFile(std::move(opened));
  HONE_TRY(index.sortEntries());
  return Result<WeightIndex>(std::move(index));
}

static bool isShardName(StringRef name) {
  return !name.empty() && name.front() != '.' &&
         name.ends_with(".safetensors") && llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '.' || c == '_' || c == '-';
         });
}

namespace {
/// One entry of an index's weight_map.
struct Mapped {
  std::string tensor, shard;
};
} // namespace

/// Reads /weight_map into `mapped`, in the order of the file.
static Status readWeightMap(const std::string &path,
                            std::vector<Mapped> &mapped) {
  HONE_ASSIGN(rt::MappedFile file, rt::MappedFile::open(path));
  rt::JsonReader reader(file.bytes(), path, ErrorCode::BadShardIndex);
  uint64_t map = 0;
  Json none;
  if (reader.members(none, [&](const std::string &key) {
        if (key == "weight_map" && map)
          reader.failAt(reader.lastValue(),
                        "expected \"weight_map\" once, found it again",
                        "download the index again");
        if (key == "weight_map")
          map = reader.lastValue();
        return false;
      }))
    reader.finish();
  Json::Kind kind = Json::Kind::Null;
  if (reader.ok() && map) {
    reader.seek(map);
    reader.peek(kind);
  }
  Mapped entry;
  if (kind == Json::Kind::Object)
    for (reader.beginObject(); reader.nextMember(entry.tensor);) {
      uint64_t value = reader.lastValue();
      if (!reader.peek(kind))
        break;
      bool isName = kind == Json::Kind::String && reader.string(entry.shard);
      if (isName && isShardName(entry.shard)) {
        mapped.push_back(entry);
        continue;
      }
      if (reader.ok())
        return Status(ErrorCode::BadShardIndex,
                      reader.placeOf(value) + " /weight_map/" + entry.tensor,
                      "expected the name of a .safetensors file in the "
                      "model's directory but found " +
                          (isName ? "'" + entry.shard + "'"
                                  : std::string(rt::describe(kind))),
                      "shard names have letters, digits, '.', '_' and '-' "
                      "only");
    }
  if (reader.ok() && mapped.empty())
    return Status(ErrorCode::BadShardIndex, path + " /weight_map",
                  "expected an object from tensor names to file names but "
                  "found " +
                      std::string(map ? rt::describe(kind) : "none"),
                  "download the index again");
  return reader.status();
}

Result<WeightIndex> WeightIndex::openShards(const std::string &directory,
                                            const std::string &indexPath) {
  std::vector<Mapped> mapped;
  HONE_TRY(readWeightMap(indexPath, mapped));
  WeightIndex index;
  index.where = indexPath;
  std::map<std::string, std::string> paths; // by shard
  for (const Mapped &entry : mapped) {
    auto [shard, isNew] =
        paths.emplace(entry.shard, inDirectory(directory, entry.shard));
    if (!isNew)
      continue;
    HONE_ASSIGN(rt::SafetensorsFile file,
                rt::SafetensorsFile::open(shard->second));
    index.addFile(std::move(file));
  }
  HONE_TRY(index.sortEntries());

  const char *remedy = "index and shards belong to different models; download "
                       "both again";
  llvm::sort(mapped, [](const Mapped &a, const Mapped &b) {
    return a.tensor < b.tensor;
  });
  for (const Entry &entry : index.entries) {
    const std::string &name = entry.tensor->name;
    auto found = llvm::lower_bound(
        mapped, name,
        [](const Mapped &m, const std::string &n) { return m.tensor < n; });
    if (found == mapped.end() || found->tensor != name)
      return Status(ErrorCode::ShardsDisagree,
                    entry.file->path() + ": tensor " + name,
                    "the shard has the tensor but the index does not", remedy);
  }
  for (const Mapped &entry : mapped) {
    if (&entry != &mapped.front() && (&entry - 1)->tensor == entry.tensor)
      return Status(ErrorCode::BadShardIndex,
                    indexPath + " /weight_map/" + entry.tensor,
                    "expected each tensor once, found it again",
                    "download the index again");
    const Entry *found = index.find(entry.tensor);
    if (!found || found->file->path() != paths[entry.shard])
      return Status(ErrorCode::ShardsDisagree,
                    paths[entry.shard] + ": tensor " + entry.tensor,
                    "the index says that the shard has the tensor but " +
                        (found ? "it is in " + found->file->path()
                               : std::string("it does not")),
                    remedy);
  }
  return Result<WeightIndex>(std::move(index));
}

const WeightIndex::Entry *WeightIndex::find(StringRef name) const {
  StringRef rest = name;
  return !tiedModule.empty() && rest.consume_front(tiedModule)
             ? findInFiles((sourceModule + rest).str())
             : findInFiles(name);
}

/// Under its name, or that in the base model.
const WeightIndex::Entry *WeightIndex::findInFiles(StringRef name) const {
  if (const Entry *entry = findExactly(name))
    return entry;
  StringRef inBase = name;
  return !basePrefix.empty() && inBase.consume_front(basePrefix)
             ? findExactly(inBase)
             : nullptr;
}

const WeightIndex::Entry *WeightIndex::findExactly(StringRef name) const {
  auto it = llvm::lower_bound(entries, name, [](const Entry &e, StringRef n) {
    return StringRef(e.tensor->name) < n;
  });
  return it == entries.end() || it->tensor->name != name ? nullptr : &*it;
}

std::vector<std::string> WeightIndex::names() const {
  std::vector<std::string> all;
  for (const Entry &entry : entries)
    all.push_back(entry.tensor->name);
  return all;
}

Result<WeightIndex::Entry>
WeightIndex::get(StringRef name, const std::string &source,
                 const std::string &described) const {
  if (const Entry *entry = find(name))
    return *entry;
  std::string nearest = rt::nearestName(name.str(), names());
  return Status(ErrorCode::MissingTensor, where + ": tensor " + name.str(),
                source + " asks for this tensor" + described +
                    ", but no file has it" +
                    (nearest.empty() ? "" : "; the nearest name is " + nearest),
                "check that " + source + " belongs to these weights");
}

Status WeightIndex::require(const std::vector<ExpectedTensor> &expected,
                            const std::string &source) const {
  for (const ExpectedTensor &tensor : expected) {
    HONE_ASSIGN(Entry found,
                get(tensor.name, source,
                    ", of shape " + rt::describeShape(tensor.shape)));
    const Entry *entry = &found;
    const rt::TensorInfo &info = *entry->tensor;
    std::string place = entry->file->path() + ": tensor " + info.name;
    if (info.shape != tensor.shape)
      return Status(ErrorCode::TensorMisfit, place,
                    "expected shape " + rt::describeShape(tensor.shape) +
                        " from " + source + " but found " +
                        rt::dtypeName(info.dtype) + " " +
                        rt::describeShape(info.shape),
                    "check that " + source + " belongs to these weights");
    bool fits = tensor.dtype ? info.dtype == *tensor.dtype
                             : rt::isConvertible(info.dtype);
    if (!fits)
      return Status(ErrorCode::TensorMisfit, place,
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
  auto allow = [&](const Entry *entry) {
    if (entry)
      allowed.insert(entry->tensor->name);
  };
  for (const ExpectedTensor &tensor : expected)
    allow(find(tensor.name));
  for (const std::string &name : redundant)
    allow(findInFiles(name));
  for (const std::string &name : names()) {
    if (allowed.contains(name) ||
        StringRef(name).ends_with(".rotary_emb.inv_freq"))
      continue;
    const Entry &entry = *findExactly(name);
    return Status(ErrorCode::UnusedTensor,
                  entry.file->path() + ": tensor " + name,
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
    const Entry &entry = *findExactly(all[i]);
    rt::Sha256 hash;
    entry.file->visit(*entry.tensor, [&](const char *bytes, uint64_t size) {
      hash.update(bytes, size);
    });
    digests[i] = hash.finishHex();
  });
  rt::Sha256 whole;
  for (size_t i = 0; i < all.size(); ++i) {
    const rt::TensorInfo &tensor = *findExactly(all[i])->tensor;
    whole.update(all[i] + "\n" + rt::dtypeName(tensor.dtype) + " " +
                 rt::describeShape(tensor.shape) + "\n" + digests[i] + "\n");
  }
  return whole.finishHex();
}
