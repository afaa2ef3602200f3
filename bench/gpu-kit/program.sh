# program.sh - what a line of `programs` says, for the scripts beside. They set
# `lists`, `shared` and `source`.

# The training of torch_peer.py: activations, weights and adapters in bfloat16. A
# layer keeps its input for its backward, or as much as BUDGET has room for.
spec() { # MODEL BATCH TOKENS [BUDGET]
  local residuals=mesp
  [ -z "${4-}" ] || residuals="planned, memory_budget: $4"
  cat <<TEXT
model: $1
lora: {r: 8, lora_alpha: 16, target_modules: all-linear, dtype: bfloat16}
train: {compute_dtype: bfloat16, residuals: $residuals, batch_size: $2, max_seq_length: $3,
        optimizer: adamw, learning_rate: 1e-4, lr_scheduler_type: constant,
        max_grad_norm: 0, shuffle: false, save_every: 0}
TEXT
}

# The config.json of a model, if there is one.
config_of() { # CONFIG
  local each
  for each in "$lists/$1.json" "$shared/data/configs/$1/config.json" \
    "$source/test/reference/golden/models/$1/config.json"; do
    [ ! -f "$each" ] || {
      printf '%s\n' "$each"
      return
    }
  done
}
