//===- LayerKinds.h - Which layers of a model see a window ----------------===//
//
// The one place that understands layer_types and the older keys from which
// Transformers makes them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/import/ConfigReader.h"

#include <vector>

namespace hone {

/// The kinds of a family's layers where config.json has no layer_types.
enum class SlidingRule {
  None,      ///< no layer slides; layer_types may not say otherwise
  All,       ///< every layer, unless sliding_window is null; nor here
  FromLayer, ///< with use_sliding_window those from max_window_layers on
  Pattern,   ///< all but every sliding_window_pattern-th
};

struct LayerKinds {
  std::vector<bool> slides; ///< of each layer
  int64_t window = 0;       ///< keys that a row of those sees, itself included
};

/// Takes the keys of `rule` and layer_types. Errors stay in `config`.
LayerKinds readLayerKinds(ConfigReader &config, int64_t layers,
                          SlidingRule rule);

} // namespace hone
