//===- Rope.h - The rotary settings of a config.json ----------------------===//
//
// Transformers 4 and 5 spell them differently; both are read and must agree.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/ConfigReader.h"

namespace hone {

/// Of rope_type llama3; see hone.llama3_rope_scaling.
struct RopeScaling {
  double factor, lowFreqFactor, highFreqFactor;
  int64_t originalMaxPositionEmbeddings;
  bool operator==(const RopeScaling &other) const {
    return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
           highFreqFactor == other.highFreqFactor &&
           originalMaxPositionEmbeddings == other.originalMaxPositionEmbeddings;
  }
};

struct Rope {
  double theta = 0;
  double stretch = 1; ///< of rope_type linear
  std::optional<RopeScaling> scaling;
  bool operator==(const Rope &other) const {
    return theta == other.theta && stretch == other.stretch &&
           scaling == other.scaling;
  }
};

/// Without `defaultTheta` a theta is required. Errors stay in `config`.
Rope readRope(ConfigReader &config, std::optional<double> defaultTheta);

/// Of layers that see all keys, and of those that see a window.
struct LayerRopes {
  Rope full, sliding;
  static LayerRopes same(const Rope &rope) { return {rope, rope}; }
};

/// The same where sliding layers have settings of their own:
/// rope_local_base_freq beside rope_theta and rope_scaling, or an object for
/// each type of layer in rope_parameters.
LayerRopes readLayerRopes(ConfigReader &config,
                          std::optional<double> defaultTheta,
                          double defaultSlidingTheta);

} // namespace hone
