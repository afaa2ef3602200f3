//===- DirectionScales.h - How far layers move along a direction ----------===//
//
// AsyncFGD's alpha (Guo et al. 2023, section 4.2): the direction of a layer's
// parameters is alpha u instead of u, in the derivative and in the update, so
// that the estimate's expectation is alpha^2 times the gradient.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/parts/LayerRange.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace hone {

/// Layers and their alpha.
struct DirectionScale {
  LayerRange layers;
  double scale;
};

/// "0-19=0,20-22=0.15", in the order of the layers; `problem` says what is
/// wrong, empty if nothing is.
llvm::SmallVector<DirectionScale> parseDirectionScales(llvm::StringRef text,
                                                       std::string &problem);

} // namespace hone
