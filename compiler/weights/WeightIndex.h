//===- WeightIndex.h - Which file has which tensor ------------------------===//
//
// The safetensors files of a model: one file, or shards with an index. Only
// headers are read here. Pickle files are never opened: reading one runs code.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "formats/Safetensors.h"
#include "passes/module/ParameterTable.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>

namespace hone {

/// A tensor that the model's files must have.
struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> shape;          ///< as the files have it
  std::optional<rt::Dtype> dtype = {}; ///< absent: any float
};

/// Tensors that the files must hold for `model`; `isPacked`: a grouped
/// parameter as the three tensors that MLX makes of a matrix.
std::vector<ExpectedTensor> expectedTensors(llvm::ArrayRef<Parameter> model,
                                            bool isPacked);

class WeightIndex {
public:
  struct Entry {
    const rt::SafetensorsFile *file;
    const rt::TensorInfo *tensor;
  };

  /// Opens `path`: a safetensors file, or a directory with model.safetensors
  /// or model.safetensors.index.json. With an index, the tensors of the shards
  /// are exactly those of its weight_map, each in the shard that it says.
  /// Errors: NoInput, BadData.
  static Result<WeightIndex> open(const std::string &path);

  /// From now on a tensor that no file has under its name is looked for under
  /// its name without `prefix`, too.
  void setBasePrefix(std::string prefix) { basePrefix = std::move(prefix); }

  /// From now on tensors of `module` are those of `other`, even if the files
  /// have their own: of a head, those of the embedding that it is tied to.
  void setSource(std::string module, std::string other) {
    tiedModule = std::move(module) + ".";
    sourceModule = std::move(other) + ".";
  }

  /// Null when no file has the tensor.
  const Entry *find(llvm::StringRef name) const;

  /// The tensor, which `source` asks for. `described` follows "this tensor" in
  /// the message. Errors: BadData naming the tensor and the nearest that is
  /// there.
  Result<Entry> get(llvm::StringRef name, const std::string &source,
                    const std::string &described = "") const;

  /// All tensors by name, sorted.
  std::vector<std::string> names() const;

  /// Checks that the files hold `expected`, in the element types that it asks
  /// for, or else that can be converted. `source` says what asks for them
  /// ("config.json"), in messages. Errors: BadData naming file and tensor.
  Status require(const std::vector<ExpectedTensor> &expected,
                 const std::string &source) const;

  /// Checks that the files hold nothing that `expected` does not use, except
  /// the `redundant` and rotary_emb.inv_freq. Call after require().
  Status refuseUnused(const std::vector<ExpectedTensor> &expected,
                      const std::vector<std::string> &redundant) const;

  /// SHA-256, in hex, of the names, types, shapes and bytes of all tensors.
  /// Tensors are hashed on all cores; the result does not depend on how the
  /// model is sharded.
  std::string contentHash() const;

  const std::string &path() const { return where; }

private:
  static Result<WeightIndex> openShards(const std::string &directory,
                                        const std::string &indexPath);
  void addFile(rt::SafetensorsFile file);
  Status sortEntries();

  std::string where; ///< the file, or the index, for messages
  std::vector<std::unique_ptr<rt::SafetensorsFile>> files;
  std::string basePrefix, tiedModule, sourceModule;
  const Entry *findInFiles(llvm::StringRef name) const;
  const Entry *findExactly(llvm::StringRef name) const;
  /// By name. Sorted and not hashed: names may have been chosen to collide.
  std::vector<Entry> entries;
};

} // namespace hone
