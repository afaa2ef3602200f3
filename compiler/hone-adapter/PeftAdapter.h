//===- PeftAdapter.h - An adapter as updates of weights -------------------===//
//
// PEFT's updates by module: W + scale B A, or a whole tensor where the adapter
// has one (modules_to_save, bias). Nothing is read before it is checked; a
// module that does not fit a model is found where the model is.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/spec/ModulePattern.h"
#include "formats/Adapter.h"
#include "formats/Safetensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hone {

/// Of one module. A is [rank, in], B is [out, rank].
struct LowRankUpdate {
  std::string module; ///< "model.layers.0.self_attn.q_proj"
  const rt::TensorInfo *a = nullptr, *b = nullptr;
  const rt::TensorInfo *magnitude = nullptr; ///< [out], with DoRA
  /// rt::loraScale() of its own rank and alpha.
  double scale = 0;

  int64_t rank() const { return a->shape[0]; }
  int64_t in() const { return a->shape[1]; }
  int64_t out() const { return b->shape[0]; }
};

/// "model.layers.3.self_attn.q_proj" is "self_attn.q_proj" of layer 3.
struct LayerModule {
  int64_t layer = -1; ///< -1: none
  std::string name;   ///< the module's, where it is in no layer
};
LayerModule layerModule(llvm::StringRef module);

/// A tensor that takes the place of the model's.
struct SavedTensor {
  std::string name; ///< "lm_head.weight"
  const rt::TensorInfo *tensor = nullptr;
};

class PeftAdapter {
public:
  /// Reads adapter_config.json and the header of the tensors' file. Errors:
  /// NoInput, BadData by the key or the tensor.
  static Result<PeftAdapter> open(const std::string &directory);

  const rt::AdapterConfig &config() const { return settings; }
  const std::vector<LowRankUpdate> &updates() const { return pairs; }
  const std::vector<SavedTensor> &saved() const { return whole; }
  const rt::SafetensorsFile &file() const { return *tensors; }

  /// "adapter_model.safetensors: tensor base_model.model...."
  std::string placeOf(const rt::TensorInfo &tensor) const;

  /// All elements, exact. Errors: BadData for one that is not finite.
  Result<std::vector<double>> read(const rt::TensorInfo &tensor) const;
  /// The same error for `values`, which are the tensor's from element `first`.
  Status checkFinite(const rt::TensorInfo &tensor,
                     const std::vector<double> &values, uint64_t first) const;

private:
  Status sortTensors();
  /// A tensor of a pair goes to its module in `byModule`.
  Status sortTensor(const rt::TensorInfo &tensor,
                    std::map<std::string, LowRankUpdate> &byModule);
  Status checkPair(LowRankUpdate &update, const PatternNumbers &ranks,
                   const PatternNumbers &alphas) const;

  rt::AdapterConfig settings;
  std::unique_ptr<rt::SafetensorsFile> tensors;
  std::vector<LowRankUpdate> pairs; ///< by module
  std::vector<SavedTensor> whole;   ///< by name
};

} // namespace hone
