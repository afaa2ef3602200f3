//===- Weights.h - The model's tensors, mapped ----------------------------===//
//
// Bound once by name and never copied: the pages are the file's, so they cost
// no anonymous memory. The generated code trusts shapes and layout, so both
// are checked here.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "device/Device.h"
#include "formats/ModelFolder.h"
#include "formats/Safetensors.h"
#include "module/Module.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hone::rt {

class Weights {
public:
  /// The name of the weights file beside a training binary.
  static constexpr const char *fileName = "weights.hone.safetensors";

  /// Maps `path` and finds every weight of `module` in it, the starting values
  /// of trainable parameters included.
  /// Errors: NoInput, BadData.
  static Result<Weights> open(const std::string &path, const Module &module);

  /// As a device loads them.
  MappedWeights mapped() const {
    return {addresses.data(), opened.bytes(), handle.get()};
  }

  /// The file, for its other contents, such as the tokenizer's table.
  const SafetensorsFile &file() const { return opened; }

  /// Where the model's files have the parameters, if all of them train.
  const std::optional<ModelLayout> &layout() const { return ofModel; }

private:
  std::optional<ModelLayout> ofModel;
  SafetensorsFile opened;
  /// The file of `opened`; devices know it, wherever this object goes.
  std::unique_ptr<platform::File> handle = std::make_unique<platform::File>();
  std::vector<const void *> addresses;
};

/// `fileName` in the folder of the running program.
std::string defaultWeightsPath();

} // namespace hone::rt
