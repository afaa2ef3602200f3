//===- WeightWriter.cpp - The weights that the training binary maps -------===//
//
// The page cache is given its pages back tensor by tensor: writing a model
// needs one chunk of memory, whatever the model's size.
//
//===----------------------------------------------------------------------===//

#include "compiler/WeightWriter.h"
#include "base/Dtype.h"

#include <algorithm>

using namespace hone;
using rt::Dtype;
using rt::Result;
using rt::Status;

static constexpr const char *tokenizerName = "hone.tokenizer";
static constexpr uint64_t chunkElements = 1 << 18;

static Status writeConverted(rt::SafetensorsWriter &writer,
                             const WeightIndex::Entry &entry, Dtype to,
                             std::vector<char> &chunk) {
  const rt::TensorInfo &tensor = *entry.tensor;
  const char *from = entry.file->data(tensor);
  unsigned fromBytes = rt::dtypeBytes(tensor.dtype);
  unsigned toBytes = rt::dtypeBytes(to);
  uint64_t elements = tensor.elements();
  for (uint64_t first = 0; first < elements; first += chunkElements) {
    uint64_t count = std::min(chunkElements, elements - first);
    rt::convertElements(tensor.dtype, from + first * fromBytes, to,
                        chunk.data(), count);
    Status status = writer.write(chunk.data(), count * toBytes);
    if (!status.isOk())
      return status;
  }
  entry.file->release(tensor);
  return Status::ok();
}

Status hone::writeWeights(const std::string &path,
                          const std::vector<WeightDescription> &weights,
                          const WeightIndex &source,
                          const std::string &tokenizer, const char *layout,
                          const std::string &sourceHash) {
  std::vector<rt::TensorSpec> specs;
  for (const WeightDescription &weight : weights)
    specs.push_back({weight.name,
                     weight.dtype == HONE_F64 ? Dtype::F64 : Dtype::F32,
                     weight.shape});
  if (!tokenizer.empty())
    specs.push_back(
        {tokenizerName, Dtype::U8, {static_cast<int64_t>(tokenizer.size())}});
  Result<rt::SafetensorsWriter> created = rt::SafetensorsWriter::create(
      path, std::move(specs),
      {{"format", "hone"}, {"layout", layout}, {"source_hash", sourceHash}});
  if (!created.isOk())
    return created.status();
  rt::SafetensorsWriter &writer = created.value();

  std::vector<char> chunk(chunkElements * sizeof(double));
  for (const rt::TensorInfo &tensor : writer.tensors()) {
    Status status = tensor.name == tokenizerName
                        ? writer.write(tokenizer.data(), tokenizer.size())
                        : writeConverted(writer, *source.find(tensor.name),
                                         tensor.dtype, chunk);
    if (!status.isOk())
      return status;
  }
  return writer.commit();
}
