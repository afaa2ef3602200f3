//===- LayerRange.cpp - Layers as a spec writes them ----------------------===//

#include "passes/parts/LayerRange.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hone {

static bool parseLayer(StringRef text, int64_t &layer) {
  return !text.empty() && all_of(text, isDigit) &&
         !text.getAsInteger(10, layer) && layer < INT64_MAX;
}

std::optional<LayerRange> parseLayerRange(StringRef text) {
  auto [first, last] = text.split('-');
  if (!text.contains('-'))
    last = first;
  LayerRange range;
  if (!parseLayer(first, range.first) || !parseLayer(last, range.last) ||
      range.first > range.last)
    return std::nullopt;
  return range;
}

} // namespace hone
