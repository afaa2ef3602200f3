//===- HuggingFaceModel.h - A model directory, understood -----------------===//
//
// A family (families/) reads its config.json and builds its blocks. The rest of
// the compiler reads the built module; here are only the facts that the module
// does not have.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/import/Quantization.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hone {

class ConfigReader;
class ModelBuilder;

/// The head, and its weight where it has one of its own.
inline constexpr const char *headModule = "lm_head";
inline constexpr const char *headWeight = "lm_head.weight";

class HuggingFaceModel {
public:
  virtual ~HuggingFaceModel() = default;

  /// Reads config.json of a model directory.
  /// Errors: NoInput; BadData with "config.json:line:column /key".
  static Result<std::unique_ptr<HuggingFaceModel>>
  open(const std::string &directory);

  /// The same for a text; `place` names it in messages.
  static Result<std::unique_ptr<HuggingFaceModel>>
  parse(const std::string &text, const std::string &place);

  /// Builds the blocks and the entry @loss, without adapters.
  virtual void build(ModelBuilder &builder) const = 0;

  std::string file;                  ///< where it was read, for messages
  std::string modelType;             ///< "llama"
  int64_t maxPositionEmbeddings = 0; ///< 0: not in the file
  double initializerRange = 0.02;    ///< only random models are made with it
  bool tiesEmbeddings = false;       ///< the head is the embedding's table
  std::string embeddingModule;       ///< "model.embed_tokens"
  std::string targetModule;          ///< see Family::targetModule
  std::string hubName; ///< "Qwen/Qwen2.5-0.5B"; empty: not in the file
  std::optional<Quantization> quantization; ///< of the files' weights
  /// The prefix of the tensors' names where the files are of the model with its
  /// head, such as "transformer."; files of the base model alone lack it.
  std::string baseModelPrefix;
  /// Notes for the user on the file: dropout that is left out.
  std::vector<std::string> notes;
  /// Tensors that the files may hold although the model does not read them.
  std::vector<std::string> redundantTensors;

  /// The files' name of the tensor `name`: the embedding's table for the weight
  /// of a head that is tied to it.
  std::string sourceOf(const std::string &name) const {
    return tiesEmbeddings && name == headWeight ? embeddingModule + ".weight"
                                                : name;
  }

protected:
  /// Takes the keys of the family. Errors stay in `config`, and a model with
  /// one is never built.
  virtual void read(ConfigReader &config) = 0;
};

} // namespace hone
