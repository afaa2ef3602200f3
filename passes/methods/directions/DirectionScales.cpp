//===- DirectionScales.cpp - How far layers move along a direction --------===//

#include "passes/methods/directions/DirectionScales.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hone {

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
      problem = ("expected layers after " + Twine(scales.back().layers.last) +
                 " but found '" + item + "'")
                    .str();
      return {};
    }
    scales.push_back({*range, scale});
  }
  return scales;
}

} // namespace hone
