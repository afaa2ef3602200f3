//===- DecoderSizes.cpp - What config.json says of a decoder's matrices ---===//

#include "compiler/hone-adapter/DecoderSizes.h"

#include "compiler/import/families/Family.h"

#include "llvm/ADT/StringSwitch.h"

using namespace hone;
using llvm::StringRef;
using rt::Result;

namespace {
/// The features that a matrix takes or gives.
enum class Features { Unknown, Hidden, Queries, Keys, Inner, Tokens };
} // namespace

/// All heads of those that `headsKey` counts; 0: config.json leaves that to
/// what is not known of its family.
static Result<int64_t> headFeatures(const BaseModel &model,
                                    const char *headsKey) {
  Result<int64_t> all = sizeIn(model, "num_attention_heads");
  Result<int64_t> heads = sizeIn(model, headsKey);
  Result<int64_t> hidden = sizeIn(model, "hidden_size");
  Result<int64_t> each = sizeIn(model, "head_dim");
  for (const Result<int64_t> *size : {&all, &heads, &hidden, &each})
    if (!size->isOk())
      return size->status();
  if (heads.value() == 0 && !model.config().find(headsKey))
    return int64_t(0);
  if (each.value() == 0) {
    const Family *family = familyOf(model.modelType());
    if (!family)
      return int64_t(0);
    each = family->headDim;
    if (each.value() == 0 && all.value() != 0)
      each = hidden.value() / all.value();
  }
  return (heads.value() ? heads.value() : all.value()) * each.value();
}

static Result<int64_t> countOf(const BaseModel &model, Features features) {
  switch (features) {
  case Features::Unknown:
    return int64_t(0);
  case Features::Hidden:
    return sizeIn(model, "hidden_size");
  case Features::Queries:
    return headFeatures(model, "num_attention_heads");
  case Features::Keys:
    return headFeatures(model, "num_key_value_heads");
  case Features::Inner:
    return sizeIn(model, "intermediate_size");
  case Features::Tokens:
    return sizeIn(model, "vocab_size");
  }
  return int64_t(0);
}

Result<MatrixSize> hone::sizeOf(const BaseModel &model, StringRef module) {
  using Pair = std::pair<Features, Features>;
  const auto [outs, ins] =
      llvm::StringSwitch<Pair>(module)
          .Case("self_attn.q_proj", {Features::Queries, Features::Hidden})
          .Cases({"self_attn.k_proj", "self_attn.v_proj"},
                 {Features::Keys, Features::Hidden})
          .Case("self_attn.o_proj", {Features::Hidden, Features::Queries})
          .Cases({"mlp.gate_proj", "mlp.up_proj"},
                 {Features::Inner, Features::Hidden})
          .Case("mlp.down_proj", {Features::Hidden, Features::Inner})
          .Case("lm_head", {Features::Tokens, Features::Hidden})
          .Default({Features::Unknown, Features::Unknown});
  Result<int64_t> out = countOf(model, outs), in = countOf(model, ins);
  if (!out.isOk() || !in.isOk())
    return out.isOk() ? in.status() : out.status();
  return MatrixSize{out.value(), in.value()};
}
