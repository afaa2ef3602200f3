//===- ModelFolder.h - A model's parameters in the files of its folder ----===//
//
// The result of a run that trains the model itself: the files that the model
// came from, with the trained tensors. A block of the compiled weights says
// which file has which tensor, and which files are copied beside them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "formats/TensorMemory.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct ModelLayout {
  /// The tensors of compiled weights that hold the block, and a copied file.
  static constexpr const char *tensorName = "hone.model";
  static constexpr const char *filePrefix = "hone.file.";
  static constexpr const char *configName = "config.json";

  struct Tensor {
    std::string name;      ///< in the model's file
    std::string parameter; ///< of the compiled module
  };
  struct Shard {
    std::string file;
    std::vector<Tensor> tensors;
  };
  std::string index; ///< empty: there is one shard and no index
  std::vector<Shard> shards;
  std::vector<std::string> files; ///< copied as they are

  /// Reads {"index", "shards": [{"file", "tensors": [[name, parameter], ...]}],
  /// "files": [...]}. File names are plain. Errors: OtherWeights.
  static Result<ModelLayout> parse(std::string_view json,
                                   const std::string &place);

  /// The names of all files, as a writer makes them.
  std::vector<std::string> fileNames() const;
};

/// The text of model.safetensors.index.json, as Transformers writes it.
/// `fileOf`: of each tensor.
std::string renderShardIndex(const std::map<std::string, std::string> &fileOf,
                             uint64_t bytes);

/// Writes the model to `directory`, which is made when missing: the shards, the
/// index and the files copied from `source`, each whole or not at all,
/// config.json last. Where there are several shards config.json is removed
/// before the first is replaced, so that a folder with it never mixes two
/// models. Errors: CannotCreate, IoError.
Status writeModel(const std::string &directory, const ModelLayout &layout,
                  const std::vector<TensorMemory> &parameters,
                  const SafetensorsFile &source);

/// Reads the parameters from a folder that writeModel made, or another model of
/// this kind: F32, F64, BF16 or F16, converted. All is checked before the first
/// byte is copied. Errors: NoInput, BadData.
Status readModel(const std::string &directory, const ModelLayout &layout,
                 const std::vector<TensorMemory> &parameters);

} // namespace hone::rt
