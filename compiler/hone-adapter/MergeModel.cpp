//===- MergeModel.cpp - A model with an adapter in its weights ------------===//
//
// The fate of each tensor is decided, and checked, before the first byte is
// written. Chunks are computed on all cores and written in order.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-adapter/MergeModel.h"
#include "base/Counted.h"
#include "base/MappedFile.h"
#include "compiler/hone-adapter/NewFolder.h"
#include "compiler/hone-adapter/RoundedStore.h"
#include "compiler/import/HuggingFaceModel.h"
#include "compiler/import/families/Family.h"
#include "compiler/weights/ModelConfig.h"
#include "formats/ModelFolder.h"
#include "platform/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cmath>
#include <map>

using namespace hone;
using llvm::StringRef;
using rt::Dtype;
using rt::Json;

/// Elements that are computed before they are written.
static constexpr uint64_t chunkElements = 64 * UpdatedMatrix::pieceElements;

static constexpr const char *indexName = "model.safetensors.index.json";

namespace {

/// A tensor of the output, and how it is made.
struct Output {
  enum Kind {
    Copied,  ///< byte for byte
    Rounded, ///< to another type of float
    Saved,   ///< the adapter's own
    Floats,  ///< a matrix, with an update or out of groups
    Grouped, ///< the part of a matrix that stays in groups
  } kind = Copied;
  std::string source; ///< of the model's files; the matrix
  UpdatedMatrix::Part part = UpdatedMatrix::Part::Numbers;
};

class Merger {
public:
  Merger(const MergeRequest &request, const PeftAdapter &adapter,
         const BaseModel &model)
      : request(request), adapter(adapter), model(model) {}

  Status plan();
  Result<MergeReport> write();

private:
  Status planUpdates();
  Status planSaved();
  Status planCompanions();
  /// Checks that an update of the embedding or the head does not reach both: if
  /// they are one, only a module that PEFT has copied can be told apart.
  Status checkTied(const rt::TensorInfo &tensor, StringRef name,
                   int64_t rows) const;
  /// Whether the model holds the module's matrix as [in, out]. As PEFT, which
  /// looks at the module where it can and overrules fan_in_fan_out.
  bool isTransposed(const LowRankUpdate &update) const;
  /// The tensors that the output has, as the model's files name them.
  std::vector<std::string> names() const;
  /// Where one of them is: a head that becomes one of its own is the table.
  const WeightIndex::Entry &entryOf(const std::string &name) const;
  Status planTensor(const std::string &name);
  Status checkMeasured(const BaseMatrix &matrix, const std::string &name);
  Status misfit(const rt::TensorInfo &tensor, const std::string &problem) const;
  std::string describe(const BaseMatrix &matrix) const;

  Status writeFile(NewFolder &folder, const std::string &path);
  Status writeTensor(rt::SafetensorsWriter &writer, const rt::TensorInfo &to);
  Status writeMatrix(rt::SafetensorsWriter &writer, const rt::TensorInfo &to,
                     const Output &output);
  /// Reports how much of the update of `name` survives in the tensor that was
  /// `written` as `kind`, and in one (`asIf`) that is quantised as the request
  /// says.
  void reportSurvival(const std::string &name, const std::string &kind,
                      const Survival &written, const Survival &asIf);
  Status writeFloats(rt::SafetensorsWriter &writer, const rt::SafetensorsFile &,
                     const rt::TensorInfo &from, Dtype to);
  Status writeIndex(NewFolder &folder);
  std::optional<Dtype> unsaidType() const;
  Status writeConfig(NewFolder &folder);

  const MergeRequest &request;
  const PeftAdapter &adapter;
  const BaseModel &model;
  std::map<std::string, const LowRankUpdate *> updates; ///< by tensor
  std::map<std::string, const rt::TensorInfo *> saved;  ///< by tensor
  /// DoRA's, of matrices in groups: each is written as three tensors.
  std::map<std::string, std::vector<double>> factors;
  /// By file of the model, in its order, and by name.
  std::map<std::string, std::vector<rt::TensorSpec>> files;
  std::map<std::string, Output> outputs;
  std::map<std::string, std::string> shardOf; ///< names of files
  std::vector<std::string> companions; ///< names of files that are copied
  uint64_t totalBytes = 0;
  bool isTied = false;
  std::optional<BaseModel::TiedTable> tiedTable;
  bool untiesHead = false;
  /// The prefix that names of the files get: with a head they are of more than
  /// the body.
  std::string prefix;
  int64_t vocabulary = 0; ///< 0: config.json does not say
  MergeReport report;
};

} // namespace

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Status Merger::misfit(const rt::TensorInfo &tensor,
                      const std::string &problem) const {
  return Status(ErrorCode::AdapterOfOtherModel, adapter.placeOf(tensor),
                problem, "use the model that the adapter was trained on");
}

std::string Merger::describe(const BaseMatrix &matrix) const {
  return matrix.numbers->file->path() + ": " + matrix.numbers->tensor->name;
}

Status Merger::checkTied(const rt::TensorInfo &tensor, StringRef name,
                         int64_t rows) const {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  const bool isOfLayer = llvm::any_of(
      parts, [](StringRef part) { return llvm::all_of(part, llvm::isDigit); });
  if (!isTied || isOfLayer || (vocabulary && rows != vocabulary))
    return Status::ok();
  return Status(
      ErrorCode::AdapterOfOtherModel, adapter.placeOf(tensor),
      "the model's head is its embedding (tie_word_embeddings), and the "
      "adapter has trained one of the two",
      "train without embedding and head");
}

bool Merger::isTransposed(const LowRankUpdate &update) const {
  const Family *family = familyOf(model.modelType());
  if (!family)
    return adapter.config().fan_in_fan_out;
  // A head is a linear layer in each family.
  return family->isConv1d && layerModule(update.module).layer >= 0;
}

Status Merger::planUpdates() {
  for (const LowRankUpdate &update : adapter.updates()) {
    HONE_ASSIGN(std::string name, model.nameOf(update.module + ".weight",
                                               adapter.placeOf(*update.a)));
    HONE_ASSIGN(const BaseMatrix base, model.matrix(name));
    int64_t rows = update.out(), columns = update.in();
    if (isTransposed(update))
      std::swap(rows, columns);
    if (base.rows != rows || base.columns != columns)
      return misfit(*update.b,
                    "expected factors of " + describe(base) + ", which is [" +
                        std::to_string(base.rows) + ", " +
                        std::to_string(base.columns) + "], found those of [" +
                        std::to_string(rows) + ", " + std::to_string(columns) +
                        "]" +
                        (base.rows == columns && base.columns == rows
                             ? ", the other way round: fan_in_fan_out says how "
                               "the model holds its matrices"
                             : ""));
    HONE_TRY(checkTied(*update.b, name, base.rows));
    if (!updates.emplace(name, &update).second)
      return misfit(*update.a, "the adapter has " + name + " twice");
  }
  return Status::ok();
}

Status Merger::planSaved() {
  for (const SavedTensor &tensor : adapter.saved()) {
    const bool isHead = tiedTable && tensor.name == headWeight;
    HONE_ASSIGN(
        std::string name,
        isHead ? tensor.name
               : model.nameOf(tensor.name, adapter.placeOf(*tensor.tensor)));
    const bool isTable = tiedTable && name == tiedTable->name;
    untiesHead |= isHead || isTable;
    const std::string source = isHead ? tiedTable->name : name;
    const rt::TensorInfo &old = *model.weights().find(source)->tensor;
    if (!isHead && !isTable && old.shape.size() == 2)
      HONE_TRY(checkTied(*tensor.tensor, name, old.shape[0]));
    std::string weight;
    if (model.isGrouped(source, weight))
      return misfit(*tensor.tensor, "expected a tensor of floats in the model, "
                                    "found one in groups");
    if (old.shape != tensor.tensor->shape || !rt::isConvertible(old.dtype))
      return misfit(*tensor.tensor,
                    "expected the shape " + rt::describeShape(old.shape) +
                        " of the model's, found " +
                        rt::describeShape(tensor.tensor->shape));
    if (updates.count(name) || !saved.emplace(name, tensor.tensor).second)
      return misfit(*tensor.tensor, "the adapter has " + name + " twice");
  }
  if (untiesHead)
    prefix = tiedTable->leftOut;
  report.savedTensors = saved.size();
  return Status::ok();
}

/// A link that leads nowhere is an error, and not a model without the file.
Status Merger::planCompanions() {
  for (const char *name : modelCompanions()) {
    const std::string path = model.directory() + "/" + name;
    if (!rt::platform::exists(path))
      continue;
    HONE_TRY(rt::MappedFile::open(path));
    companions.push_back(name);
  }
  return Status::ok();
}

Status Merger::checkMeasured(const BaseMatrix &matrix,
                             const std::string &name) {
  if (!request.measured || matrix.isGrouped())
    return Status::ok();
  if (matrix.columns % request.measured->size == 0)
    return Status::ok();
  return Status(ErrorCode::GroupMisfit, name,
                "expected rows of whole groups of " +
                    std::to_string(request.measured->size) +
                    ", found rows of " + std::to_string(matrix.columns),
                "give another --group-size");
}

std::vector<std::string> Merger::names() const {
  std::vector<std::string> names = model.weights().names();
  if (untiesHead) { // the files' own head was not read
    llvm::erase_if(names, [](StringRef name) {
      return name.starts_with((StringRef(headModule) + ".").str());
    });
    names.push_back(headWeight);
  }
  return names;
}

const WeightIndex::Entry &Merger::entryOf(const std::string &name) const {
  return *model.weights().find(
      untiesHead && name == headWeight ? tiedTable->name : name);
}

Status Merger::planTensor(const std::string &name) {
  const WeightIndex::Entry &entry = entryOf(name);
  const rt::TensorInfo &tensor = *entry.tensor;
  rt::TensorSpec spec = tensor;
  spec.name = name == headWeight ? name : prefix + name;
  Output output;
  output.source = name;
  std::string weight;
  const bool isFloat = rt::isConvertible(tensor.dtype);
  if (isFloat && request.dtype)
    spec.dtype = *request.dtype;
  const bool isNewHead = untiesHead && name == headWeight;
  if (!isNewHead && model.isGrouped(name, weight)) {
    HONE_ASSIGN(BaseMatrix matrix, model.matrix(weight));
    output.source = weight;
    if (request.keepsGroups) {
      spec.dtype = tensor.dtype;
      output.kind = updates.count(weight) ? Output::Grouped : Output::Copied;
      output.part = name == scalesName(weight)   ? UpdatedMatrix::Part::Scales
                    : name == biasesName(weight) ? UpdatedMatrix::Part::Biases
                                                 : UpdatedMatrix::Part::Numbers;
    } else if (name == weight) {
      output.kind = Output::Floats;
      spec.dtype = request.dtype.value_or(matrix.scales->tensor->dtype);
      spec.shape = {matrix.rows, matrix.columns};
    } else {
      return Status::ok(); // scales and biases have gone into the numbers
    }
  } else if (updates.count(name)) {
    output.kind = Output::Floats;
    HONE_ASSIGN(BaseMatrix matrix, model.matrix(name));
    HONE_TRY(checkMeasured(matrix, name));
  } else if (saved.count(name)) {
    output.kind = Output::Saved;
  } else if (spec.dtype != tensor.dtype) {
    output.kind = Output::Rounded;
  }
  std::optional<uint64_t> bytes = rt::tensorBytes(spec.dtype, spec.shape);
  if (!bytes)
    return Status(
        ErrorCode::TensorMisfit, entry.file->path() + ": tensor " + name,
        "expected a size of less than 2^64 bytes", "check the download");
  totalBytes += *bytes;
  shardOf[spec.name] = llvm::sys::path::filename(entry.file->path()).str();
  files[entry.file->path()].push_back(std::move(spec));
  outputs[name] = output;
  return Status::ok();
}

Status Merger::plan() {
  if (request.keepsGroups && !model.quantization())
    return Status(
        ErrorCode::OptionsDisagree, "--keep-quantized",
        "the model in " + model.directory() + " is not quantised",
        "leave it out; honec quantises the merged model as its spec says");
  Result<bool> ties = model.tiesEmbeddings();
  Result<int64_t> size = sizeIn(model, "vocab_size");
  if (!ties.isOk() || !size.isOk())
    return ties.isOk() ? size.status() : ties.status();
  isTied = ties.value();
  if (isTied)
    tiedTable = model.tiedTable();
  vocabulary = size.value();
  HONE_TRY(planCompanions());
  HONE_TRY(planUpdates());
  HONE_TRY(planSaved());
  for (const std::string &name : names())
    HONE_TRY(planTensor(name));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Status Merger::writeFloats(rt::SafetensorsWriter &writer,
                           const rt::SafetensorsFile &file,
                           const rt::TensorInfo &from, Dtype to) {
  const uint64_t piece = UpdatedMatrix::pieceElements;
  const uint64_t width = rt::dtypeBytes(from.dtype);
  std::vector<double> values;
  std::vector<char> bytes;
  for (uint64_t first = 0, all = from.elements(); first < all; first += piece) {
    values.resize(std::min(piece, all - first));
    bytes.resize(values.size() * rt::dtypeBytes(to));
    rt::convertElements(from.dtype, file.data(from) + first * width, Dtype::F64,
                        values.data(), values.size());
    if (&file == &adapter.file())
      HONE_TRY(adapter.checkFinite(from, values, first));
    storeRounded(values.data(), values.size(), to, bytes.data());
    for (uint64_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i]) &&
          !std::isfinite(rt::loadAsDouble(to, bytes.data(), i)))
        return Status(ErrorCode::NotFiniteWeight,
                      file.path() + ": tensor " + from.name,
                      std::to_string(values[i]) + " is beyond the range of " +
                          rt::dtypeName(to),
                      "give another --dtype");
    HONE_TRY(writer.write(bytes.data(), bytes.size()));
    file.release(from, first * width, values.size() * width);
  }
  return Status::ok();
}

static std::string describeGroups(int64_t bits, int64_t size) {
  return std::to_string(bits) + " bits in groups of " + std::to_string(size);
}

void Merger::reportSurvival(const std::string &name, const std::string &kind,
                            const Survival &written, const Survival &asIf) {
  report.written.push_back({name, kind, written});
  if (asIf.elements)
    report.measured.push_back(
        {name, describeGroups(request.measured->bits, request.measured->size),
         asIf});
}

Status Merger::writeMatrix(rt::SafetensorsWriter &writer,
                           const rt::TensorInfo &to, const Output &output) {
  HONE_ASSIGN(BaseMatrix base, model.matrix(output.source));
  auto found = updates.find(output.source);
  const LowRankUpdate *update =
      found == updates.end() ? nullptr : found->second;
  const bool isGrouped = output.kind == Output::Grouped;
  std::vector<double> own;
  HONE_ASSIGN(const UpdatedMatrix matrix,
              UpdatedMatrix::create(std::move(base), adapter, update,
                                    update && isTransposed(*update),
                                    isGrouped ? factors[output.source] : own));
  const Quantization &groups = matrix.base().quantization;
  const bool isNumbers = output.part == UpdatedMatrix::Part::Numbers;
  // Bits of the output for `per` elements.
  const uint64_t per = isGrouped ? groups.groupSize : 1;
  const uint64_t bits =
      isGrouped && isNumbers ? groups.bits * per : rt::dtypeBits(to.dtype);
  const bool isMeasured = update && isNumbers;
  Survival written, asIf;
  std::vector<char> bytes;
  constexpr uint64_t piece = UpdatedMatrix::pieceElements;
  for (uint64_t first = 0, all = matrix.base().elements(); first < all;
       first += chunkElements) {
    const uint64_t count = std::min(chunkElements, all - first);
    const uint64_t pieces = llvm::divideCeil(count, piece);
    bytes.resize(count / per * bits / 8);
    std::vector<Survival> sums(pieces), asIfs(pieces);
    std::atomic<bool> isFinite{true};
    llvm::parallelFor(0, pieces, [&](size_t i) {
      const uint64_t begin = i * piece, size = std::min(piece, count - begin);
      char *at = bytes.data() + begin / per * bits / 8;
      Survival *sum = isMeasured ? &sums[i] : nullptr;
      bool ok =
          isGrouped
              ? matrix.storeGrouped(first + begin, size, output.part, at, sum)
              : matrix.store(first + begin, size, to.dtype, at, sum);
      if (ok && isMeasured && request.measured && !matrix.base().isGrouped())
        ok = matrix.measure(first + begin, size, *request.measured, asIfs[i]);
      if (!ok)
        isFinite = false;
    });
    if (!isFinite)
      return Status(
          ErrorCode::NotFiniteWeight, describe(matrix.base()),
          "with the adapter a number is beyond the range of " +
              std::string(isGrouped ? "its scale" : rt::dtypeName(to.dtype)),
          "give another --dtype, or use a checkpoint of the run before it "
          "diverged");
    for (uint64_t i = 0; i < pieces; ++i) {
      written += sums[i];
      asIf += asIfs[i];
    }
    HONE_TRY(writer.write(bytes.data(), bytes.size()));
    matrix.base().release(first, count);
  }
  if (isMeasured)
    reportSurvival(output.source,
                   isGrouped ? describeGroups(groups.bits, groups.groupSize)
                             : rt::dtypeName(to.dtype),
                   written, asIf);
  return Status::ok();
}

Status Merger::writeTensor(rt::SafetensorsWriter &writer,
                           const rt::TensorInfo &to) {
  const std::string name =
      to.name == headWeight ? to.name : to.name.substr(prefix.size());
  const Output &output = outputs.at(name);
  const WeightIndex::Entry &entry = entryOf(name);
  Status status = Status::ok();
  switch (output.kind) {
  case Output::Copied:
    entry.file->visit(*entry.tensor, [&](const char *bytes, uint64_t size) {
      if (status.isOk())
        status = writer.write(bytes, size);
    });
    return status;
  case Output::Rounded:
    return writeFloats(writer, *entry.file, *entry.tensor, to.dtype);
  case Output::Saved:
    return writeFloats(writer, adapter.file(), *saved.at(name), to.dtype);
  case Output::Floats:
  case Output::Grouped:
    return writeMatrix(writer, to, output);
  }
  return status;
}

Status Merger::writeFile(NewFolder &folder, const std::string &path) {
  const std::string name = llvm::sys::path::filename(path).str();
  rt::SafetensorsMetadata metadata;
  for (const std::string &tensor : model.weights().names())
    if (model.weights().find(tensor)->file->path() == path) {
      metadata = model.weights().find(tensor)->file->metadata();
      break;
    }
  HONE_ASSIGN(rt::SafetensorsWriter writer,
              rt::SafetensorsWriter::create(folder.pathOf(name), files.at(path),
                                            std::move(metadata)));
  for (const rt::TensorInfo &tensor : writer.tensors())
    HONE_TRY(writeTensor(writer, tensor));
  Status status = writer.commit(rt::FolderSync::Later);
  if (status.isOk())
    folder.wrote(name);
  return status;
}

//===----------------------------------------------------------------------===//
// The other files
//===----------------------------------------------------------------------===//

Status Merger::writeIndex(NewFolder &folder) {
  if (!StringRef(model.weights().path()).ends_with(indexName))
    return Status::ok();
  return folder.write(indexName, rt::renderShardIndex(shardOf, totalBytes));
}

/// That of the most elements which are floats, if config.json does not say it.
std::optional<Dtype> Merger::unsaidType() const {
  std::map<Dtype, uint64_t> bytes;
  for (const auto &[path, specs] : files)
    for (const rt::TensorSpec &spec : specs)
      if (rt::isConvertible(spec.dtype))
        bytes[spec.dtype] +=
            rt::tensorBytes(spec.dtype, spec.shape).value_or(0);
  const auto most = llvm::max_element(bytes, [](const auto &a, const auto &b) {
    return a.second / rt::dtypeBytes(a.first) <
           b.second / rt::dtypeBytes(b.first);
  });
  if (most == bytes.end() ||
      model.config().has("dtype", torchName(most->first)) ||
      model.config().has("torch_dtype", torchName(most->first)))
    return std::nullopt;
  return most->first;
}

Status Merger::writeConfig(NewFolder &folder) {
  const bool losesGroups = model.quantization() && !request.keepsGroups;
  const ConfigChanges changes = {
      request.dtype || request.keepsGroups ? request.dtype : unsaidType(),
      losesGroups, untiesHead};
  if (!changes.dtype && !changes.losesGroups && !changes.untiesHead)
    return folder.copy("config.json", model.configPath());
  return folder.write("config.json", renderConfig(model.config(), changes));
}

Result<MergeReport> Merger::write() {
  HONE_ASSIGN(NewFolder folder, NewFolder::create(request.output));
  for (const auto &[path, specs] : files)
    HONE_TRY(writeFile(folder, path));
  Status status = writeIndex(folder);
  for (const std::string &name : companions)
    if (status.isOk())
      status = folder.copy(name, model.directory() + "/" + name);
  if (status.isOk())
    status = writeConfig(folder); // last: see NewFolder.h
  if (status.isOk())
    status = folder.commit();
  HONE_TRY(status);
  llvm::sort(report.written, [](const MergedTensor &a, const MergedTensor &b) {
    return a.name < b.name;
  });
  llvm::sort(report.measured, [](const MergedTensor &a, const MergedTensor &b) {
    return a.name < b.name;
  });
  return std::move(report);
}

Result<MergeReport> hone::mergeModel(const MergeRequest &request) {
  HONE_ASSIGN(PeftAdapter adapter, PeftAdapter::open(request.adapter));
  HONE_ASSIGN(BaseModel model, BaseModel::open(request.model));
  Merger merger(request, adapter, model);
  HONE_TRY(merger.plan());
  return merger.write();
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

static void addRow(llvm::raw_ostream &os, const Survival &survival,
                   const std::string &name) {
  double changed = survival.elements
                       ? double(survival.changed) / double(survival.elements)
                       : 0;
  os << llvm::format("  %9.3e  %7.2f %%  %9.3e  %7.2f %%  ", survival.length(),
                     100 * survival.survives(), survival.error(), 100 * changed)
     << name << "\n";
}

static void addTable(llvm::raw_ostream &os, bool isLong,
                     const std::vector<MergedTensor> &tensors) {
  Survival all;
  os << "        |d|   survives      error    changed\n";
  for (const MergedTensor &tensor : tensors) {
    all += tensor.survival;
    if (isLong)
      addRow(os, tensor.survival, tensor.name);
  }
  addRow(os, all,
         std::to_string(tensors.size()) +
             rt::plural(tensors.size(), " matrix", " matrices"));
}

void MergeReport::print(const std::string &output, bool isLong) const {
  llvm::raw_ostream &os = llvm::outs();
  for (const auto *tensors : {&written, &measured}) {
    if (tensors->empty())
      continue;
    os << (tensors == &written ? "written as " : "if stored as ")
       << tensors->front().storage << "\n";
    addTable(os, isLong, *tensors);
  }
  if (!written.empty())
    os << "  d: the adapter's update, s: the change of the stored weights\n  "
          "survives <s, d> / <d, d>, error |s - d| / |d|, changed: stored "
          "numbers\n";
  if (savedTensors)
    os << "saved        " << rt::counted(savedTensors, "tensor")
       << rt::plural(savedTensors, " is", " are") << " the adapter's own\n";
  os << "merged       " << output << "\n";
}
