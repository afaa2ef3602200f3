//===- WeightWriter.cpp - The weights that the training binary maps -------===//
//
// The page cache is given its pages back tensor by tensor: writing a model
// needs one chunk of memory, whatever the model's size. The file's order puts
// scales and biases before the numbers, so a tensor is quantised once for each.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightWriter.h"
#include "base/Dtype.h"
#include "compiler/import/Quantization.h"
#include "compiler/weights/Quantizer.h"
#include "passes/module/WeightStorage.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace hone;
using rt::Dtype;
using rt::Result;
using rt::Status;

/// What asks for the tensors, in messages.
static constexpr const char *asker = "the compiled model";
static constexpr const char *tokenizerName = "hone.tokenizer";
/// A multiple of every group.
static constexpr uint64_t chunkElements = 1 << 18;

static Dtype fileDtype(mlir::Type element) {
  if (element.isF64())
    return Dtype::F64;
  if (element.isBF16())
    return Dtype::BF16;
  return element.isF32() ? Dtype::F32 : Dtype::U8;
}

namespace {

/// What becomes one tensor of the file.
struct Part {
  const Parameter *parameter;
  enum { Numbers, Scales, Biases } kind; ///< the order of storedTensors()
};

class PartWriter {
public:
  PartWriter(rt::SafetensorsWriter &writer, const WeightIndex &source,
             std::vector<QuantizationError> *errors)
      : writer(writer), source(source), errors(errors),
        converted(chunkElements * sizeof(double)) {}

  Status write(const Part &part, Dtype dtype);

private:
  Status writeConverted(const WeightIndex::Entry &entry, Dtype to);
  Status writeBytes(const WeightIndex::Entry &entry);
  Status writeQuantized(const Part &part, const WeightIndex::Entry &entry);
  /// Calls body(first, count) for chunks of the tensor, which is dropped from
  /// memory afterwards.
  Status forEachChunk(const WeightIndex::Entry &entry,
                      llvm::function_ref<Status(uint64_t, uint64_t)> body);
  /// Elements [first, first + count) of the tensor, as `to`.
  char *convert(const WeightIndex::Entry &entry, uint64_t first, uint64_t count,
                Dtype to);

  rt::SafetensorsWriter &writer;
  const WeightIndex &source;
  std::vector<QuantizationError> *errors;
  std::vector<char> converted;
  std::vector<uint16_t> halves;
  std::vector<float> restored;
  QuantizedGroups groups;
};

} // namespace

Status
PartWriter::forEachChunk(const WeightIndex::Entry &entry,
                         llvm::function_ref<Status(uint64_t, uint64_t)> body) {
  uint64_t elements = entry.tensor->elements();
  for (uint64_t first = 0; first < elements; first += chunkElements) {
    Status status = body(first, std::min(chunkElements, elements - first));
    if (!status.isOk())
      return status;
  }
  entry.file->release(*entry.tensor);
  return Status::ok();
}

char *PartWriter::convert(const WeightIndex::Entry &entry, uint64_t first,
                          uint64_t count, Dtype to) {
  Dtype from = entry.tensor->dtype;
  const char *bytes =
      entry.file->data(*entry.tensor) + first * rt::dtypeBytes(from);
  rt::convertElements(from, bytes, to, converted.data(), count);
  return converted.data();
}

Status PartWriter::writeConverted(const WeightIndex::Entry &entry, Dtype to) {
  return forEachChunk(entry, [&](uint64_t first, uint64_t count) {
    if (to != Dtype::BF16)
      return writer.write(convert(entry, first, count, to),
                          count * rt::dtypeBytes(to));
    auto *values = reinterpret_cast<const float *>(
        convert(entry, first, count, Dtype::F32));
    halves.resize(count);
    std::transform(values, values + count, halves.begin(), rt::floatToBfloat16);
    return writer.write(halves.data(), count * sizeof(uint16_t));
  });
}

Status PartWriter::writeBytes(const WeightIndex::Entry &entry) {
  Status status =
      writer.write(entry.file->data(*entry.tensor), entry.tensor->bytes());
  entry.file->release(*entry.tensor);
  return status;
}

static Status notFinite(const WeightIndex::Entry &entry, uint64_t index) {
  const rt::TensorInfo &tensor = *entry.tensor;
  uint64_t columns = static_cast<uint64_t>(tensor.shape[1]);
  double value =
      rt::loadAsDouble(tensor.dtype, entry.file->data(tensor), index);
  return Status::error(
      rt::ErrorCode::NotFiniteWeight,
      {entry.file->path() + ": tensor " + tensor.name,
       "expected finite float32 numbers but found " + std::to_string(value) +
           " at [" + std::to_string(index / columns) + ", " +
           std::to_string(index % columns) + "]",
       "such a tensor cannot be quantised; check the download, or set "
       "weights.dtype to bfloat16"});
}

Status PartWriter::writeQuantized(const Part &part,
                                  const WeightIndex::Entry &entry) {
  StorageAttr storage = part.parameter->storage;
  Quantizer quantizer(storage.getBits(), storage.getGroup());
  bool measures = errors && part.kind == Part::Numbers;
  double squares = 0, errorSquares = 0;
  Status status = forEachChunk(entry, [&](uint64_t first, uint64_t count) {
    auto *values = reinterpret_cast<const float *>(
        convert(entry, first, count, Dtype::F32));
    if (auto bad = quantizer.quantize(values, count, groups))
      return notFinite(entry, first + *bad);
    if (part.kind == Part::Scales)
      return writer.write(groups.scales.data(),
                          groups.scales.size() * sizeof(float));
    if (part.kind == Part::Biases)
      return writer.write(groups.biases.data(),
                          groups.biases.size() * sizeof(float));
    if (measures) {
      restored.resize(count);
      quantizer.dequantize(groups, restored.data());
      for (uint64_t i = 0; i < count; ++i) {
        double w = values[i], error = restored[i] - w;
        squares += w * w;
        errorSquares += error * error;
      }
    }
    return writer.write(groups.packed.data(), groups.packed.size());
  });
  if (measures && status.isOk())
    errors->push_back({part.parameter->name, storage,
                       squares > 0 ? std::sqrt(errorSquares / squares) : 0});
  return status;
}

Status PartWriter::write(const Part &part, Dtype dtype) {
  const Parameter &parameter = *part.parameter;
  Result<WeightIndex::Entry> numbers = source.get(parameter.name, asker);
  if (!numbers.isOk())
    return numbers.status();
  const WeightIndex::Entry &entry = numbers.value();
  if (!parameter.storage || !parameter.storage.isGrouped())
    return writeConverted(entry, dtype);
  if (entry.tensor->dtype != Dtype::U32)
    return writeQuantized(part, entry);
  if (part.kind == Part::Numbers)
    return writeBytes(entry); // little endian: words are the same bytes
  Result<WeightIndex::Entry> groups =
      source.get(part.kind == Part::Scales ? scalesName(parameter.name)
                                           : biasesName(parameter.name),
                 asker);
  return groups.isOk() ? writeConverted(groups.value(), dtype)
                       : groups.status();
}

Status hone::writeWeights(const std::string &path, const WeightFile &file,
                          const WeightIndex &source,
                          std::vector<QuantizationError> *errors) {
  std::vector<rt::TensorSpec> specs;
  llvm::StringMap<Part> parts;
  for (const Parameter &parameter : file.frozen)
    for (auto [kind, tensor] :
         llvm::enumerate(storedTensors(parameter.type, parameter.storage))) {
      std::string name = parameter.name + tensor.suffix.str();
      specs.push_back({name, fileDtype(tensor.type.getElementType()),
                       tensor.type.getShape().vec()});
      parts[name] = {&parameter, static_cast<decltype(Part::kind)>(kind)};
    }
  if (!file.tokenizer.empty())
    specs.push_back({tokenizerName,
                     Dtype::U8,
                     {static_cast<int64_t>(file.tokenizer.size())}});
  Result<rt::SafetensorsWriter> created =
      rt::SafetensorsWriter::create(path, std::move(specs),
                                    {{"format", "hone"},
                                     {"layout", layoutName(file.frozen)},
                                     {"source_hash", file.sourceHash}});
  if (!created.isOk())
    return created.status();
  rt::SafetensorsWriter &writer = created.value();

  PartWriter partWriter(writer, source, errors);
  for (const rt::TensorInfo &tensor : writer.tensors()) {
    Status status =
        tensor.name == tokenizerName
            ? writer.write(file.tokenizer.data(), file.tokenizer.size())
            : partWriter.write(parts[tensor.name], tensor.dtype);
    if (!status.isOk())
      return status;
  }
  return writer.commit();
}

std::string hone::describeErrors(llvm::ArrayRef<QuantizationError> errors) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "quantisation (|w' - w| / |w|)\n";
  for (const QuantizationError &error : errors)
    os << llvm::format("  %.3e  ", error.relative) << error.tensor << "  "
       << stringifyStoredType(error.storage.getType()) << " in groups of "
       << error.storage.getGroup() << "\n";
  if (errors.empty())
    os << "  no tensor was quantised\n";
  return text;
}
