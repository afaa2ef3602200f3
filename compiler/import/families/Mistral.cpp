//===- Mistral.cpp - Mistral 7B from v0.2 on ------------------------------===//
//
// Transformers' modeling_mistral.py is the source. A window is on unless
// config.json says null, as v0.1's does not.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/families/Decoder.h"

using namespace hone;
using mlir::Value;

namespace {

class Mistral : public Decoder {
  void read(ConfigReader &config) override {
    Defaults defaults;
    defaults.rmsNormEps = 1e-6;
    defaults.ropeTheta = 10000.0;
    readDecoder(config, defaults);
    if (config.take("sliding_window") || !config.has("sliding_window"))
      config.failAt(rt::ErrorCode::UnsupportedModel, "sliding_window",
                    "expected null: sliding-window attention, which is the "
                    "default of this type, is not supported",
                    "set it to null only if the model was trained without it");
  }

  Value layer(ModelBuilder &builder, Value x, Value starts) const override {
    Value n = norm(builder, "input_layernorm", x);
    Queries queries = projectQueries(builder, n, /*hasBias=*/false);
    Value attention = attend(builder, queries, starts, /*hasBias=*/false);
    x = builder.add("self_attn.residual", x, attention);
    n = norm(builder, "post_attention_layernorm", x);
    return builder.add("mlp.residual", x,
                       gatedMlp(builder, n, /*hasBias=*/false));
  }
};

} // namespace

const Family hone::mistral = {"mistral", "MistralForCausalLM", create<Mistral>};
