//===- ModuleDescription.h - A compiled module's description of itself ----===//
//
// The compiler's side of `hone_module` in runtime.h, field by field, without
// pointers. Offsets and sizes come from the plan; nothing here is computed.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "runtime/include/hone/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// hone_item; functions by symbol, empty for none.
struct ItemDescription {
  hone_item_kind kind = HONE_RUN;
  uint32_t stage = 0;
  std::string run, otherwise;
  uint32_t condition = HONE_NO_VALUE, batch = HONE_NO_VALUE;
  uint64_t work = 0;
  uint32_t place = HONE_NO_PLACE; ///< of `work`
  std::vector<uint32_t> values;
  uint32_t carried = 0, body = 0, stages = 1;
  std::string peer, channel, problem; ///< empty for none
  std::vector<uint8_t> sides;         ///< empty: all are on the device
  std::vector<hone_piece> pieces;     ///< empty: no batch travels
  uint32_t behind = 0;
};

struct NumberDescription {
  std::string name;
  hone_dtype dtype = HONE_F64;
  uint32_t value = 0;
};

struct ScheduleDescription {
  hone_purpose purpose = HONE_TRAIN;
  std::vector<ItemDescription> items;
  std::vector<hone_value> values;
  std::vector<NumberDescription> settings, reports;
  uint32_t batchSlots = 1;
};

struct SlotDescription {
  std::string name;
  hone_dtype dtype = HONE_F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< bytes from hone_frame::batch
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
  uint64_t offset = 0;     ///< elements from the start of theta
  bool transposed = false; ///< in the model's files
  uint32_t layer = HONE_NO_LAYER;
};

struct KernelDescription {
  std::string task;   ///< of a CPU, by symbol; empty on devices
  std::string symbol; ///< in the device's text; empty on CPUs
  std::string block, name;
  uint32_t threads = 0, sharedBytes = 0; ///< see hone_kernel
  std::vector<hone_field> fields;
};

/// hone_placement.
struct PlacementDescription {
  int64_t rows = 0;
  std::vector<uint32_t> offsets;
  uint64_t arenaBytes = 0, accumulationEnd = 0;
  uint64_t gradientOffset = 0, gradientEnd = 0;
};

struct ModuleDescription {
  /// The name of the constant that points to all of it.
  std::string symbol = "hone_compiled_module";
  std::string config; ///< JSON, see hone_module::config
  int64_t maxRows = 0;
  uint64_t arenaBytes = 0;
  uint64_t accumulationEnd = 0; ///< see hone_module
  uint64_t threadBytes = 0;     ///< private scratch of each thread
  hone_dtype trainableDtype = HONE_F32;
  uint64_t trainableElements = 0;
  uint64_t thetaOffset = 0, gradientOffset = 0; ///< bytes
  uint64_t gradientEnd = 0;                     ///< see hone_module
  std::vector<ScheduleDescription> schedules;
  std::vector<SlotDescription> inputs;
  std::vector<SlotDescription> states; ///< see hone_module
  std::vector<WeightDescription> weights;
  std::vector<TrainableDescription> trainables;
  std::string weightDigests;    ///< see hone_module; empty without a file
  uint64_t weightFileBytes = 0; ///< 0 without a file
  /// hone_module::device_target and device_code; empty on CPUs.
  std::string deviceTarget, deviceCode;
  /// The placement for maxRows, whose other numbers are the module's.
  std::vector<uint32_t> offsets;
  std::vector<PlacementDescription> placements; ///< for fewer rows
  /// Of the lowered module, see `tile.kernels`; its emitter fills them in, and
  /// the items' sides.
  std::vector<KernelDescription> kernels;
};

} // namespace hone
