//===- RandomWeights.h - Random weights in Hugging Face's files -----------===//

#pragma once

#include "base/Dtype.h"
#include "base/Status.h"
#include "passes/module/ParameterTable.h"

namespace hone {

struct RandomWeights {
  uint64_t seed = 0;
  rt::Dtype dtype = rt::Dtype::F32; ///< F32 or BF16
  double standardDeviation = 0.02;  ///< of matrices and biases
  double normCenter = 1;            ///< of the weights of norms
  /// Most bytes of a file; 0: one file, without an index.
  uint64_t shardBytes = 0;

  /// Writes model.safetensors, or shards and their index, for the parameters
  /// `frozen`. An element is a function of seed, tensor name and index alone,
  /// so sharding changes nothing and BF16 is F32 rounded.
  /// Errors: CannotCreate, IoError.
  Status write(const std::string &directory,
               llvm::ArrayRef<Parameter> frozen) const;
};

} // namespace hone
