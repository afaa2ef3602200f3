//===- ModelFiles.h - The files of a program's model ----------------------===//

#pragma once

#include "module/Module.h"
#include "module/Weights.h"
#include "text/Tokenizer.h"
#include "threads/Pool.h"

#include <optional>
#include <string>
#include <string_view>

namespace hone::rt {

struct ModelFiles {
  Weights weights;
  std::optional<Tokenizer> tokenizer;
  std::string_view chat; ///< the block; empty: the model has no template

  std::string chatPlace() const {
    return weights.file().path() + ": tensor 'hone.chat'";
  }
  /// Lets go of the pages that only text needs.
  void releaseText() const;
};

/// The weights at `given`, empty for those beside the program, and the
/// tokenizer and template in them. Errors: NoCompiledWeights, as Weights::open.
Result<ModelFiles> openModelFiles(const Module &module,
                                  const std::string &given);

/// `given`, or where weights are beside the program.
std::string weightsPath(const std::string &given);

/// Whether the weights are those that were compiled; `report` becomes a line
/// with the time that this took. Errors: DamagedWeights.
Status checkWeights(const ModelFiles &files, const Module &module, Pool &pool,
                    bool noVerify, std::string &report);

} // namespace hone::rt
