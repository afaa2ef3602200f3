//===- ModuleDescription.h - What a compiled module says about itself -----===//
//
// The compiler's side of `hone_module` in runtime.h, field by field, without
// pointers. Offsets and sizes come from the plan; nothing here is computed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_MODULEDESCRIPTION_H
#define HONE_TARGETS_MODULEDESCRIPTION_H

#include "runtime/include/hone/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct EntryDescription {
  std::string name;   ///< "loss", "gradient", "update"
  std::string symbol; ///< the function of type hone_entry_fn
};

struct SlotDescription {
  std::string name;
  hone_dtype dtype = HONE_F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< bytes from the start of the arena
};

struct WeightDescription {
  std::string name; ///< Hugging Face tensor name
  hone_dtype dtype = HONE_F32;
  std::vector<int64_t> shape;
};

struct TrainableDescription {
  std::string name; ///< Hugging Face parameter name
  hone_init init = HONE_INIT_ZERO;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< elements from the start of theta
};

struct ModuleDescription {
  std::string config; ///< JSON, see hone_module::config
  int64_t maxRows = 0;
  uint64_t arenaBytes = 0;
  uint64_t threadBytes = 0; ///< private scratch of each thread
  hone_optimizer optimizer = HONE_SGD;
  hone_dtype trainableDtype = HONE_F32;
  uint64_t trainableElements = 0;
  uint64_t thetaOffset = 0, gradientOffset = 0, stateOffset = 0; ///< bytes
  std::vector<EntryDescription> entries;
  std::vector<SlotDescription> inputs, outputs;
  std::vector<WeightDescription> weights;
  std::vector<TrainableDescription> trainables;
  std::string weightDigests;    ///< see hone_module; empty without a file
  uint64_t weightFileBytes = 0; ///< 0 without a file
};

} // namespace hone

#endif // HONE_TARGETS_MODULEDESCRIPTION_H
