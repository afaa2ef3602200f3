//===- Quantization.h - Models that MLX has quantised ---------------------===//
//
// `quantization` of config.json and the three tensors it makes of each matrix.
// Scales and biases are named after the module, not after its weight.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"

#include <set>
#include <string>

namespace hone {

/// Mode "affine": w = scale * q + bias for each group of a row.
struct Quantization {
  int64_t groupSize = 0;              ///< 32, 64 or 128
  int64_t bits = 0;                   ///< 4 or 8
  std::set<std::string> floatModules; ///< paths of the modules left alone

  bool operator==(const Quantization &other) const {
    return groupSize == other.groupSize && bits == other.bits &&
           floatModules == other.floatModules;
  }
  /// Whether the files hold the weight `name`, `[out, in]`, in groups. MLX,
  /// too, leaves rows alone that groups do not divide.
  bool covers(const std::string &name, int64_t in) const;
};

/// Reads the value of `key` in the config.json at `place`.
/// Errors: BadData with "config.json:line:column /key".
Result<Quantization> readQuantization(const rt::Json &value,
                                      const std::string &key,
                                      const std::string &place);

/// "lm_head.weight" -> "lm_head.scales", "lm_head.biases".
std::string scalesName(const std::string &weight);
std::string biasesName(const std::string &weight);

} // namespace hone
