//===- DirectionScales.cpp - How far layers move along a direction --------===//

#include "passes/derive/DirectionScales.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hone {

static bool parseLayer(StringRef text, int64_t &layer) {
  return !text.empty() && all_of(text, isDigit) &&
         !text.getAsInteger(10, layer) && layer < int64_t(1) << 24;
}

SmallVector<DirectionScale> parseDirectionScales(StringRef text,
                                                 std::string &problem) {
  SmallVector<DirectionScale> scales;
  SmallVector<StringRef> items;
  text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [layers, number] = item.split('=');
    auto [first, last] = layers.split('-');
    if (!layers.contains('-'))
      last = first;
    DirectionScale scale;
    if (!parseLayer(first, scale.first) || !parseLayer(last, scale.last) ||
        scale.first > scale.last || number.getAsDouble(scale.scale) ||
        !(scale.scale >= 0 && scale.scale <= 1)) {
      problem = ("expected layers and a scale from 0 to 1 such as 0-4=0.15 but "
                 "found '" +
                 item + "'")
                    .str();
      return {};
    }
    if (!scales.empty() && scale.first <= scales.back().last) {
      problem = ("expected layers behind " + Twine(scales.back().last) +
                 " but found '" + item + "'")
                    .str();
      return {};
    }
    scales.push_back(scale);
  }
  return scales;
}

} // namespace hone
