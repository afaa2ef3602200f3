//===- DirectionScales.cpp - How far layers move along a direction --------===//

#include "passes/methods/fgd/DirectionScales.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hone {

static bool parseLayer(StringRef text, int64_t &layer) {
  return !text.empty() && all_of(text, isDigit) &&
         !text.getAsInteger(10, layer) && layer < int64_t(1) << 24;
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

SmallVector<DirectionScale> parseDirectionScales(StringRef text,
                                                 std::string &problem) {
  SmallVector<DirectionScale> scales;
  SmallVector<StringRef> items;
  text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [layers, number] = item.split('=');
    std::optional<LayerRange> range = parseLayerRange(layers);
    double scale;
    if (!range || number.getAsDouble(scale) || !(scale >= 0 && scale <= 1)) {
      problem = ("expected layers and a scale from 0 to 1 such as 0-4=0.15 but "
                 "found '" +
                 item + "'")
                    .str();
      return {};
    }
    if (!scales.empty() && range->first <= scales.back().layers.last) {
      problem = ("expected layers behind " + Twine(scales.back().layers.last) +
                 " but found '" + item + "'")
                    .str();
      return {};
    }
    scales.push_back({*range, scale});
  }
  return scales;
}

} // namespace hone
