//===- WeightWriter.cpp - The weights that the training binary maps -------===//
//
// The page cache is given its pages back chunk by chunk: writing a model needs
// one chunk of memory and the scales of one tensor, whatever the model's size.
// The pieces of a chunk are independent of each other, so no number of threads
// changes a byte. The file's order puts all biases and scales before the
// numbers, so a tensor's groups are fitted once for both and once more.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightWriter.h"
#include "base/Dtype.h"
#include "compiler/import/Quantization.h"
#include "compiler/weights/Quantizer.h"
#include "passes/module/WeightStorage.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

using namespace hone;
using rt::Dtype;

/// The name, in messages, of the program that asks for the tensors.
static constexpr const char *asker = "the compiled model";
static constexpr const char *tokenizerName = "hone.tokenizer";
static constexpr const char *chatName = "hone.chat";
/// Elements that one thread encodes at a time, from and to its cache; a
/// multiple of every group.
static constexpr uint64_t pieceElements = 1 << 14;
/// Elements that are encoded before they are written.
static constexpr uint64_t chunkElements = 256 * pieceElements;

static Dtype fileDtype(mlir::Type element) {
  if (element.isF64())
    return Dtype::F64;
  if (element.isBF16())
    return Dtype::BF16;
  return element.isF32() ? Dtype::F32 : Dtype::U8;
}

namespace {

/// A part of a parameter that becomes one tensor of the file.
struct Part {
  const Parameter *parameter;
  enum { Numbers, Scales, Biases } kind; ///< the order of storedTensors()
};

/// A tensor of the files, in the order in which its elements are written.
struct Source {
  WeightIndex::Entry entry;
  bool transposed;

  /// Where element `index` is in the file. A matrix that is written [out, in]
  /// is [in, out] there.
  uint64_t at(uint64_t index) const {
    if (!transposed)
      return index;
    uint64_t in = entry.tensor->shape[0], out = entry.tensor->shape[1];
    return index % in * out + index / in;
  }
  /// `count` elements from `first` on, as `to`.
  void convert(uint64_t first, uint64_t count, Dtype to, void *converted) const;
  /// `count` elements from `first` on have been written.
  void release(uint64_t first, uint64_t count) const;
};

/// Sums over the squares of values and of their errors by quantisation.
struct Squares {
  double values = 0, errors = 0;
};

class PartWriter {
public:
  PartWriter(rt::SafetensorsWriter &writer, const WeightIndex &files,
             llvm::ArrayRef<Parameter> parameters,
             std::vector<QuantizationError> *errors)
      : writer(writer), files(files), parameters(parameters), errors(errors) {}

  Status write(const Part &part, Dtype dtype);

private:
  /// Elements of a tensor, and where their bytes go in the file.
  struct Piece {
    uint64_t first, count;
    char *to;
  };
  Status writeConverted(const Source &source, Dtype to);
  Status writeBytes(const WeightIndex::Entry &entry);
  Status writeQuantized(const Part &part, const Source &source);
  Status writeRowLengths(const Parameter &magnitude, Dtype dtype);
  /// Writes the tensor as `encode` makes it: `bytes` for each `elements`. On
  /// false, encode has found a number that is not finite.
  Status writeEncoded(const Source &source, uint64_t bytes, uint64_t elements,
                      llvm::function_ref<bool(const Piece &)> encode);

  rt::SafetensorsWriter &writer;
  const WeightIndex &files;
  llvm::ArrayRef<Parameter> parameters;
  std::vector<QuantizationError> *errors;
  std::vector<char> encoded;
  /// Scales of a parameter whose biases were written: they are next.
  std::vector<float> scales;
  const Parameter *scalesOf = nullptr;
};

} // namespace

/// The error for the first such number from `next` on, as a float32.
static Status notFinite(const Source &source, uint64_t next) {
  const WeightIndex::Entry &entry = source.entry;
  const rt::TensorInfo &tensor = *entry.tensor;
  uint64_t columns = static_cast<uint64_t>(tensor.shape[1]), index;
  double value;
  do {
    index = source.at(next++);
    value = rt::loadAsDouble(tensor.dtype, entry.file->data(tensor), index);
  } while (std::isfinite(static_cast<float>(value)));
  return Status(ErrorCode::NotFiniteWeight,
                entry.file->path() + ": tensor " + tensor.name,
                "expected finite float32 numbers but found " +
                    std::to_string(value) + " at [" +
                    std::to_string(index / columns) + ", " +
                    std::to_string(index % columns) + "]",
                "such a tensor cannot be quantised; check the download, or set "
                "weights.dtype to bfloat16");
}

Status
PartWriter::writeEncoded(const Source &source, uint64_t bytes,
                         uint64_t elements,
                         llvm::function_ref<bool(const Piece &)> encode) {
  const uint64_t all = source.entry.tensor->elements();
  for (uint64_t first = 0; first < all; first += chunkElements) {
    uint64_t count = std::min(chunkElements, all - first);
    encoded.resize(count / elements * bytes);
    std::atomic<bool> finite{true};
    llvm::parallelFor(0, llvm::divideCeil(count, pieceElements), [&](size_t i) {
      uint64_t begin = i * pieceElements;
      if (!encode({first + begin, std::min(pieceElements, count - begin),
                   encoded.data() + begin / elements * bytes}))
        finite = false;
    });
    if (!finite)
      return notFinite(source, first);
    HONE_TRY(writer.write(encoded.data(), encoded.size()));
    source.release(first, count);
  }
  return Status::ok();
}

void Source::convert(uint64_t first, uint64_t count, Dtype to,
                     void *converted) const {
  Dtype from = entry.tensor->dtype;
  const char *data = entry.file->data(*entry.tensor);
  const uint64_t bytes = rt::dtypeBytes(from);
  if (!transposed)
    return rt::convertElements(from, data + first * bytes, to, converted,
                               count);
  std::unique_ptr<char[]> gathered(new char[count * bytes]);
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(&gathered[i * bytes], data + at(first + i) * bytes, bytes);
  rt::convertElements(from, gathered.get(), to, converted, count);
}

void Source::release(uint64_t first, uint64_t count) const {
  const uint64_t bytes = rt::dtypeBytes(entry.tensor->dtype);
  if (transposed) // its columns are everywhere
    return entry.file->release(*entry.tensor);
  entry.file->release(*entry.tensor, first * bytes, count * bytes);
}

Status PartWriter::writeConverted(const Source &source, Dtype to) {
  return writeEncoded(source, rt::dtypeBytes(to), 1, [&](const Piece &piece) {
    source.convert(piece.first, piece.count, to, piece.to);
    return true;
  });
}

Status PartWriter::writeBytes(const WeightIndex::Entry &entry) {
  Status status =
      writer.write(entry.file->data(*entry.tensor), entry.tensor->bytes());
  entry.file->release(*entry.tensor);
  return status;
}

namespace {
/// The rows of a matrix as the file that is written has them.
class StoredRows {
public:
  StoredRows() = default;
  static Result<StoredRows> open(const Parameter &matrix,
                                 const WeightIndex &files);
  std::vector<double> read(uint64_t row) const;
  void release() const;

private:
  /// Of files that MLX has packed.
  QuantizedGroups packedRow(uint64_t row) const;

  StoredRows(const Parameter &matrix, Source source)
      : matrix(&matrix), source(source) {}
  const Parameter *matrix = nullptr;
  Source source{};
  std::optional<Source> scales, biases; ///< of packed ones
};
} // namespace

Result<StoredRows> StoredRows::open(const Parameter &matrix,
                                    const WeightIndex &files) {
  HONE_ASSIGN(WeightIndex::Entry numbers, files.get(matrix.name, asker));
  StoredRows rows(matrix, {numbers, matrix.transposed});
  if (numbers.tensor->dtype != Dtype::U32)
    return rows;
  for (auto [name, to] : {std::pair(scalesName(matrix.name), &rows.scales),
                          std::pair(biasesName(matrix.name), &rows.biases)}) {
    HONE_ASSIGN(WeightIndex::Entry groups, files.get(name, asker));
    *to = Source{groups, false};
  }
  return rows;
}

QuantizedGroups StoredRows::packedRow(uint64_t row) const {
  const rt::TensorInfo &numbers = *source.entry.tensor;
  const uint64_t bytes = numbers.shape[1] * rt::dtypeBytes(numbers.dtype);
  const uint64_t count = scales->entry.tensor->shape[1];
  const char *packed = source.entry.file->data(numbers) + row * bytes;
  QuantizedGroups groups{std::vector<float>(count),
                         std::vector<float>(count),
                         {packed, packed + bytes}};
  scales->convert(row * count, count, Dtype::F32, groups.scales.data());
  biases->convert(row * count, count, Dtype::F32, groups.biases.data());
  return groups;
}

std::vector<double> StoredRows::read(uint64_t row) const {
  const uint64_t columns = matrix->type.getDimSize(1);
  const StorageAttr storage = matrix->storage;
  std::vector<double> values(columns);
  if (!storage || !storage.isGrouped()) {
    const Dtype dtype = fileDtype(
        storedTensors(matrix->type, storage).front().type.getElementType());
    std::vector<char> stored(columns * rt::dtypeBytes(dtype));
    source.convert(row * columns, columns, dtype, stored.data());
    rt::convertElements(dtype, stored.data(), Dtype::F64, values.data(),
                        columns);
    return values;
  }
  const Quantizer quantizer(storage.getBits(), storage.getGroup());
  std::vector<float> restored(columns);
  QuantizedGroups groups;
  if (scales) {
    groups = packedRow(row);
  } else {
    source.convert(row * columns, columns, Dtype::F32, restored.data());
    (void)quantizer.quantize(restored.data(), columns, groups); // or reported
  }
  quantizer.dequantize(groups, restored.data());
  values.assign(restored.begin(), restored.end());
  return values;
}

void StoredRows::release() const {
  source.entry.file->release(*source.entry.tensor);
}

/// Of `values`, against those that `groups` encode.
static Squares compare(const float *values, const Quantizer &quantizer,
                       const QuantizedGroups &groups) {
  std::vector<float> restored(groups.scales.size() * quantizer.groupSize());
  quantizer.dequantize(groups, restored.data());
  Squares squares;
  for (size_t i = 0; i < restored.size(); ++i) {
    double w = values[i], error = restored[i] - w;
    squares.values += w * w;
    squares.errors += error * error;
  }
  return squares;
}

Status PartWriter::writeQuantized(const Part &part, const Source &source) {
  const rt::TensorInfo &tensor = *source.entry.tensor;
  const Parameter &parameter = *part.parameter;
  const StorageAttr storage = parameter.storage;
  const uint64_t group = storage.getGroup();
  const Quantizer quantizer(storage.getBits(), group);
  auto valuesOf = [&](const Piece &piece) {
    std::unique_ptr<float[]> values(new float[piece.count]);
    source.convert(piece.first, piece.count, Dtype::F32, values.get());
    return values;
  };
  const bool isScales = part.kind == Part::Scales;
  if (isScales && scalesOf == &parameter)
    return writer.write(scales.data(), scales.size() * sizeof(float));
  if (part.kind != Part::Numbers) {
    std::vector<float> &others = scales;
    others.resize(tensor.elements() / group);
    scalesOf = isScales ? nullptr : &parameter;
    return writeEncoded(source, sizeof(float), group, [&](const Piece &piece) {
      auto *fitted = reinterpret_cast<float *>(piece.to);
      float *other = others.data() + piece.first / group;
      return !quantizer.fit(valuesOf(piece).get(), piece.count,
                            isScales ? fitted : other,
                            isScales ? other : fitted);
    });
  }

  // One for each piece: their sum depends on no number of threads.
  std::vector<Squares> squares;
  if (errors)
    squares.resize(llvm::divideCeil(tensor.elements(), pieceElements));
  Status status = writeEncoded(
      source, group * storage.getBits() / 8, group, [&](const Piece &piece) {
        std::unique_ptr<float[]> values = valuesOf(piece);
        QuantizedGroups groups;
        if (quantizer.quantize(values.get(), piece.count, groups))
          return false;
        std::copy(groups.packed.begin(), groups.packed.end(), piece.to);
        if (errors)
          squares[piece.first / pieceElements] =
              compare(values.get(), quantizer, groups);
        return true;
      });
  if (!errors || !status.isOk())
    return status;
  Squares sum;
  for (const Squares &each : squares) {
    sum.values += each.values;
    sum.errors += each.errors;
  }
  errors->push_back({parameter.name, storage,
                     sum.values > 0 ? std::sqrt(sum.errors / sum.values) : 0});
  return status;
}

/// DoRA's magnitudes begin as PEFT has them: |w| of dequantised weights.
Status PartWriter::writeRowLengths(const Parameter &magnitude, Dtype dtype) {
  const std::string weight = (moduleOf(magnitude.name) + ".weight").str();
  const int64_t count = magnitude.type.getDimSize(0);
  auto matrix = llvm::find_if(parameters, [&](const Parameter &parameter) {
    return parameter.name == weight && parameter.type.getRank() == 2 &&
           parameter.type.getDimSize(0) == count;
  });
  if (matrix == parameters.end())
    return Status(
        ErrorCode::BadModule, "parameter " + magnitude.name,
        "expected the model to have a matrix " + weight + " with " +
            std::to_string(count) +
            " rows, because this parameter starts as their lengths, but found "
            "none",
        "name it after the module of a weight, or give it another init");
  HONE_ASSIGN(StoredRows rows, StoredRows::open(*matrix, files));
  std::vector<double> lengths(count);
  llvm::parallelFor(0, lengths.size(), [&](size_t row) {
    double squares = 0;
    for (double value : rows.read(row))
      squares += value * value;
    lengths[row] = std::sqrt(squares);
  });
  rows.release();
  std::vector<char> bytes(lengths.size() * rt::dtypeBytes(dtype));
  rt::convertElements(Dtype::F64, lengths.data(), dtype, bytes.data(),
                      lengths.size());
  return writer.write(bytes.data(), bytes.size());
}

Status PartWriter::write(const Part &part, Dtype dtype) {
  const Parameter &parameter = *part.parameter;
  if (parameter.trainable && parameter.init == Init::RowLengths)
    return writeRowLengths(parameter, dtype);
  HONE_ASSIGN(const WeightIndex::Entry entry, files.get(parameter.name, asker));
  const Source source{entry, parameter.transposed};
  if (!parameter.storage || !parameter.storage.isGrouped())
    return writeConverted(source, dtype);
  if (entry.tensor->dtype != Dtype::U32)
    return writeQuantized(part, source);
  if (part.kind == Part::Numbers)
    return writeBytes(entry); // little endian: words are the same bytes
  Result<WeightIndex::Entry> groups =
      files.get(part.kind == Part::Scales ? scalesName(parameter.name)
                                          : biasesName(parameter.name),
                asker);
  return groups.isOk() ? writeConverted({groups.value(), false}, dtype)
                       : groups.status();
}

std::vector<StoredPart>
hone::storedParts(llvm::ArrayRef<Parameter> parameters) {
  std::vector<StoredPart> parts;
  for (const Parameter &parameter : parameters)
    for (auto [kind, tensor] :
         llvm::enumerate(storedTensors(parameter.type, parameter.storage)))
      parts.push_back({{parameter.name + tensor.suffix.str(),
                        fileDtype(tensor.type.getElementType()),
                        tensor.type.getShape().vec()},
                       &parameter,
                       static_cast<unsigned>(kind)});
  return parts;
}

Status hone::writeWeights(const std::string &path, const WeightFile &file,
                          const WeightIndex &source,
                          std::vector<QuantizationError> *errors) {
  std::vector<rt::TensorSpec> specs;
  llvm::StringMap<Part> parts;
  for (const StoredPart &part : storedParts(file.parameters)) {
    parts[part.spec.name] = {part.parameter,
                             static_cast<decltype(Part::kind)>(part.kind)};
    specs.push_back(part.spec);
  }
  std::map<std::string, const std::string *> blocks = {
      {tokenizerName, &file.tokenizer}, {chatName, &file.chat}};
  for (const WeightBlock &block : file.more)
    blocks[block.name] = &block.bytes;
  for (auto [name, block] : blocks)
    if (!block->empty())
      specs.push_back({name, Dtype::U8, {static_cast<int64_t>(block->size())}});
  HONE_TRY(rt::checkRoom(path, specs));
  HONE_ASSIGN(
      rt::SafetensorsWriter writer,
      rt::SafetensorsWriter::create(path, std::move(specs),
                                    {{"format", "hone"},
                                     {"layout", layoutName(file.parameters)},
                                     {"source_hash", file.sourceHash}}));

  PartWriter partWriter(writer, source, file.parameters, errors);
  for (const rt::TensorInfo &tensor : writer.tensors()) {
    auto block = blocks.find(tensor.name);
    HONE_TRY(block != blocks.end()
                 ? writer.write(block->second->data(), block->second->size())
                 : partWriter.write(parts[tensor.name], tensor.dtype));
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
