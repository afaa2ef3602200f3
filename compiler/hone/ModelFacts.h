//===- ModelFacts.h - The facts of a model that choose a run --------------===//

#pragma once

#include "base/Dtype.h"
#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hone {

struct ModelFacts {
  std::string folder;    ///< absolute
  int64_t positions = 0; ///< that it was trained for; 0: it does not say
  uint64_t numbers =
      0; ///< in its tensors, of quantised ones as they are packed
  uint64_t fileBytes = 0;
  rt::Dtype dtype = rt::Dtype::F32; ///< of most of its bytes
  bool isQuantized = false;

  std::string name() const;

  /// Reads config.json and the headers of the tensors. Errors: those of
  /// HuggingFaceModel::open and WeightIndex::open.
  static Result<ModelFacts> read(const std::string &folder);
};

} // namespace hone
