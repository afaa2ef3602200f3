//===- Module.cpp - The generated half, checked ---------------------------===//
//
// The checks are for a honec and a runtime of different versions: they must
// end in a message, not in a step that writes beside its arena.
//
//===----------------------------------------------------------------------===//

#include "module/Module.h"

#include "base/Philox.h"
#include "module/Schedule.h"

#include <cstring>

namespace hone::rt {

static Status mismatch(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::OtherRuntime, "compiled module, " + place, problem,
                "compile the model again with the honec of this "
                "runtime");
}

/// Product of the dimensions, or 0 when one is negative or the product is
/// beyond 2^48.
static uint64_t elementsOf(const int64_t *shape, uint32_t rank) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    if (shape[i] < 0 || uint64_t(shape[i]) > (uint64_t(1) << 40))
      return 0;
    product *= uint64_t(shape[i]);
    if (product > (uint64_t(1) << 48))
      return 0;
  }
  return product;
}

/// The type of trained and remembered values; none for another one.
static std::optional<Dtype> dtypeOf(uint32_t dtype) {
  switch (dtype) {
  case HONE_F64:
    return Dtype::F64;
  case HONE_F32:
    return Dtype::F32;
  case HONE_BF16:
    return Dtype::BF16;
  case HONE_U8:
    return Dtype::U8;
  default:
    return std::nullopt;
  }
}

static uint64_t dtypeSize(uint32_t dtype) {
  return dtype == HONE_F64 ? 8 : dtype == HONE_BF16 ? 2 : 4;
}

static Status findSlot(const hone_module &module, const hone_slot *slots,
                       uint32_t count, bool mayLack, const char *name,
                       uint32_t dtype, uint64_t elements,
                       std::optional<uint64_t> &offset) {
  std::string place = std::string("slot '") + name + "'";
  for (uint32_t i = 0; i < count; ++i) {
    const hone_slot &slot = slots[i];
    if (strcmp(slot.name, name) != 0)
      continue;
    uint64_t found = elementsOf(slot.shape, slot.rank);
    if (slot.dtype != dtype || found != elements)
      return mismatch(place, "expects " + std::to_string(elements) +
                                 " elements of type " + std::to_string(dtype) +
                                 " but got " + std::to_string(found) +
                                 " of type " + std::to_string(slot.dtype));
    uint64_t bytes = elements * dtypeSize(dtype);
    if (slot.offset % dtypeSize(dtype) != 0 ||
        slot.offset > module.arena_bytes ||
        bytes > module.arena_bytes - slot.offset)
      return mismatch(place, "expects an aligned place in the arena of " +
                                 std::to_string(module.arena_bytes) +
                                 " bytes but got offset " +
                                 std::to_string(slot.offset));
    offset = slot.offset;
    return Status::ok();
  }
  return mayLack ? Status::ok()
                 : mismatch(place, "expects the slot but got none");
}

/// `isPart`: it need not read all inputs.
static Status findSlots(const hone_module &m, bool isPart, bool generates,
                        Module::Slots &slots) {
  const std::pair<const char *, std::optional<uint64_t> *> inputs[] = {
      {"input_ids", &slots.inputIds},
      {"targets", &slots.targets},
      {"sequence_starts", &slots.sequenceStarts}};
  for (auto [name, offset] : inputs) {
    bool mayLack = isPart || (generates && offset != &slots.inputIds);
    HONE_TRY(findSlot(m, m.inputs, m.input_count, mayLack, name, HONE_I32,
                      uint64_t(m.max_rows), *offset));
  }
  return findSlot(m, m.inputs, m.input_count, /*mayLack=*/true, "random_key",
                  HONE_I32, RandomStream::keyWords, slots.randomKey);
}

static Status findSchedules(const hone_module &m,
                            const hone_schedule **schedules) {
  static const char *const names[] = {"train",    "evaluate", "differentiate",
                                      "validate", "replay",   "compare",
                                      "generate"};
  bool generates = false;
  for (uint32_t i = 0; i < m.schedule_count; ++i)
    generates |= m.schedules[i].purpose == HONE_GENERATE;
  for (uint32_t purpose = 0; purpose <= HONE_GENERATE; ++purpose) {
    std::string place = std::string("schedule '") + names[purpose] + "'";
    for (uint32_t i = 0; i < m.schedule_count; ++i)
      if (m.schedules[i].purpose == purpose)
        schedules[purpose] = &m.schedules[i];
    bool isNeeded =
        generates ? purpose == HONE_GENERATE : purpose < HONE_REPLAY;
    if (!schedules[purpose] && !isNeeded)
      continue;
    if (!schedules[purpose])
      return mismatch(place, "expects the schedule but got none");
    std::string problem = problemOf(*schedules[purpose], m.arena_bytes);
    if (!problem.empty())
      return mismatch(place, problem);
  }
  return Status::ok();
}

static Status checkTrainables(const Module &module) {
  const hone_module &m = module.abi();
  struct Region {
    std::string name;
    uint64_t offset, bytes, limit;
  };
  std::vector<Region> regions = {
      {"theta", m.theta_offset, module.thetaBytes(), m.arena_bytes},
      {"gradient", m.gradient_offset,
       module.generates() ? 0 : module.vectorBytes(),
       module.arenaBytes({/*withGradients=*/true})},
      {"comparison", module.comparisonOffset(),
       module.compares() ? module.vectorBytes() : 0, m.arena_bytes},
  };
  for (uint32_t i = 0; i < m.state_count; ++i) {
    const hone_slot &state = m.states[i];
    if (state.rank != 1 || !dtypeOf(state.dtype) ||
        elementsOf(state.shape, state.rank) == 0)
      return mismatch(std::string("state '") + state.name + "'",
                      "expects a vector of numbers");
  }
  for (const Module::State &state : module.states())
    regions.push_back({"state '" + state.name + "'", state.offset,
                       state.bytes(), m.arena_bytes});
  for (const Region &region : regions)
    if (region.bytes != 0 &&
        (region.offset % 8 != 0 || region.offset > region.limit ||
         region.bytes > region.limit - region.offset))
      return mismatch(region.name, "expects an aligned place in the arena but "
                                   "got offset " +
                                       std::to_string(region.offset));
  for (uint32_t i = 0; i < m.trainable_count; ++i) {
    const hone_trainable &t = m.trainables[i];
    uint64_t elements = elementsOf(t.shape, t.rank);
    if (elements == 0 || t.rank == 0 || t.offset > m.trainable_elements ||
        elements > m.trainable_elements - t.offset)
      return mismatch(std::string("trainable '") + t.name + "'",
                      "expects a slice of the " +
                          std::to_string(m.trainable_elements) +
                          " parameters but got " + std::to_string(elements) +
                          " at " + std::to_string(t.offset));
  }
  return Status::ok();
}

Dtype Module::trainableDtype() const {
  return *dtypeOf(compiled->trainable_dtype);
}

Dtype Module::gradientDtype() const {
  Dtype dtype = trainableDtype();
  return dtype == Dtype::BF16 ? Dtype::F32 : dtype;
}

uint64_t Module::thetaBytes() const {
  return compiled->trainable_elements * dtypeBytes(trainableDtype());
}

uint64_t Module::vectorBytes() const {
  return compiled->trainable_elements * dtypeBytes(gradientDtype());
}

std::vector<Module::State> Module::states() const {
  std::vector<State> states;
  for (uint32_t i = 0; i < compiled->state_count; ++i) {
    const hone_slot &state = compiled->states[i];
    states.push_back({state.name, *dtypeOf(state.dtype),
                      static_cast<uint64_t>(state.shape[0]), state.offset});
  }
  return states;
}

uint64_t Module::arenaBytes(Extent extent) const {
  uint64_t bytes = compiled->arena_bytes;
  if (extent.withGradients)
    bytes = std::max(bytes, compiled->gradient_end);
  if (extent.accumulates)
    bytes = std::max(bytes, compiled->accumulation_end);
  return bytes;
}

uint64_t Module::trainableShapeElements(const hone_trainable &t) const {
  return elementsOf(t.shape, t.rank);
}

Result<Module> Module::open(const hone_module &compiled) {
  // Nothing else may be read unless these two agree.
  if (compiled.abi_version != HONE_ABI_VERSION ||
      compiled.struct_size != sizeof(hone_module))
    return mismatch("ABI", "expects version " +
                               std::to_string(HONE_ABI_VERSION) + " of " +
                               std::to_string(sizeof(hone_module)) +
                               " bytes but got version " +
                               std::to_string(compiled.abi_version) + " of " +
                               std::to_string(compiled.struct_size));
  Module module;
  module.compiled = &compiled;
  HONE_ASSIGN(module.parsed, ModuleConfig::parse(compiled.config));

  std::string missing = missingCpuFeature(module.parsed.target.features);
  if (!missing.empty())
    return Status(
        ErrorCode::OtherProcessor, "this CPU",
        "the program was compiled for '" + module.parsed.target.cpu +
            "' and needs " + missing + ", which this CPU does not have",
        "compile again with target: native on this machine, or with an older "
        "CPU as the target");

  if (compiled.max_rows < 1 || compiled.max_rows > (int64_t(1) << 31) ||
      compiled.state_count > 16 || compiled.thread_bytes % 64 != 0 ||
      (compiled.trainable_dtype != HONE_F32 &&
       compiled.trainable_dtype != HONE_F64 &&
       compiled.trainable_dtype != HONE_BF16) ||
      compiled.trainable_elements > (uint64_t(1) << 40))
    return mismatch("header", "expects sizes and types in range");
  std::string problem = problemOfPlacements(compiled);
  if (!problem.empty())
    return mismatch("placements", problem);
  module.mostRows = compiled.max_rows;
  HONE_TRY(module.check());
  const TrainSettings &train = module.parsed.train;
  int64_t rows = compiled.max_rows;
  if (module.generates() ? module.parsed.generate.max_length < rows
                         : train.batch_size < 1 || train.max_seq_length < 2 ||
                               train.max_seq_length > rows ||
                               train.batch_size > rows / train.max_seq_length)
    return mismatch("rows", "expects room for batch_size " +
                                std::to_string(train.batch_size) +
                                " times max_seq_length " +
                                std::to_string(train.max_seq_length) +
                                " rows but got " + std::to_string(rows));
  if (module.compares() != module.parsed.compares())
    return mismatch("schedule 'compare'",
                    "expects it where the spec compares a method");
  bool isPart = !module.generates() && peerOf(module.schedule(HONE_TRAIN));
  HONE_TRY(findSlots(compiled, isPart, module.generates(), module.slots));
  for (uint32_t i = 0; i < compiled.placement_count; ++i) {
    Module other = module;
    other.use(std::make_shared<const PlacedModule>(compiled, i));
    HONE_TRY(other.check());
    HONE_TRY(checkTrainables(other));
  }
  HONE_TRY(checkTrainables(module));
  return module;
}

Status Module::check() {
  const hone_module &m = *compiled;
  if (m.arena_bytes > (uint64_t(1) << 46) ||
      m.accumulation_end < m.arena_bytes ||
      m.accumulation_end > (uint64_t(1) << 46) ||
      m.gradient_end < m.arena_bytes || m.gradient_end > (uint64_t(1) << 46))
    return mismatch("header", "expects sizes in range");
  return findSchedules(m, schedules);
}

void Module::use(std::shared_ptr<const PlacedModule> chosen) {
  placed = std::move(chosen);
  for (const hone_schedule *&schedule : schedules)
    if (schedule)
      schedule = placed->module().schedules + (schedule - compiled->schedules);
  compiled = &placed->module();
}

void Module::place(int64_t rows) {
  const uint32_t number = choosePlacement(*compiled, rows);
  if (number == compiled->placement_count)
    return;
  use(std::make_shared<const PlacedModule>(*compiled, number));
  parsed.processBytes += placed->bytes();
  if (number < parsed.fewer.size())
    parsed.planClasses = parsed.fewer[number];
  const double part = double(compiled->max_rows) / double(mostRows);
  parsed.estimatedSeconds *= part;
  parsed.longestLaunchSeconds *= part;
}

} // namespace hone::rt
