//===- DirectionScales.h - How far layers move along a direction ----------===//
//
// AsyncFGD's alpha (Guo et al. 2023, section 4.2): the direction of a layer's
// parameters is alpha u instead of u, in the derivative and in the update, so
// that what is expected of the estimate is alpha^2 times the gradient.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_METHODS_FGD_DIRECTIONSCALES_H
#define HONE_PASSES_METHODS_FGD_DIRECTIONSCALES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

/// Layers, counted from 0, both ends meant.
struct LayerRange {
  int64_t first, last;
};

/// "2-5", or "2"; none if it is something else.
std::optional<LayerRange> parseLayerRange(llvm::StringRef text);

/// Layers and their alpha.
struct DirectionScale {
  LayerRange layers;
  double scale;
};

/// "0-19=0,20-22=0.15", in the order of the layers; `problem` is what is wrong,
/// empty if nothing is.
llvm::SmallVector<DirectionScale> parseDirectionScales(llvm::StringRef text,
                                                       std::string &problem);

} // namespace hone

#endif
