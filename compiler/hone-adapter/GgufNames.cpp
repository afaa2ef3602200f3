//===- GgufNames.cpp - What llama.cpp calls the parts of a model ----------===//

#include "compiler/hone-adapter/GgufNames.h"

#include "llvm/ADT/StringSwitch.h"

using namespace hone;
using llvm::StringRef;

std::string hone::ggufNameOf(StringRef module) {
  if (module == "lm_head")
    return "output";
  if (!module.consume_front("model.layers."))
    return "";
  auto [layer, rest] = module.split('.');
  unsigned number;
  if (layer.getAsInteger(10, number) || std::to_string(number) != layer)
    return "";
  StringRef name = llvm::StringSwitch<StringRef>(rest)
                       .Case("self_attn.q_proj", "attn_q")
                       .Case("self_attn.k_proj", "attn_k")
                       .Case("self_attn.v_proj", "attn_v")
                       .Case("self_attn.o_proj", "attn_output")
                       .Case("mlp.gate_proj", "ffn_gate")
                       .Case("mlp.up_proj", "ffn_up")
                       .Case("mlp.down_proj", "ffn_down")
                       .Default("");
  return name.empty() ? "" : "blk." + layer.str() + "." + name.str();
}

int64_t hone::interleavedRow(int64_t row, int64_t rows, int64_t heads) {
  const int64_t head = rows / heads, half = head / 2;
  const int64_t in = row % head;
  return row - in + in % half * 2 + in / half;
}
