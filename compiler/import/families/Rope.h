//===- Rope.h - The rotary settings of a config.json ----------------------===//
//
// Transformers 4 and 5 spell them differently; both are read and must agree.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_IMPORT_FAMILIES_ROPE_H
#define HONE_COMPILER_IMPORT_FAMILIES_ROPE_H

#include "compiler/import/ConfigReader.h"

namespace hone {

/// rope_type llama3; see hone.llama3_rope_scaling.
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
  std::optional<RopeScaling> scaling;
};

/// Without `defaultTheta` a theta is required. Errors stay in `config`.
Rope readRope(ConfigReader &config, std::optional<double> defaultTheta);

} // namespace hone

#endif
