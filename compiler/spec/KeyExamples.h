//===- KeyExamples.h - A spec for each key --------------------------------===//
//
// Of keys that all methods have; a method has those of its own (Method.h). Each
// sets its key to a value that changes something, and the keys that this one
// needs. A test compiles them all, and fails for a key that has none. The model
// has 24 layers.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/Method.h"

namespace hone {

inline constexpr KeyExample keyExamples[] = {
    {"model", "model: path/to/Qwen2.5-0.5B\n"},
    {"chat_template", "chat_template: plain\n"},

    {"weights.dtype", "weights: {dtype: int4}\n"},
    {"weights.group_size", "weights: {dtype: int4, group_size: 32}\n"},
    {"weights.path", "model: block.mlir\n"
                     "weights: {path: tensors.safetensors}\n"},
    {"weights.streaming", "weights: {streaming: true}\n"},
    {"weights.untie", "lora: none\n"
                      "weights: {untie: true}\n"},

    {"lora.r", "lora: {r: 16}\n"},
    {"lora.lora_alpha", "lora: {r: 16, lora_alpha: 32}\n"},
    {"lora.target_modules",
     "lora: {target_modules: [q_proj, k_proj, v_proj, o_proj]}\n"},
    {"lora.rank_pattern",
     "lora: {r: 8, rank_pattern: {\"layers.0.*.q_proj\": 16, v_proj: 4}}\n"},
    {"lora.alpha_pattern",
     "lora: {lora_alpha: 8, alpha_pattern: {\"layers.0.*\": 16}}\n"},
    {"lora.layers_to_transform", "lora: {layers_to_transform: [0, 20-23]}\n"},
    {"lora.use_dora", "lora: {use_dora: true}\n"},
    {"lora.use_rslora", "lora: {r: 64, use_rslora: true}\n"},
    {"lora.dtype", "lora: {dtype: bfloat16}\n"},
    {"lora.lora_dropout", "lora: {lora_dropout: 0.05}\n"},
    {"lora.modules_to_save", "lora: {modules_to_save: [norm, lm_head]}\n"},
    {"lora.bias", "lora: {bias: lora_only}\n"},
    {"lora.base_model_name_or_path",
     "lora: {base_model_name_or_path: Qwen/Qwen2.5-0.5B}\n"},
    {"lora.none", "lora: none\n"},

    {"train.method", "train: {method: mezo}\n"},
    {"train.optimizer", "train: {optimizer: sgd, learning_rate: 1e-2}\n"},
    {"train.momentum", "train: {optimizer: sgd, momentum: 0.9}\n"},
    {"train.momentum_dtype",
     "train: {optimizer: sgd, momentum: 0.9, momentum_dtype: bfloat16}\n"},
    {"train.adam_beta1", "train: {adam_beta1: 0.95}\n"},
    {"train.adam_beta2", "train: {adam_beta2: 0.99}\n"},
    {"train.adam_epsilon", "train: {adam_epsilon: 1e-6}\n"},
    {"train.lion_beta1",
     "train: {optimizer: lion, lion_beta1: 0.95, learning_rate: 1e-5}\n"},
    {"train.lion_beta2",
     "train: {optimizer: lion, lion_beta2: 0.98, learning_rate: 1e-5}\n"},
    {"train.adafactor_decay_rate",
     "train: {optimizer: adafactor, adafactor_decay_rate: -0.5}\n"},
    {"train.adafactor_clip_threshold",
     "train: {optimizer: adafactor, adafactor_clip_threshold: 0.5}\n"},
    {"train.adafactor_epsilon",
     "train: {optimizer: adafactor, adafactor_epsilon: 1e-20}\n"},
    {"train.learning_rate", "train: {learning_rate: 2e-4}\n"},
    {"train.loraplus_lr_ratio", "train: {loraplus_lr_ratio: 16}\n"},
    {"train.weight_decay", "train: {weight_decay: 0.01}\n"},
    {"train.warmup_steps", "train: {warmup_steps: 50}\n"},
    {"train.lr_scheduler_type", "train: {lr_scheduler_type: cosine}\n"},
    {"train.max_grad_norm", "train: {max_grad_norm: 0.3}\n"},
    {"train.residuals", "train: {residuals: mesp}\n"},
    {"train.memory_budget", "train: {memory_budget: 45MiB}\n"},
    {"train.resident_budget", "weights: {streaming: planned}\n"
                              "train: {resident_budget: 100MiB}\n"},
    {"train.kept_dtype",
     "train: {kept_dtype: bfloat16, memory_budget: 45MiB}\n"},
    {"train.activation_offloading",
     "train: {activation_offloading: planned, memory_budget: 45MiB}\n"},
    {"train.compare", "train: {method: lcsb, compare: backprop}\n"},
    {"train.compare_every",
     "train: {method: fgd, compare: backprop, compare_every: 50}\n"},
    {"train.optimizer_in_backward", "train: {optimizer_in_backward: true}\n"},
    {"train.modules", "train: {method: fgd, modules: 2}\n"},
    {"train.module_cuts",
     "train: {method: fgd, modules: 2, module_cuts: [14]}\n"},
    {"train.asynchronous",
     "train: {method: fgd, modules: 2, asynchronous: true}\n"},
    {"train.data_parallel", "train: {data_parallel: true}\n"},
    {"train.batch_size", "train: {batch_size: 4}\n"},
    {"train.max_seq_length", "train: {max_seq_length: 512}\n"},
    {"train.task", "train: {task: sst2}\n"},
    {"train.steps", "train: {steps: 200}\n"},
    {"train.epochs", "train: {epochs: 3}\n"},
    {"train.gradient_accumulation_steps",
     "train: {batch_size: 2, gradient_accumulation_steps: 8}\n"},
    {"train.seed", "train: {seed: 7}\n"},
    {"train.shuffle", "train: {shuffle: false}\n"},
    {"train.save_every", "train: {save_every: 100}\n"},
    {"train.save_total_limit", "train: {save_total_limit: 5}\n"},
    {"train.neftune_noise_alpha", "train: {neftune_noise_alpha: 5}\n"},
    {"train.label_smoothing_factor", "train: {label_smoothing_factor: 0.1}\n"},
    {"train.compute_dtype", "weights: {dtype: bfloat16}\n"
                            "train: {compute_dtype: bfloat16}\n"},
    {"train.bfloat16_products",
     "train: {compute_dtype: bfloat16, bfloat16_products: widened}\n"},
    {"train.float32_matmul_precision",
     "train: {float32_matmul_precision: medium}\n"},

    {"parts.NAME.layers", "parts:\n"
                          "  first: {layers: 0-7, method: mezo}\n"
                          "  middle: {layers: 8-15, method: fgd}\n"
                          "  last: {method: backprop}\n"},
    {"parts.NAME.program",
     "parts:\n"
     "  lower: {layers: 0-4, method: mezo, program: client}\n"
     "  upper: {method: backprop, program: server}\n"},
    {"parts.NAME.target",
     "parts:\n"
     "  lower: {layers: 0-4, method: mezo, program: client, target: "
     "aarch64-linux-gnu}\n"
     "  upper: {method: backprop, program: server}\n"
     "target: nvptx64-nvidia-cuda:sm_80\n"},
    {"exchange.dtype", "parts:\n"
                       "  lower: {layers: 0-4, method: mezo, program: client}\n"
                       "  upper: {method: backprop, program: server}\n"
                       "exchange: {dtype: bfloat16}\n"},
    {"exchange.in_flight",
     "parts:\n"
     "  lower: {layers: 0-4, method: mezo, directions: 10, program: client}\n"
     "  upper: {method: backprop, program: server}\n"
     "exchange: {in_flight: 3}\n"},

    {"generate.max_length", "generate: {max_length: 384}\n"},
    {"generate.prompt_rows", "generate: {prompt_rows: 128}\n"},

    {"target.triple", "target: {triple: aarch64-linux-gnu}\n"},
    {"target.cpu", "target: {triple: x86_64-linux-gnu, cpu: x86-64-v3}\n"},
    {"target.features",
     "target: {triple: x86_64-linux-gnu, cpu: x86-64-v3, features: [-fma]}\n"},
    {"target.host",
     "target: {triple: nvptx64-nvidia-cuda, cpu: sm_80, host: x86-64-v3}\n"},
    {"target.threads", "target: {threads: 2}\n"},
    {"target.profile", "target: {profile: rates.json}\n"},
};

} // namespace hone
