//===- BaseModel.h - The model that an adapter belongs to -----------------===//
//
// Any Hugging Face directory with safetensors, also of a family that Hone
// cannot train: adding an adapter needs names and shapes alone. Of a quantised
// model only MLX's affine format is read.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "compiler/hone-adapter/PeftAdapter.h"
#include "compiler/import/Quantization.h"
#include "compiler/weights/WeightIndex.h"

#include <optional>
#include <string>

namespace hone {

/// A matrix of the files, as numbers: elements count row by row.
class BaseMatrix {
public:
  const WeightIndex::Entry *numbers = nullptr;
  /// Null unless the matrix is in groups.
  const WeightIndex::Entry *scales = nullptr, *biases = nullptr;
  Quantization quantization; ///< of a matrix in groups
  int64_t rows = 0, columns = 0;

  bool isGrouped() const { return scales; }
  uint64_t elements() const { return uint64_t(rows) * uint64_t(columns); }

  /// Elements [first, first + count), exact: scale * q + bias of those in
  /// groups. `first` and `count` are multiples of a group there.
  void load(uint64_t first, uint64_t count, double *values) const;
  /// The number that stands for element `index` of a matrix in groups.
  unsigned packed(uint64_t index) const;
  /// Lets go of the bytes that load() read.
  void release(uint64_t first, uint64_t count) const;
};

class BaseModel {
public:
  /// Reads config.json and the headers of the weights. Errors: NoInput,
  /// BadData.
  static Result<BaseModel> open(const std::string &directory);

  /// The same of config.json alone, however the weights are quantised:
  /// weights() are none.
  static Result<BaseModel> openConfig(const std::string &directory);

  const std::string &directory() const { return folder; }
  const rt::Json &config() const { return root; }
  std::string configPath() const;
  const WeightIndex &weights() const { return *index; }
  const std::optional<Quantization> &quantization() const { return groups; }
  /// config.json's model_type, or "".
  std::string modelType() const;
  /// Whether the head is the embedding's table: as config.json says, else as
  /// its family has it, else whether the files have no head. Errors: BadConfig.
  Result<bool> tiesEmbeddings() const;

  /// The table that a tied head has, and the prefix that the files leave out
  /// before it: the name of the model's body where they are of the body alone.
  struct TiedTable {
    std::string name, leftOut;
  };
  /// None where the family is not known, or the files have no such tensor.
  std::optional<TiedTable> tiedTable() const;

  /// A tensor of `module`, as the files name it: without the name of the
  /// model's body where they are of the body alone. Errors: BadData.
  Result<std::string> nameOf(const std::string &tensor,
                             const std::string &place) const;

  /// A matrix. Errors: BadData unless it is one of floats, or in groups as
  /// config.json says.
  Result<BaseMatrix> matrix(const std::string &name) const;

  /// Whether `name` is the numbers, the scales or the biases of a matrix in
  /// groups, whose weight is then in `weight`.
  bool isGrouped(const std::string &name, std::string &weight) const;

private:
  Status readQuantization();

  std::string folder;
  rt::Json root;
  std::optional<WeightIndex> index;
  std::optional<Quantization> groups;
};

/// config.json's integer `key`, or 0. Errors: BadData for a value that is no
/// integer from 1 to 2^31 - 1.
Result<int64_t> sizeIn(const BaseModel &model, const char *key);

} // namespace hone
