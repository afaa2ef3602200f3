//===- AdapterExports.cpp - Adapters for llama.cpp and MLX ----------------===//
//
// Both programs compute one scale for all modules from few numbers of the file,
// and this computes it as they do: an adapter that they would scale otherwise
// is refused.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-adapter/AdapterExports.h"
#include "base/Counted.h"
#include "compiler/hone-adapter/BaseModel.h"
#include "compiler/hone-adapter/GgufWriter.h"
#include "compiler/hone-adapter/NewFolder.h"
#include "compiler/hone-adapter/RoundedStore.h"
#include "compiler/import/ModelImport.h"
#include "compiler/import/families/Family.h"
#include "dialects/Hone/HoneOps.h"
#include "formats/JsonFile.h"
#include "passes/module/ParameterTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>
#include <set>

using namespace hone;
using llvm::StringRef;
using rt::Dtype;

void ExportSummary::print(const std::string &output) const {
  llvm::outs() << "wrote        " << output << ", "
               << rt::counted(modules, "module") << " of rank " << rank
               << llvm::format(", scale %g\n", scale);
  if (!note.empty())
    llvm::errs() << "note: " << note << "\n";
}

/// "blk.0.attn_q" for "model.layers.0.self_attn.q_proj"; "" if there is no such
/// module. llama.cpp's gguf-py (tensor_mapping.py) and convert_hf_to_gguf.py
/// are the sources; the names are those of Llama and its relatives, and of
/// GPT-2.
static std::string ggufNameOf(StringRef module) {
  if (module == "lm_head")
    return "output";
  if (!module.consume_front("model.layers.") &&
      !module.consume_front("transformer.h."))
    return "";
  auto [layer, rest] = module.split('.');
  unsigned number;
  if (layer.getAsInteger(10, number) || std::to_string(number) != layer)
    return "";
  StringRef name =
      llvm::StringSwitch<StringRef>(rest)
          .Case("self_attn.q_proj", "attn_q")
          .Case("self_attn.k_proj", "attn_k")
          .Case("self_attn.v_proj", "attn_v")
          .Cases({"self_attn.o_proj", "attn.c_proj"}, "attn_output")
          .Case("mlp.gate_proj", "ffn_gate")
          .Cases({"mlp.up_proj", "mlp.c_fc"}, "ffn_up")
          .Cases({"mlp.down_proj", "mlp.c_proj"}, "ffn_down")
          .Case("attn.c_attn", "attn_qkv")
          .Default("");
  return name.empty() ? "" : "blk." + layer.str() + "." + name.str();
}

/// Where row `row` of a matrix of `rows`, with `heads` heads, goes to.
static int64_t interleavedRow(int64_t row, int64_t rows, int64_t heads) {
  const int64_t head = rows / heads, half = head / 2;
  const int64_t in = row % head;
  return row - in + in % half * 2 + in / half;
}

static Status notInFormat(const std::string &place, const std::string &problem,
                          const std::string &remedy) {
  return Status(ErrorCode::NotInFormat, place, problem, remedy);
}

static constexpr const char *mergeInstead =
    "merge it into a model, and convert that";

/// Refuses parts that neither format has, of a model of `family`.
static Status checkPlain(const PeftAdapter &adapter, const Family &family) {
  if (!adapter.saved().empty()) {
    const SavedTensor &first = adapter.saved().front();
    return notInFormat(adapter.placeOf(*first.tensor),
                       std::string("expected only low-rank updates, found a ") +
                           (StringRef(first.name).ends_with(".bias")
                                ? "trained bias"
                                : "saved module"),
                       mergeInstead);
  }
  if (adapter.config().fan_in_fan_out && !family.isConv1d)
    return notInFormat(adapter.file().path(),
                       "expected modules that hold [out, in], found those of "
                       "fan_in_fan_out",
                       mergeInstead);
  const LowRankUpdate &first = adapter.updates().front();
  if (first.magnitude)
    return notInFormat(adapter.placeOf(*first.magnitude),
                       "expected only low-rank updates, found DoRA",
                       mergeInstead);
  for (const LowRankUpdate &update : adapter.updates())
    if (update.rank() != first.rank())
      return notInFormat(
          adapter.placeOf(*update.a),
          "expected rank " + std::to_string(first.rank()) + ", as of " +
              first.module + ", found " + std::to_string(update.rank()),
          "the format has one rank; " + std::string(mergeInstead));
    else if (update.scale != first.scale)
      return notInFormat(
          adapter.placeOf(*update.a),
          "expected the scale " + std::to_string(first.scale) + " of " +
              first.module + ", found " + std::to_string(update.scale),
          "the format has one scale; " + std::string(mergeInstead));
  return Status::ok();
}

/// Types [out, in], by module.
using Matrices = std::map<std::string, mlir::RankedTensorType>;

/// Those of the model. Errors: the import's.
static Result<Matrices> matricesOf(mlir::MLIRContext &context,
                                   const ExportRequest &request) {
  HONE_ASSIGN(std::unique_ptr<HuggingFaceModel> model,
              HuggingFaceModel::open(request.model));
  context.loadDialect<HoneDialect>();
  auto module = buildModule(*model, mlir::Float32Type::get(&context));
  mlir::FailureOr<ParameterTable> parameters = ParameterTable::build(*module);
  Matrices matrices;
  if (succeeded(parameters))
    for (const Parameter &parameter : parameters->frozen())
      if (parameter.type.getRank() == 2)
        matrices.insert({moduleOf(parameter.name).str(), parameter.type});
  return matrices;
}

/// 0 if config.json does not say.
static Result<int64_t> layersIn(const BaseModel &model) {
  HONE_ASSIGN(const int64_t layers, sizeIn(model, "num_hidden_layers"));
  return layers ? Result<int64_t>(layers) : sizeIn(model, "n_layer");
}

/// That config.json is of the model that the adapter was trained on, as far as
/// sizes say.
static Status checkFits(const PeftAdapter &adapter, const BaseModel &model,
                        const Matrices &matrices) {
  HONE_ASSIGN(int64_t layers, layersIn(model));
  auto misfit = [&](const rt::TensorInfo &tensor, const std::string &expected) {
    return Status(ErrorCode::AdapterOfOtherModel, adapter.placeOf(tensor),
                  "expected " + expected + ", as " + model.configPath() +
                      " says",
                  "use the model that the adapter was trained on");
  };
  for (const LowRankUpdate &update : adapter.updates()) {
    LayerModule module = layerModule(update.module);
    if (layers && module.layer >= layers)
      return misfit(*update.a, "at most " + std::to_string(layers) + " layers");
    auto matrix = matrices.find(update.module);
    if (matrix == matrices.end())
      continue;
    const int64_t out = matrix->second.getDimSize(0),
                  in = matrix->second.getDimSize(1);
    if (in != update.in())
      return misfit(*update.a, "[rank, " + std::to_string(in) + "] and not " +
                                   rt::describeShape(update.a->shape));
    if (out != update.out())
      return misfit(*update.b, "[" + std::to_string(out) + ", rank] and not " +
                                   rt::describeShape(update.b->shape));
  }
  return Status::ok();
}

namespace {
struct Opened {
  PeftAdapter adapter;
  BaseModel model; ///< its config.json
  const Family *family;
  std::string note; ///< see ExportSummary
};
} // namespace

/// For a program with the families that `knows` says.
static Result<Opened> open(const ExportRequest &request, const char *program,
                           bool (*knows)(const Family &)) {
  HONE_ASSIGN(PeftAdapter adapter, PeftAdapter::open(request.adapter));
  HONE_ASSIGN(BaseModel model, BaseModel::openConfig(request.model));
  const Family *family = familyOf(model.modelType());
  if (!family || !knows(*family)) {
    std::string known;
    for (const Family *each : families)
      if (knows(*each))
        known += (known.empty() ? "" : ", ") + each->modelType.str();
    return notInFormat(model.configPath() + " /model_type",
                       std::string("expected a model type whose names in ") +
                           program + " are known, found '" + model.modelType() +
                           "'",
                       "supported: " + known);
  }
  HONE_TRY(checkPlain(adapter, *family));
  mlir::MLIRContext context;
  // A model that Hone cannot train has an adapter all the same.
  Result<Matrices> matrices = matricesOf(context, request);
  HONE_TRY(checkFits(adapter, model,
                     matrices.isOk() ? matrices.value() : Matrices()));
  std::string note;
  if (!matrices.isOk())
    note = "the adapter's sizes were not compared with the model's: " +
           matrices.status().message().place + ": " +
           matrices.status().message().problem;
  return Opened{std::move(adapter), std::move(model), family, note};
}

/// The bytes of a factor, with its rows at `place(row)`, or transposed.
static Result<std::vector<char>> bytesOf(
    const PeftAdapter &adapter, const rt::TensorInfo &tensor, Dtype dtype,
    bool isTransposed,
    llvm::function_ref<int64_t(int64_t)> place = [](int64_t row) {
      return row;
    }) {
  HONE_ASSIGN(std::vector<double> read, adapter.read(tensor));
  const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<double> values(read.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0, to = place(r); c < columns; ++c)
      values[isTransposed ? c * rows + to : to * columns + c] =
          read[r * columns + c];
  std::vector<char> bytes(values.size() * rt::dtypeBytes(dtype));
  storeRounded(values.data(), values.size(), dtype, bytes.data());
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(rt::loadAsDouble(dtype, bytes.data(), i)))
      return Status(ErrorCode::NotFiniteWeight, adapter.placeOf(tensor),
                    std::to_string(values[i]) + " is beyond the range of " +
                        rt::dtypeName(dtype),
                    "give another --dtype");
  return bytes;
}

//===----------------------------------------------------------------------===//
// llama.cpp
//===----------------------------------------------------------------------===//

/// Heads of the rows of `module`, or 0 if they stay in their order.
static Result<int64_t> headsOf(const BaseModel &model, const Family &family,
                               const PeftAdapter &adapter,
                               const LowRankUpdate &update) {
  StringRef module = update.module;
  bool isKey = module.ends_with(".k_proj");
  if (!family.elsewhere.interleavesHeads ||
      !(isKey || module.ends_with(".q_proj")))
    return int64_t(0);
  Result<int64_t> heads = sizeIn(model, "num_attention_heads");
  Result<int64_t> keyHeads = sizeIn(model, "num_key_value_heads");
  for (const Result<int64_t> *each : {&heads, &keyHeads})
    HONE_TRY(*each);
  int64_t count = isKey && keyHeads.value() ? keyHeads.value() : heads.value();
  if (count && update.out() % (2 * count) == 0)
    return count;
  return Status(ErrorCode::AdapterOfOtherModel, adapter.placeOf(*update.b),
                "expected rows of " + std::to_string(count) +
                    " heads of an even size, as " + model.configPath() +
                    " says, found " + std::to_string(update.out()),
                "use the model that the adapter was trained on");
}

Result<ExportSummary> hone::exportGguf(const ExportRequest &request) {
  HONE_ASSIGN(const Opened opened,
              open(request, "llama.cpp", [](const Family &family) {
                return !family.elsewhere.gguf.empty();
              }));
  const auto &[adapter, model, family, note] = opened;
  // llama.cpp multiplies B A by alpha / rank, and not at all if alpha is 0.
  const LowRankUpdate &first = adapter.updates().front();
  const float alpha =
      static_cast<float>(first.scale * static_cast<double>(first.rank()));
  if (alpha == 0 || !std::isfinite(alpha))
    return notInFormat(request.adapter + "/adapter_config.json /lora_alpha",
                       "expected an alpha that is not 0, which llama.cpp reads "
                       "as 'do not scale'",
                       "an adapter of scale 0 changes nothing; leave it out");
  GgufWriter writer;
  writer.add("general.architecture", family->elsewhere.gguf.str());
  writer.add("general.type", std::string("adapter"));
  writer.add("general.file_type", uint32_t(request.dtype == Dtype::F32   ? 0
                                           : request.dtype == Dtype::F16 ? 1
                                                                         : 32));
  writer.add("general.quantization_version", uint32_t(2));
  writer.add("adapter.type", std::string("lora"));
  writer.add("adapter.lora.alpha", alpha);
  for (const LowRankUpdate &update : adapter.updates()) {
    const std::string name = ggufNameOf(update.module);
    if (name.empty() || name.size() + 14 > GgufWriter::LongestName)
      return notInFormat(adapter.placeOf(*update.a),
                         "llama.cpp has no name for " + update.module +
                             " of a " + family->modelType.str() + " model",
                         mergeInstead);
    if (update.module == "lm_head" &&
        model.config().flag("tie_word_embeddings", family->tiesEmbeddings))
      return notInFormat(adapter.placeOf(*update.a),
                         "llama.cpp has no head of its own for a model whose "
                         "head is its embedding",
                         mergeInstead);
    HONE_ASSIGN(int64_t heads, headsOf(model, *family, adapter, update));
    writer.addTensor(name + ".weight.lora_a", update.a->shape, request.dtype,
                     [&, &adapter = adapter, tensor = update.a] {
                       return bytesOf(adapter, *tensor, request.dtype, false);
                     });
    writer.addTensor(
        name + ".weight.lora_b", update.b->shape, request.dtype,
        [&, &adapter = adapter, tensor = update.b, count = heads,
         rows = update.out()] {
          return bytesOf(
              adapter, *tensor, request.dtype, false, [&](int64_t row) {
                return count ? interleavedRow(row, rows, count) : row;
              });
        });
  }
  HONE_TRY(writer.write(request.output));
  return ExportSummary{adapter.updates().size(), first.rank(),
                       double(alpha) / double(first.rank()), note};
}

//===----------------------------------------------------------------------===//
// MLX
//===----------------------------------------------------------------------===//

/// mlx-lm adapts `keys` in the last `num_layers` layers. Adapters that the file
/// lacks stay as they begin: without effect.
static Result<std::string> mlxConfig(const PeftAdapter &adapter,
                                     const BaseModel &model) {
  HONE_ASSIGN(int64_t layers, layersIn(model));
  if (layers == 0)
    return rt::badJson(ErrorCode::BadConfig, model.configPath(), nullptr,
                       "expected num_hidden_layers, found none",
                       "take config.json and weights from the same place");
  std::set<std::string> keys;
  int64_t lowest = layers;
  for (const LowRankUpdate &update : adapter.updates()) {
    LayerModule module = layerModule(update.module);
    if (module.layer >= 0)
      lowest = std::min(lowest, module.layer);
    keys.insert(module.name);
  }
  const LowRankUpdate &first = adapter.updates().front();
  std::string list;
  for (const std::string &key : keys) {
    list += list.empty() ? "\n      " : ",\n      ";
    list += rt::jsonString(key);
  }
  char numbers[160];
  snprintf(numbers, sizeof numbers,
           "    \"rank\": %lld,\n    \"scale\": %.17g,\n"
           "    \"dropout\": %.17g\n",
           static_cast<long long>(first.rank()), first.scale,
           adapter.config().lora_dropout);
  std::string base = "null";
  if (!adapter.config().base_model_name_or_path.empty())
    base = rt::jsonString(adapter.config().base_model_name_or_path);
  return "{\n  \"fine_tune_type\": \"lora\",\n  \"lora_parameters\": {\n"
         "    \"keys\": [" +
         list + "\n    ],\n" + numbers + "  },\n  \"model\": " + base +
         ",\n  \"num_layers\": " + std::to_string(layers - lowest) + "\n}\n";
}

/// "model.h.0.attn.c_attn" for "transformer.h.0.attn.c_attn".
static std::string mlxNameOf(StringRef module, const Family &family) {
  const ElsewhereNames &names = family.elsewhere;
  return module.consume_front(names.body) ? names.bodyInMlx.str() + module.str()
                                          : module.str();
}

Result<ExportSummary> hone::exportMlx(const ExportRequest &request) {
  HONE_ASSIGN(const Opened opened,
              open(request, "mlx-lm", [](const Family &family) {
                return family.elsewhere.isInMlx;
              }));
  const auto &[adapter, model, family, note] = opened;
  HONE_ASSIGN(std::string config, mlxConfig(adapter, model));

  std::vector<rt::TensorSpec> specs;
  std::map<std::string, const rt::TensorInfo *> tensors;
  for (const LowRankUpdate &update : adapter.updates())
    for (auto [suffix, tensor] :
         {std::pair(".lora_a", update.a), std::pair(".lora_b", update.b)}) {
      specs.push_back({mlxNameOf(update.module, *family) + suffix,
                       request.dtype,
                       {tensor->shape[1], tensor->shape[0]}});
      tensors[specs.back().name] = tensor;
    }
  HONE_ASSIGN(NewFolder folder, NewFolder::create(request.output));
  constexpr const char *file = "adapters.safetensors";
  HONE_ASSIGN(rt::SafetensorsWriter created,
              rt::SafetensorsWriter::create(
                  folder.pathOf(file), std::move(specs), {{"format", "mlx"}}));
  for (const rt::TensorInfo &tensor : created.tensors()) {
    HONE_ASSIGN(std::vector<char> bytes,
                bytesOf(adapter, *tensors[tensor.name], request.dtype, true));
    HONE_TRY(created.write(bytes.data(), bytes.size()));
  }
  HONE_TRY(created.commit(rt::FolderSync::Later));
  folder.wrote(file);
  HONE_TRY(folder.write("adapter_config.json", config));
  HONE_TRY(folder.commit());
  const LowRankUpdate &first = adapter.updates().front();
  return ExportSummary{adapter.updates().size(), first.rank(), first.scale,
                       note};
}
