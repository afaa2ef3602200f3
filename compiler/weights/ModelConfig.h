//===- ModelConfig.h - The files beside a model's weights -----------------===//
//
// A written model takes these over from the one that it was made of.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/Json.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>

namespace hone {

/// Names of files that a model's folder may have beside weights and
/// config.json: how text becomes tokens, how it is meant to speak, its licence.
/// Other files are not copied: one may be a link to anything, or another form
/// of the weights, which would be stale.
llvm::ArrayRef<const char *> modelCompanions();

struct ConfigChanges {
  /// Of the floats in the files; absent: as `config` has it.
  std::optional<rt::Dtype> dtype;
  /// The weights are no longer in groups.
  bool losesGroups = false;
  /// The head no longer is the embedding's table.
  bool untiesHead = false;
};

/// As config.json and Transformers call it: "bfloat16".
const char *torchName(rt::Dtype dtype);

/// The text of config.json with `changes`; all other keys stay, in their order.
std::string renderConfig(const rt::Json &config, const ConfigChanges &changes);

} // namespace hone
