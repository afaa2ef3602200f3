//===- MergeModel.h - A model with an adapter in its weights --------------===//

#pragma once

#include "compiler/hone-adapter/UpdatedMatrix.h"

#include <optional>
#include <string>
#include <vector>

namespace hone {

struct MergeRequest {
  std::string model, adapter, output; ///< folders
  /// Of the written tensors; absent: of the tensor itself, or of the scales of
  /// a matrix in groups.
  std::optional<rt::Dtype> dtype;
  /// A matrix in groups is written in groups.
  bool keepsGroups = false;
  /// Measures float matrices as if they were stored so, beside the written
  /// form.
  std::optional<Grouping> measured;
};

/// Of one tensor.
struct MergedTensor {
  std::string name, storage; ///< "BF16", "4 bits in groups of 64"
  Survival survival;
};

struct MergeReport {
  std::vector<MergedTensor> written, measured;
  uint64_t savedTensors = 0; ///< tensors that the adapter had as a whole

  /// Prints totals, with `isLong` a row for each tensor, and where the model
  /// is.
  void print(const std::string &output, bool isLong) const;
};

/// Writes `request.output`, a Hugging Face folder with the files of the model:
/// as many shards as it has, its configuration and its tokenizer. Nothing is
/// ever in memory as a whole but the factors of one module. Errors: BadData for
/// an adapter that does not fit; NoInput, CannotCreate, IoError.
Result<MergeReport> mergeModel(const MergeRequest &request);

} // namespace hone
