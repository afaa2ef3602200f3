#!/usr/bin/env bash
# simulated.sh MODEL FOLDER: specs of several programs.
set -euo pipefail

parts='parts:
  lower: {layers: 0-0, method: mezo, directions: 2, program: client}
  upper: {method: backprop, program: server}
target: native'
cat >"$2/hosl.yaml" <<SPEC
model: $1
train: {batch_size: 2, max_seq_length: 16}
$parts
SPEC
cat >"$2/modules.yaml" <<SPEC
model: $1
train: {batch_size: 2, max_seq_length: 16, method: fgd, modules: 2, asynchronous: true}
target: native
SPEC
cat >"$2/ranks.yaml" <<SPEC
model: $1
train: {batch_size: 2, max_seq_length: 16, data_parallel: true, gradient_accumulation_steps: 4}
target: native
SPEC
# A head beside which a layer is cheap.
cat >"$2/wide/config.json" <<JSON
{"activation_function": "relu", "architectures": ["OPTForCausalLM"], "do_layer_norm_before": true,
 "ffn_dim": 256, "hidden_size": 64, "init_std": 0.02, "max_position_embeddings": 2048,
 "model_type": "opt", "num_attention_heads": 4, "num_hidden_layers": 12, "vocab_size": 20000,
 "word_embed_proj_dim": 64, "bos_token_id": 2, "eos_token_id": 2, "pad_token_id": 1}
JSON
cat >"$2/wide.yaml" <<SPEC
model: $2/wide
train: {batch_size: 16, max_seq_length: 32}
${parts/0-0/0-5}
SPEC
