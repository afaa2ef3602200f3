//===- RandomWeights.cpp - Random weights in Hugging Face's files ---------===//
//
// Streams: a group of chunks is computed on all cores, then written. Matrices
// and biases are uniform with the standard deviation initializer_range,
// as Transformers initialises them; norm weights are uniform around 1.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-make-model/RandomWeights.h"
#include "base/Json.h"
#include "base/OutputFile.h"
#include "compiler/weights/WeightManifest.h"
#include "formats/RandomTensor.h"
#include "formats/Safetensors.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Parallel.h"

#include <algorithm>

using namespace hone;
using rt::Dtype;

static constexpr uint64_t chunkElements = 1 << 20;
static constexpr uint64_t chunksInFlight = 8;

static Status writeFile(const RandomWeights &options, const std::string &path,
                        std::vector<rt::TensorSpec> tensors) {
  HONE_ASSIGN(rt::SafetensorsWriter writer,
              rt::SafetensorsWriter::create(path, std::move(tensors),
                                            {{"format", "pt"}}));
  unsigned bytes = rt::dtypeBytes(options.dtype);
  std::vector<char> buffer(chunksInFlight * chunkElements * bytes);
  for (const rt::TensorInfo &tensor : writer.tensors()) {
    rt::Distribution distribution = distributionOf(
        tensor.name, options.standardDeviation, options.normCenter);
    uint64_t elements = tensor.elements();
    uint64_t group = chunksInFlight * chunkElements;
    for (uint64_t first = 0; first < elements; first += group) {
      uint64_t count = std::min(group, elements - first);
      llvm::parallelFor(
          0, (count + chunkElements - 1) / chunkElements, [&](size_t chunk) {
            uint64_t begin = chunk * chunkElements;
            rt::fillRandom(options.seed, tensor.name, distribution,
                           first + begin,
                           std::min(chunkElements, count - begin),
                           options.dtype, buffer.data() + begin * bytes);
          });
      HONE_TRY(writer.write(buffer.data(), count * bytes));
    }
  }
  return writer.commit();
}

static Status writeIndex(const std::string &directory,
                         const std::vector<std::vector<rt::TensorSpec>> &shards,
                         const std::vector<std::string> &files,
                         uint64_t totalBytes) {
  std::string json =
      "{\n  \"metadata\": {\"total_size\": " + std::to_string(totalBytes) +
      "},\n  \"weight_map\": {";
  const char *separator = "\n";
  for (size_t i = 0; i < shards.size(); ++i)
    for (const rt::TensorSpec &tensor : shards[i]) {
      json += separator + std::string("    ") + rt::jsonString(tensor.name) +
              ": " + rt::jsonString(files[i]);
      separator = ",\n";
    }
  json += "\n  }\n}\n";
  HONE_ASSIGN(
      rt::OutputFile file,
      rt::OutputFile::create(directory + "/model.safetensors.index.json"));
  Status status = file.write(json);
  return status.isOk() ? file.commit() : status;
}

Status RandomWeights::write(const std::string &directory,
                            llvm::ArrayRef<Parameter> frozen) const {
  std::vector<std::vector<rt::TensorSpec>> shards(1);
  uint64_t bytesInShard = 0, totalBytes = 0;
  for (const Parameter &tensor : frozen) {
    uint64_t bytes = rt::dtypeBytes(dtype) * tensor.type.getNumElements();
    if (shardBytes && bytesInShard && bytesInShard + bytes > shardBytes) {
      shards.emplace_back();
      bytesInShard = 0;
    }
    std::vector<int64_t> shape = tensor.type.getShape().vec();
    if (tensor.transposed)
      std::reverse(shape.begin(), shape.end());
    shards.back().push_back({tensor.name, dtype, std::move(shape)});
    bytesInShard += bytes;
    totalBytes += bytes;
  }
  std::vector<rt::TensorSpec> all;
  for (const std::vector<rt::TensorSpec> &shard : shards)
    all.insert(all.end(), shard.begin(), shard.end());
  HONE_TRY(rt::checkRoom(directory + "/model.safetensors", all));
  if (!shardBytes)
    return writeFile(*this, directory + "/model.safetensors", shards[0]);

  std::vector<std::string> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    files.push_back(llvm::formatv("model-{0:d5}-of-{1:d5}.safetensors", i + 1,
                                  shards.size()));
    HONE_TRY(writeFile(*this, directory + "/" + files.back(), shards[i]));
  }
  return writeIndex(directory, shards, files, totalBytes);
}
