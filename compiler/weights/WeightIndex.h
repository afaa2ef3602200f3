//===- WeightIndex.h - Which file has which tensor ------------------------===//
//
// The safetensors files of a model: one file, or shards with an index. Only
// headers are read here. Pickle files are never opened: reading one runs code.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_WEIGHTS_WEIGHTINDEX_H
#define HONE_COMPILER_WEIGHTS_WEIGHTINDEX_H

#include "compiler/import/ModelConfig.h"
#include "formats/Safetensors.h"

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace hone {

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
  static rt::Result<WeightIndex> open(const std::string &path);

  /// Null when no file has the tensor.
  const Entry *find(llvm::StringRef name) const;

  /// All tensors by name, sorted.
  std::vector<std::string> names() const;

  /// Checks that the files hold `expected`, in the element types that it asks
  /// for, or else that can be converted. `source` says what asks for them
  /// ("config.json"), in messages. Errors: BadData naming file and tensor.
  rt::Status require(const std::vector<ModelTensor> &expected,
                     const std::string &source) const;

  /// Checks that the files hold nothing that `expected` does not use, except
  /// tensors that are known to be redundant: rotary_emb.inv_freq, and the head
  /// of a model that ties it. Call after require().
  rt::Status refuseUnused(const std::vector<ModelTensor> &expected,
                          bool tiedHead) const;

  /// SHA-256, in hex, of the names, types, shapes and bytes of all tensors.
  /// Tensors are hashed on all cores; the result does not depend on how the
  /// model is sharded.
  std::string contentHash() const;

  const std::string &path() const { return where; }

private:
  static rt::Result<WeightIndex> openShards(const std::string &directory,
                                            const std::string &indexPath);
  void addFile(rt::SafetensorsFile file);
  rt::Status sortEntries();

  std::string where; ///< the file, or the index, for messages
  std::vector<std::unique_ptr<rt::SafetensorsFile>> files;
  /// By name. Sorted and not hashed: names may have been chosen to collide.
  std::vector<Entry> entries;
};

} // namespace hone

#endif
