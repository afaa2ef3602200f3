//===- AdapterShapes.h - Which adapter a module gets ----------------------===//
//
// Rank and scale of each module that lora.target_modules names, by rank_pattern
// and alpha_pattern, and in which layers, by layers_to_transform: as PEFT's
// LoraModel and check_target_module_exists. Where several keys name a module
// PEFT takes the first, but its files have them sorted; so keys that disagree
// are an error here.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/spec/ModulePattern.h"
#include "compiler/spec/Spec.h"

#include <optional>
#include <set>

namespace hone {

/// y = W x + scale B (A x), A being [rank, in].
struct AdapterShape {
  int64_t rank = 0; ///< 0: no adapter
  double scale = 0;

  bool operator==(const AdapterShape &other) const {
    return rank == other.rank && scale == other.scale;
  }
};

class AdapterShapes {
public:
  /// For a model of `layerCount` layers.
  AdapterShapes(const Spec &spec, int64_t layerCount);

  /// Of a module of lora.target_modules, by its path, in `layer` if it is in
  /// one.
  AdapterShape shapeOf(const std::string &path, std::optional<int64_t> layer);
  /// Of layers_to_transform; empty: all.
  std::vector<int64_t> layers() const;
  /// After shapeOf() of all: errors for layers that the model does not have,
  /// for keys and layers that name nothing, and for keys that disagree.
  Status check() const;

private:
  struct Numbers {
    explicit Numbers(const rt::NamedNumbers &setting)
        : setting(setting), keys(setting), isUsed(keys.size()) {}
    const rt::NamedNumbers &setting;
    PatternNumbers keys;
    std::vector<bool> isUsed;
  };
  /// The number that one of `numbers` has for the module; else `standard`.
  double numberOf(Numbers &numbers, const std::string &path, double standard);

  const Spec &spec;
  const int64_t layerCount;
  Numbers ranks, alphas;
  std::set<int64_t> chosen, unusedLayers;
  std::string beyond; ///< of layers_to_transform one that the model lacks
  Status disagreement = Status::ok();
};

} // namespace hone
