//===- ModelImport.cpp - A Hugging Face model as hone IR ------------------===//
//
// One method per block, written in the order in which the layer computes.
// Transformers' modeling_llama.py and modeling_qwen2.py are the source.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/ModelImport.h"
#include "compiler/import/TargetModules.h"
#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/Verifier.h"

#include <cmath>
#include <map>

using namespace hone;
using namespace mlir;
using rt::ExitCode;
using rt::Result;
using rt::Status;

namespace {

class ModelBuilder {
public:
  ModelBuilder(MLIRContext &context, const ModelConfig &config,
               const Spec &spec)
      : config(config), spec(spec), modules(decoderModules(config)),
        builder(&context) {
    element = spec.train.compute_dtype == "float64" ? Type(builder.getF64Type())
                                                    : builder.getF32Type();
    hidden = rowsOf(config.hiddenSize);
    indices =
        RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  }

  OwningOpRef<ModuleOp> build(const TargetedModules &targets);

private:
  RankedTensorType tensorOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType rowsOf(int64_t features) {
    return tensorOf({ShapedType::kDynamic, features});
  }
  Location at(const llvm::Twine &name) {
    return NameLoc::get(builder.getStringAttr(name));
  }
  Value parameter(const std::string &name, ArrayRef<int64_t> shape) {
    return ParameterOp::create(builder, at(name), tensorOf(shape), name,
                               /*trainable=*/false, InitAttr(), StorageAttr());
  }
  Value adapter(const std::string &name, ArrayRef<int64_t> shape, Init init) {
    return ParameterOp::create(builder, at(name), tensorOf(shape), name,
                               /*trainable=*/true,
                               InitAttr::get(builder.getContext(), init),
                               StorageAttr());
  }
  Value rowInput(StringRef name) {
    return InputOp::create(builder, at(name), indices, name);
  }
  FloatAttr f64(double value) { return builder.getF64FloatAttr(value); }

  /// Opens the body of a new block; the caller ends it with hone.return.
  BlockOp openBlock(StringRef name, TypeRange inputs, TypeRange results);
  Value norm(Value x, const std::string &name);
  Value project(Value x, size_t module, bool adapted);
  Value rotate(Value x, Value starts, int64_t heads, StringRef name);
  void buildEmbed();
  void buildDecoder(StringRef name, const std::vector<bool> &adapted);
  void buildHead();

  const ModelConfig &config;
  const Spec &spec;
  std::vector<LinearModule> modules;
  OpBuilder builder;
  Type element;
  RankedTensorType hidden, indices;
};

} // namespace

BlockOp ModelBuilder::openBlock(StringRef name, TypeRange inputs,
                                TypeRange results) {
  auto block = BlockOp::create(builder, at(name), name,
                               builder.getFunctionType(inputs, results));
  builder.setInsertionPointToEnd(&block.getBody().front());
  return block;
}

Value ModelBuilder::norm(Value x, const std::string &name) {
  Value weight = parameter(name + ".weight", {config.hiddenSize});
  return RmsNormOp::create(builder, at(name), hidden, /*rstd=*/Type(), x,
                           weight, f64(config.rmsNormEps))
      .getY();
}

Value ModelBuilder::project(Value x, size_t index, bool adapted) {
  const LinearModule &m = modules[index];
  Value weight = parameter(m.name + ".weight", {m.out, m.in});
  Value bias;
  if (m.bias)
    bias = parameter(m.name + ".bias", {m.out});
  if (!adapted)
    return LinearOp::create(builder, at(m.name), rowsOf(m.out), x, weight,
                            bias);
  Value a = adapter(m.name + ".lora_A.weight", {spec.lora.r, m.in},
                    Init::KaimingUniform);
  Value b =
      adapter(m.name + ".lora_B.weight", {m.out, spec.lora.r}, Init::Zero);
  return LoraLinearOp::create(builder, at(m.name), rowsOf(m.out), /*h=*/Type(),
                              x, weight, a, b, bias, f64(spec.loraScale()))
      .getY();
}

Value ModelBuilder::rotate(Value x, Value starts, int64_t heads,
                           StringRef name) {
  Llama3RopeScalingAttr scaling;
  if (const std::optional<RopeScaling> &s = config.ropeScaling)
    scaling = Llama3RopeScalingAttr::get(
        builder.getContext(), f64(s->factor), f64(s->lowFreqFactor),
        f64(s->highFreqFactor), s->originalMaxPositionEmbeddings);
  return RopeOp::create(builder, at(name), x.getType(), x, starts,
                        builder.getI64IntegerAttr(heads), f64(config.ropeTheta),
                        scaling, /*inverse=*/UnitAttr());
}

void ModelBuilder::buildEmbed() {
  OpBuilder::InsertionGuard guard(builder);
  openBlock("embed", {}, {hidden});
  Value ids = rowInput("input_ids");
  Value table =
      parameter("embed_tokens.weight", {config.vocabSize, config.hiddenSize});
  Value x =
      EmbeddingOp::create(builder, at("embed_tokens"), hidden, ids, table);
  ReturnOp::create(builder, at("embed"), ValueRange(x));
}

void ModelBuilder::buildDecoder(StringRef name,
                                const std::vector<bool> &adapted) {
  enum { Q, K, V, O, Gate, Up, Down }; // the order of decoderModules()
  OpBuilder::InsertionGuard guard(builder);
  BlockOp block = openBlock(name, {hidden}, {hidden});
  Value x = block.getBody().getArgument(0);

  Value starts = rowInput("sequence_starts");
  Value n = norm(x, "input_layernorm");
  Value q = project(n, Q, adapted[Q]);
  Value k = project(n, K, adapted[K]);
  Value v = project(n, V, adapted[V]);
  q = rotate(q, starts, config.numAttentionHeads, "self_attn.q_rope");
  k = rotate(k, starts, config.numKeyValueHeads, "self_attn.k_rope");
  Value attention =
      AttentionOp::create(
          builder, at("self_attn"), q.getType(), /*normalizer=*/Type(), q, k, v,
          starts, builder.getI64IntegerAttr(config.numAttentionHeads),
          builder.getI64IntegerAttr(config.numKeyValueHeads),
          f64(1.0 / std::sqrt(static_cast<double>(config.headDim))))
          .getY();
  Value o = project(attention, O, adapted[O]);
  Value middle = AddOp::create(builder, at("self_attn.residual"), x, o);

  n = norm(middle, "post_attention_layernorm");
  Value gate = project(n, Gate, adapted[Gate]);
  Value up = project(n, Up, adapted[Up]);
  Value act = SwigluOp::create(builder, at("mlp.act_fn"), gate, up);
  Value down = project(act, Down, adapted[Down]);
  Value y = AddOp::create(builder, at("mlp.residual"), middle, down);
  ReturnOp::create(builder, at(name), ValueRange(y));
}

void ModelBuilder::buildHead() {
  OpBuilder::InsertionGuard guard(builder);
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  BlockOp block = openBlock("head", {hidden}, {scalar});
  Value n = norm(block.getBody().getArgument(0), "model.norm");
  Value targets = rowInput("targets");
  Value weight = parameter(
      config.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight",
      {config.vocabSize, config.hiddenSize});
  Value loss = LinearCrossEntropyOp::create(builder, at("lm_head"), scalar,
                                            /*dx=*/Type(), n, weight, targets)
                   .getLoss();
  ReturnOp::create(builder, at("head"), ValueRange(loss));
}

OwningOpRef<ModuleOp> ModelBuilder::build(const TargetedModules &targets) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(at(config.modelType));
  (*module)->setAttr(HoneDialect::getMaxRowsAttrName(),
                     builder.getI64IntegerAttr(spec.maxRows()));
  builder.setInsertionPointToEnd(module->getBody());

  // One block for each set of adapted modules, most often one in all.
  std::map<std::vector<bool>, std::string> kinds;
  buildEmbed();
  for (const std::vector<bool> &adapted : targets) {
    std::string name = "decoder";
    if (!kinds.empty())
      name += "_" + std::to_string(kinds.size() + 1);
    if (kinds.emplace(adapted, name).second)
      buildDecoder(name, adapted);
  }
  buildHead();

  Type scalar = RankedTensorType::get({}, builder.getF64Type());
  auto entry = EntryOp::create(builder, at("loss"), "loss", Phase::Forward, {},
                               scalar);
  builder.setInsertionPointToEnd(&entry.getBodyBlock());
  auto call = [&](StringRef block, const std::string &prefix,
                  ValueRange operands, Type result) {
    return CallOp::create(builder, at(prefix.empty() ? block : prefix),
                          TypeRange(result), block, prefix, operands)
        .getResult(0);
  };
  Value x = call("embed", "model.", {}, hidden);
  for (size_t layer = 0; layer < targets.size(); ++layer)
    x = call(kinds[targets[layer]], layerPrefix(layer), x, hidden);
  ReturnOp::create(builder, at("loss"), call("head", "", x, scalar));
  return module;
}

Result<OwningOpRef<ModuleOp>> hone::importModel(MLIRContext &context,
                                                const ModelConfig &config,
                                                const Spec &spec) {
  if (config.maxPositionEmbeddings &&
      spec.train.max_seq_length > config.maxPositionEmbeddings)
    return Status::error(
        ExitCode::Usage,
        {spec.file + ": train.max_seq_length",
         "expected at most the model's max_position_embeddings, " +
             std::to_string(config.maxPositionEmbeddings) + ", but found " +
             std::to_string(spec.train.max_seq_length),
         "longer samples can be split, or the model's rope settings changed"});
  Result<TargetedModules> targets = resolveTargetModules(spec, config);
  if (!targets.isOk())
    return targets.status();
  OwningOpRef<ModuleOp> module =
      ModelBuilder(context, config, spec).build(targets.value());
  if (failed(verify(*module)))
    return Status::error(ExitCode::Internal,
                         {config.file, "the imported module is not valid",
                          "please report this with config.json and the spec"});
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}
