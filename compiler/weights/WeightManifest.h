//===- WeightManifest.h - A weights file that is yet to be made -----------===//
//
// The tensors that a program wants in its weights, so that a file of random
// ones can be made where it runs: nobody has to carry gigabytes to a benchmark.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/weights/WeightWriter.h"
#include "formats/RandomTensor.h"

namespace hone {

/// How a tensor of a random model is drawn, as Transformers initialises it:
/// weights of norms around `normCenter`, all others around 0 with this standard
/// deviation.
rt::Distribution distributionOf(llvm::StringRef tensor, double deviation,
                                double normCenter);

/// The file of `parameters`, as JSON: {"format", "layout", "source_hash",
/// "tensors": [{"name", "dtype", "shape", "center", "width"}]}. Integers are
/// given scales and biases that make them numbers of that deviation.
/// `source_hash` is the digest of the rest: random weights have no source.
struct WeightManifest {
  std::string json, sourceHash;
};
WeightManifest describeWeights(llvm::ArrayRef<Parameter> parameters,
                               double deviation);

} // namespace hone
