//===- Adapter.h - PEFT LoRA adapter directories --------------------------===//
//
// adapter_config.json + adapter_model.safetensors as PEFT reads and writes
// them. Names here are without peftPrefix, which is only in the file:
// "model.layers.0.self_attn.q_proj.lora_A.weight".
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "formats/TensorMemory.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// PEFT's prefix of the model's own names.
inline constexpr std::string_view peftPrefix = "base_model.model.";

/// The factor of B (A x): lora_alpha / r, or / sqrt(r) with use_rslora.
double loraScale(double lora_alpha, int64_t r, bool use_rslora);

/// Numbers of modules, by PEFT's keys: see compiler/spec/ModulePattern.h.
using ModuleNumbers = std::vector<std::pair<std::string, double>>;

/// The part of PEFT's LoraConfig that changes the adapter's result: y = W x + s
/// B (A x), s being loraScale().
struct AdapterConfig {
  int64_t r = 8;
  double lora_alpha = 8;
  double lora_dropout = 0;
  bool use_rslora = false;
  /// y = x (m (W + s B A) / |W + s B A|)^T with a magnitude m and the length
  /// |.| of each row.
  bool use_dora = false;
  /// Whether the modules are Conv1D, whose weight is [in, out]; A and B are the
  /// same.
  bool fan_in_fan_out = false;
  /// Numbers of modules whose r or lora_alpha is another one.
  ModuleNumbers rank_pattern, alpha_pattern;
  /// Layers whose modules have adapters; empty: all.
  std::vector<int64_t> layers_to_transform;
  /// Module names, e.g. "q_proj"; written sorted.
  std::vector<std::string> target_modules;
  /// Modules that have none although they are named. Only read.
  std::vector<std::string> exclude_modules;
  /// Whether a file has target_modules as a list, and not as an expression.
  bool hasTargetList = false;
  /// Modules that are in the adapter as a whole, and biases that are.
  std::vector<std::string> modules_to_save;
  std::string bias = "none";
  /// May be empty, which is written as null.
  std::string base_model_name_or_path;
};

/// The purpose of reading an adapter.
enum class AdapterUse { Train, Evaluate };

/// Creates `directory` when missing and writes both files, the tensors first,
/// each whole or not at all. A is [r, in], B is [out, r]. Errors: CannotCreate,
/// IoError.
Status writeAdapter(const std::string &directory, const AdapterConfig &config,
                    const std::vector<TensorMemory> &tensors);

/// Reads adapter_config.json. Refuses by name settings that this format of
/// adapter cannot express: another peft_type, layers_pattern, ... with values
/// that are not neutral, and without `hasConv1d` fan_in_fan_out. Errors:
/// NoInput, BadData.
Result<AdapterConfig> readAdapterConfig(const std::string &directory,
                                        bool hasConv1d = false);

/// The same for programs that add an adapter to weights and need not train it:
/// takes fan_in_fan_out and layers_pattern too.
Result<AdapterConfig> readMergeableConfig(const std::string &directory);

/// Checks that PEFT, too, gives an adapter to each module of the tensors
/// `names`, which are without peftPrefix: target_modules, exclude_modules and
/// layers_to_transform of `config` name it. Expressions are taken as they are.
/// Errors: BadData, naming the first that has none.
Status checkTargets(const std::string &directory, const AdapterConfig &config,
                    const std::vector<std::string_view> &names);

/// The file in `directory` that has an adapter's tensors.
std::string adapterModelPath(const std::string &directory);

/// Reads the adapter into the targets' memory. The adapter must have exactly
/// the targets' tensors with their shapes (F32, F64, BF16 or F16, converted)
/// and the `r`, `lora_alpha`, both patterns in any order, `use_rslora`,
/// `use_dora`, `bias` and `modules_to_save` of `expected`, and to train also
/// its `lora_dropout`; other settings of `expected` are not compared. Its own
/// settings must name its tensors, as checkTargets says. All is checked before
/// the first byte is copied: on an error no target has changed. Errors:
/// NoInput, BadData.
Status readAdapter(const std::string &directory, const AdapterConfig &expected,
                   const std::vector<TensorMemory> &targets, AdapterUse use);

} // namespace hone::rt
