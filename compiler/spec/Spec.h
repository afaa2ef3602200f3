//===- Spec.h - The user's request ----------------------------------------===//
//
// The table of its keys is module/Settings.h: parsing, `--set`, `--help-spec`
// and the configuration in the binary all read it. YAML's own typing is not
// used: `yes`, `0x10` and `1_000` are errors.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Settings.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hone {

/// The settings of a run, as the user gave them.
struct Spec : rt::Settings {
  std::string file; ///< the spec's own path, for messages
  /// Dotted keys that the user wrote, and the option that set each; empty: the
  /// file.
  std::map<std::string, std::string> given;
  /// Of parts that are programs, which one's is compiled; empty: there are
  /// none.
  std::string program;
  /// Notes for the user on how it was read.
  std::vector<std::string> notes;

  /// Where the value of `key` is from, for messages: "spec.yaml: target.triple"
  /// or "--target=native: target.triple".
  std::string placeOf(const std::string &key) const;

  /// The part whose program is compiled, if it has a target of its own.
  const rt::PartSettings *ownTarget() const;
  /// The key that says what `program` is compiled for.
  std::string targetKey() const;

  /// The name of the model: that of its directory or file.
  std::string modelName() const;
  /// Whether `model` is an .mlir file, and not a Hugging Face directory.
  bool isMlir() const { return llvm::StringRef(model).ends_with(".mlir"); }
  /// Rows of the largest batch.
  int64_t maxRows() const { return train.batch_size * train.max_seq_length; }
  /// The factor of B(Ax): lora_alpha / r, or / sqrt(r) with use_rslora.
  double loraScale() const;
  /// Whether products multiply bfloat16, see hone.rounded_products. Known when
  /// train.bfloat16_products is not auto.
  bool roundsProducts() const;
};

/// A key of the spec that an option sets: "section.key=value" with the value in
/// YAML.
struct SpecOverride {
  std::string setting;
  std::string option; ///< as the user wrote it, for messages

  SpecOverride(std::string setting)
      : setting(std::move(setting)), option("--set " + this->setting) {}
  SpecOverride(const std::string &key, const std::string &option,
               const std::string &value)
      : setting(key + "=" + value), option(option + "=" + value) {}
};

/// Reads `path` and applies `overrides` in order. Paths in the file are
/// relative to the file, paths in overrides to the working directory. A folder
/// is the model of a spec that says nothing else. Errors: NoInput; Usage with
/// file:line:column and the key.
Result<Spec> readSpec(const std::string &path,
                      llvm::ArrayRef<SpecOverride> overrides);

/// The same for a text; `place` names it in messages.
Result<Spec> parseSpec(const std::string &text, const std::string &place,
                       llvm::ArrayRef<SpecOverride> overrides = {});

/// The key that `name` stands for, which may be one itself; see KeyAliases.h.
std::string canonicalKey(llvm::StringRef name);

/// The keys of `section` ("train") and their values as one JSON object.
std::string specSectionJson(const Spec &spec, llvm::StringRef section);

} // namespace hone
