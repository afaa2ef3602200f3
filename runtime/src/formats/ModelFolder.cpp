//===- ModelFolder.cpp - A model's parameters in the files of its folder --===//
//
// Nothing is in memory as a whole: tensors go from where they train to the
// file, copied files from the mapped weights.
//
//===----------------------------------------------------------------------===//

#include "formats/ModelFolder.h"
#include "base/OutputFile.h"
#include "formats/JsonFile.h"
#include "platform/Files.h"

#include <algorithm>
#include <map>

namespace hone::rt {

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

static Status badLayout(const std::string &place) {
  return Status(ErrorCode::OtherWeights, place,
                "expects the files of the model and their tensors but "
                "got something else",
                "compile the model again");
}

/// A name that stays in its folder.
static bool isPlainName(const Json &value) {
  return value.isString() && !value.string().empty() &&
         value.string().front() != '.' &&
         value.string().find_first_of(std::string("/\\\0", 3)) ==
             std::string::npos;
}

Result<ModelLayout> ModelLayout::parse(std::string_view text,
                                       const std::string &place) {
  Result<Json> parsed = Json::parse(text, place);
  if (!parsed.isOk())
    return badLayout(place);
  const Json &root = parsed.value();
  ModelLayout layout;
  const Json *index = root.find("index"), *shards = root.find("shards"),
             *files = root.find("files");
  if (!shards || !shards->isArray() || shards->array().empty() || !files ||
      !files->isArray() || (index && !isPlainName(*index)))
    return badLayout(place);
  if (index)
    layout.index = index->string();
  for (const Json &file : files->array()) {
    if (!isPlainName(file))
      return badLayout(place);
    layout.files.push_back(file.string());
  }
  for (const Json &shard : shards->array()) {
    const Json *file = shard.find("file"), *tensors = shard.find("tensors");
    if (!file || !isPlainName(*file) || !tensors || !tensors->isArray())
      return badLayout(place);
    Shard &made = layout.shards.emplace_back();
    made.file = file->string();
    for (const Json &tensor : tensors->array()) {
      if (!tensor.isArray() || tensor.array().size() != 2 ||
          !tensor.array()[0].isString() || !tensor.array()[1].isString())
        return badLayout(place);
      made.tensors.push_back(
          {tensor.array()[0].string(), tensor.array()[1].string()});
    }
  }
  if (layout.index.empty() && layout.shards.size() > 1)
    return badLayout(place);
  return Result<ModelLayout>(std::move(layout));
}

std::vector<std::string> ModelLayout::fileNames() const {
  std::vector<std::string> names = files;
  for (const Shard &shard : shards)
    names.push_back(shard.file);
  if (!index.empty())
    names.push_back(index);
  return names;
}

using ParametersByName = std::map<std::string_view, const TensorMemory *>;

static ParametersByName byName(const std::vector<TensorMemory> &parameters) {
  ParametersByName found;
  for (const TensorMemory &parameter : parameters)
    found[parameter.name] = &parameter;
  return found;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Status writeShard(const std::string &path,
                         const ModelLayout::Shard &shard,
                         const ParametersByName &parameters, FolderSync sync) {
  std::vector<TensorSpec> specs;
  specs.reserve(shard.tensors.size());
  ParametersByName sources;
  for (const ModelLayout::Tensor &tensor : shard.tensors) {
    const TensorMemory *source = parameters.at(tensor.parameter);
    specs.push_back({tensor.name, source->dtype, source->fileShape()});
    sources[tensor.name] = source;
  }
  HONE_ASSIGN(
      SafetensorsWriter writer,
      SafetensorsWriter::create(path, std::move(specs), {{"format", "pt"}}));
  for (const TensorInfo &info : writer.tensors())
    HONE_TRY(writeTensor(writer, *sources.at(info.name)));
  return writer.commit(sync);
}

std::string renderShardIndex(const std::map<std::string, std::string> &fileOf,
                             uint64_t bytes) {
  std::string text =
      "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(bytes) +
      "\n  },\n  \"weight_map\": {";
  const char *separator = "\n    ";
  for (const auto &[tensor, file] : fileOf) {
    text += separator + jsonString(tensor) + ": " + jsonString(file);
    separator = ",\n    ";
  }
  return text + "\n  }\n}\n";
}

static std::string indexText(const ModelLayout &layout,
                             const ParametersByName &parameters) {
  std::map<std::string, std::string> fileOf;
  uint64_t bytes = 0;
  for (const ModelLayout::Shard &shard : layout.shards)
    for (const ModelLayout::Tensor &tensor : shard.tensors) {
      bytes += parameters.at(tensor.parameter)->bytes();
      fileOf[tensor.name] = shard.file;
    }
  return renderShardIndex(fileOf, bytes);
}

static Status copyFile(const std::string &path, const SafetensorsFile &source,
                       const TensorInfo &tensor, FolderSync sync) {
  HONE_ASSIGN(OutputFile file, OutputFile::create(path));
  Status status = Status::ok();
  source.visit(tensor, [&](const char *bytes, uint64_t size) {
    if (status.isOk())
      status = file.write(bytes, size);
  });
  return status.isOk() ? file.commit(sync) : status;
}

Status writeModel(const std::string &directory, const ModelLayout &layout,
                  const std::vector<TensorMemory> &tensors,
                  const SafetensorsFile &source) {
  HONE_TRY(createDirectories(directory));
  auto pathOf = [&](const std::string &name) { return directory + "/" + name; };
  const bool isConfigured =
      std::find(layout.files.begin(), layout.files.end(),
                ModelLayout::configName) != layout.files.end();
  // The first shard's own sync of the folder makes this durable before it.
  if (isConfigured && layout.shards.size() > 1)
    platform::removeFile(pathOf(ModelLayout::configName).c_str());

  const auto parameters = byName(tensors);
  for (const ModelLayout::Shard &shard : layout.shards) {
    bool isFirst = &shard == &layout.shards.front();
    bool isLast = layout.files.empty() && layout.index.empty();
    HONE_TRY(
        writeShard(pathOf(shard.file), shard, parameters,
                   isFirst || isLast ? FolderSync::Now : FolderSync::Later));
  }
  if (!layout.index.empty())
    HONE_TRY(writeFile(pathOf(layout.index), indexText(layout, parameters),
                       isConfigured ? FolderSync::Later : FolderSync::Now));
  auto copy = [&](const std::string &name, FolderSync sync) {
    const TensorInfo *tensor = source.find(ModelLayout::filePrefix + name);
    return copyFile(pathOf(name), source, *tensor, sync);
  };
  for (const std::string &name : layout.files)
    if (name != ModelLayout::configName)
      HONE_TRY(copy(name, FolderSync::Later));
  return isConfigured ? copy(ModelLayout::configName, FolderSync::Now)
                      : Status::ok();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Status otherModel(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::OtherAdapter, place, problem,
                "give the --output of a run of this program, or the "
                "folder of a model with the same shapes");
}

Status readModel(const std::string &directory, const ModelLayout &layout,
                 const std::vector<TensorMemory> &targets) {
  struct Reading {
    const SafetensorsFile *file;
    const TensorInfo *tensor;
    const TensorMemory *target;
  };
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::vector<Reading> readings;
  const auto parameters = byName(targets);
  for (const ModelLayout::Shard &shard : layout.shards) {
    HONE_ASSIGN(SafetensorsFile opened,
                SafetensorsFile::open(directory + "/" + shard.file,
                                      HeaderLimit::of(shard.tensors)));
    files.push_back(std::make_unique<SafetensorsFile>(std::move(opened)));
    const SafetensorsFile &file = *files.back();
    for (const ModelLayout::Tensor &wanted : shard.tensors) {
      const TensorMemory *target = parameters.at(wanted.parameter);
      const std::vector<int64_t> shape = target->fileShape();
      std::string place = file.path() + ": tensor " + wanted.name;
      const TensorInfo *tensor = file.find(wanted.name);
      if (!tensor || tensor->shape != shape)
        return otherModel(place, "expected shape " + describeShape(shape) +
                                     ", found " +
                                     (tensor ? describeShape(tensor->shape)
                                             : std::string("no such tensor")));
      if (!isConvertible(tensor->dtype))
        return otherModel(
            place, std::string("expected F32, F64, BF16 or F16, found ") +
                       dtypeName(tensor->dtype));
      readings.push_back({&file, tensor, target});
    }
  }
  for (const Reading &reading : readings)
    readTensor(*reading.file, *reading.tensor, *reading.target);
  return Status::ok();
}

} // namespace hone::rt
