//===- Config.h - The configuration that honec compiled in ----------------===//
//
// hone_module::config is JSON that honec wrote. It is read once, at start;
// numbers that the generated code depends on are in hone_module itself, so
// nothing here can make a step read out of bounds.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "formats/Adapter.h"
#include "module/Settings.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::rt {

/// A line of the plan: its name, and its bytes of anonymous memory.
struct PlanClass {
  std::string name;
  uint64_t bytes = 0;
};

/// The settings with which the module was compiled are the program's defaults.
struct ModuleConfig : Settings {
  std::string modelName, modelType;
  uint64_t parameters = 0; ///< all elements, those of an adapter too
  uint64_t vocabSize = 0;
  /// A run's identity apart from settings and data, see step/RunIdentity.h.
  std::map<std::string, std::string> identity;
  AdapterConfig adapter;
  std::string weightsLayout, weightsSourceHash;
  std::string program; ///< this one's name; empty: the model has no others
  std::vector<int64_t> stopTokens; ///< of the model, where it generates
  std::vector<PlanClass> planClasses;
  /// The same of each of hone_module::placements.
  std::vector<std::vector<PlanClass>> fewer;
  uint64_t processBytes = 0;
  uint64_t weightBytes = 0;
  uint64_t residentWeightBytes = 0; ///< of those, at a time
  uint64_t residentThreadBytes = 0; ///< more for each thread
  uint64_t tableBytes = 0; ///< of the program, that grow with the model
  /// Kernels run on a device, which has the arena and the weights.
  bool onDevice = false;
  uint64_t deviceWeightBytes = 0; ///< of the weights, there
  uint64_t deviceHostBytes = 0;   ///< see rt::deviceHostBytes
  /// Of a device, that the smallest plan takes; 0: none was searched.
  uint64_t smallestBytes = 0;
  /// Of the file of offloaded values, 0: there is none; and the bytes that a
  /// batch of all rows writes to it, and reads.
  uint64_t offloadFileBytes = 0, offloadedBytes = 0;
  double estimatedSeconds = 0;     ///< of one batch, by the plan; 0: unknown
  double longestLaunchSeconds = 0; ///< of a launch, by the plan; 0: unknown

  /// Errors: Internal, naming the key; a user cannot cause one.
  static Result<ModuleConfig> parse(const char *json);
};

} // namespace hone::rt
