//===- LayerRange.h - Layers as a spec writes them ------------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace hone {

/// Layers, counted from 0, both ends meant. `last` + 1 is a number, too.
struct LayerRange {
  int64_t first, last;
};

/// "2-5", or "2"; none if it is something else.
std::optional<LayerRange> parseLayerRange(llvm::StringRef text);

} // namespace hone
