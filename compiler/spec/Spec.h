//===- Spec.h - What the user asked for -----------------------------------===//
//
// The YAML spec as a plain struct. One table (Spec.cpp) declares every key;
// parsing, `--set`, `--help-spec` and the configuration in the binary all read
// it. YAML's own typing is not used: `yes`, `0x10` and `1_000` are errors.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_SPEC_SPEC_H
#define HONE_COMPILER_SPEC_SPEC_H

#include "base/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hone {

/// How much memory a planned step may take.
struct MemoryBudget {
  enum class Kind {
    Default, ///< little, for little time
    None,    ///< whatever is fastest
    Bytes,   ///< anonymous memory of the whole process
  };
  Kind kind = Kind::Default;
  int64_t bytes = 0;

  /// `none`, bytes, or a number with KiB, MiB or GiB; empty for anything else.
  static std::optional<MemoryBudget> parse(llvm::StringRef text);
};

/// Defaults are in the table, in Spec.cpp, and nowhere else.
struct Spec {
  struct Weights {
    std::string dtype;
    int64_t group_size;
    std::string path;
    std::string streaming; ///< false, true or planned
  };
  /// Names and meaning are those of PEFT's LoraConfig.
  struct Lora {
    int64_t r;
    double lora_alpha;
    std::vector<std::string> target_modules;
    bool use_rslora;
    std::string dtype;
  };
  /// Names and meaning are those of Transformers' TrainingArguments.
  struct Train {
    std::string method, residuals, memory_budget, resident_budget, kept_dtype;
    std::string optimizer, compute_dtype, float32_matmul_precision;
    double momentum, adam_beta1, adam_beta2, adam_epsilon;
    int64_t batch_size, max_seq_length, gradient_accumulation_steps;
    double learning_rate, weight_decay, max_grad_norm;
    std::string lr_scheduler_type;
    int64_t warmup_steps, steps, save_every, seed;
    bool shuffle, optimizer_in_backward;
  };
  struct Target {
    std::string triple, cpu;
    std::vector<std::string> features;
    std::string profile;
  };

  std::string model; ///< a path that can be opened as it is
  Weights weights;
  Lora lora;
  Train train;
  Target target;

  std::string file;            ///< the spec's own path, for messages
  std::set<std::string> given; ///< dotted keys that the user wrote

  /// Rows of the largest batch.
  int64_t maxRows() const { return train.batch_size * train.max_seq_length; }
  MemoryBudget memoryBudget() const;
  /// The same of resident memory; Default: none was given.
  MemoryBudget residentBudget() const;
  /// What multiplies B(Ax): lora_alpha / r, or / sqrt(r) with use_rslora.
  double loraScale() const;
};

/// Reads `path` and applies `overrides`, each "section.key=value" with the
/// value in YAML. Paths in the file are relative to the file, paths in
/// overrides to the working directory.
/// Errors: NoInput; Usage with file:line:column and the key.
rt::Result<Spec> readSpec(const std::string &path,
                          llvm::ArrayRef<std::string> overrides);

/// The same for a text; `place` names it in messages.
rt::Result<Spec> parseSpec(const std::string &text, const std::string &place,
                           llvm::ArrayRef<std::string> overrides = {});

/// Every key with its type, default, allowed values and meaning.
std::string describeSpecKeys();

/// The keys of `section` ("train") and their values as one JSON object.
std::string specSectionJson(const Spec &spec, llvm::StringRef section);

} // namespace hone

#endif
