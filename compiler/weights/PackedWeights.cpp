//===- PackedWeights.cpp - Random weights in Hone's own file --------------===//

#include "compiler/weights/PackedWeights.h"

#include "formats/JsonFile.h"
#include "formats/RandomTensor.h"
#include "formats/Safetensors.h"
#include "threads/Pool.h"

#include <algorithm>
#include <map>

using namespace hone::rt;

namespace {

constexpr uint64_t kChunkElements = 1 << 20;

struct Manifest {
  SafetensorsMetadata metadata;
  std::vector<TensorSpec> tensors;
  std::map<std::string, Distribution, std::less<>> distributions;
};

/// A part of a tensor that all threads fill.
struct Job {
  uint64_t seed;
  const TensorInfo *tensor;
  Distribution distribution;
  uint64_t first, count;
  unsigned bytes; ///< of an element
  char *to;
};

} // namespace

static Status damaged(const std::string &path, const std::string &what) {
  return Status(ErrorCode::BadJson, path, "expected " + what,
                "take a weights.manifest.json that honec wrote");
}

static Result<Manifest> readManifest(const std::string &path) {
  HONE_ASSIGN(const Json json, readJsonFile(path));
  Manifest manifest;
  for (const char *key : {"format", "layout", "source_hash"}) {
    const Json *value = json.find(key);
    if (!value || !value->isString())
      return damaged(path, std::string("a text '") + key + "'");
    manifest.metadata.emplace_back(key, value->string());
  }
  const Json *tensors = json.find("tensors");
  if (!tensors || !tensors->isArray())
    return damaged(path, "a list 'tensors'");
  for (const Json &each : tensors->array()) {
    const Json *name = each.find("name"), *shape = each.find("shape"),
               *center = each.find("center"), *width = each.find("width");
    const std::string place =
        "a tensor in line " + std::to_string(each.line()) + " with ";
    if (!name || !name->isString())
      return damaged(path, place + "a name");
    TensorSpec spec;
    spec.name = name->string();
    for (Dtype dtype : {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::U8})
      if (each.has("dtype", dtypeName(dtype)))
        spec.dtype = dtype;
    if (!each.has("dtype", dtypeName(spec.dtype)))
      return damaged(path, place + "a dtype F32, F64, BF16 or U8");
    if (!shape || !shape->isArray() || !center || !center->isNumber() ||
        !width || !width->isNumber())
      return damaged(path, place + "a shape, a center and a width");
    for (const Json &size : shape->array()) {
      if (!size.isInteger() || size.integer() < 0)
        return damaged(path, place + "a shape of sizes");
      spec.shape.push_back(size.integer());
    }
    manifest.distributions[spec.name] = {float(center->number()),
                                         float(width->number())};
    manifest.tensors.push_back(std::move(spec));
  }
  return std::move(manifest);
}

static void fillChunk(void *closure, int64_t chunk, int64_t) {
  const Job &job = *static_cast<Job *>(closure);
  const uint64_t begin = uint64_t(chunk) * kChunkElements;
  fillRandom(job.seed, job.tensor->name, job.distribution, job.first + begin,
             std::min(kChunkElements, job.count - begin), job.tensor->dtype,
             job.to + begin * job.bytes);
}

Status hone::writePackedWeights(const std::string &from, uint64_t seed,
                                const std::string &to) {
  HONE_ASSIGN(Manifest manifest, readManifest(from));
  HONE_TRY(checkRoom(to, manifest.tensors));
  HONE_ASSIGN(std::unique_ptr<Pool> pool, Pool::create(Pool::availableCpus()));
  HONE_ASSIGN(SafetensorsWriter writer,
              SafetensorsWriter::create(to, std::move(manifest.tensors),
                                        std::move(manifest.metadata)));
  const uint64_t most = 2 * kChunkElements * pool->threads();
  std::vector<char> buffer;
  for (const TensorInfo &tensor : writer.tensors()) {
    const unsigned bytes = dtypeBytes(tensor.dtype);
    for (uint64_t first = 0; first < tensor.elements(); first += most) {
      const uint64_t count = std::min(most, tensor.elements() - first);
      buffer.resize(std::max<uint64_t>(buffer.size(), count * bytes));
      Job job = {seed,         &tensor, manifest.distributions[tensor.name],
                 first,        count,   bytes,
                 buffer.data()};
      pool->run(fillChunk, &job,
                int64_t((count + kChunkElements - 1) / kChunkElements));
      HONE_TRY(writer.write(buffer.data(), count * bytes));
    }
  }
  return writer.commit();
}
