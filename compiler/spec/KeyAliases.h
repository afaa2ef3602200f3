//===- KeyAliases.h - Keys as people know them from elsewhere -------------===//
//
// Specs are written from memory of PEFT, Transformers and mlx_lm. A name that
// means the same there is taken, and said; one that means something else is an
// unknown key.
//
//===----------------------------------------------------------------------===//

#pragma once

namespace hone {

struct KeyAlias {
  const char *alias; ///< as it is written, with its section
  const char *key;   ///< its full name
  /// The value of `true` where the key is no truth; `false` is the default.
  const char *whenTrue = nullptr;
};

inline constexpr KeyAlias keyAliases[] = {
    {"lora.rank", "lora.r"},
    {"lora.lora_r", "lora.r"},
    {"lora.alpha", "lora.lora_alpha"},
    {"lora.dropout", "lora.lora_dropout"},
    {"train.lr", "train.learning_rate"},
    {"train.num_train_epochs", "train.epochs"},
    {"train.num_epochs", "train.epochs"},
    {"train.max_steps", "train.steps"},
    {"train.iters", "train.steps"},
    {"train.per_device_train_batch_size", "train.batch_size"},
    {"train.max_length", "train.max_seq_length"},
    {"train.lr_scheduler", "train.lr_scheduler_type"},
    {"train.save_steps", "train.save_every"},
    {"train.optim", "train.optimizer"},
    {"train.bf16", "train.compute_dtype", "bfloat16"},
};

} // namespace hone
