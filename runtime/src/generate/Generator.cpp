//===- Generator.cpp - A sequence that grows ------------------------------===//

#include "generate/Generator.h"

#include <algorithm>

namespace hone::rt {

Generator::Generator(const Module &module, const Weights &weights,
                     Device &device, DeviceMemory memory,
                     const hone_frame &frame)
    : module(module), device(device), arena(std::move(memory)),
      variables(module, weights, device, arena.address()),
      batch(module, device),
      step(module.schedule(HONE_GENERATE), device, frame),
      logits(countOf(module.schedule(HONE_GENERATE), "logits")) {
  sequence.reserve(size_t(capacity()));
}

Result<std::unique_ptr<Generator>> Generator::create(const Module &module,
                                                     const Weights &weights,
                                                     Device &device) {
  HONE_ASSIGN(DeviceMemory arena, device.allocate(module.abi().arena_bytes));
  HONE_ASSIGN(hone_frame loaded, device.load(module.abi(), weights.mapped()));
  hone_frame frame = loaded;
  frame.arena = frame.batch = frame.work = arena.address();
  frame.offsets = module.abi().offsets;
  return std::unique_ptr<Generator>(
      new Generator(module, weights, device, std::move(arena), frame));
}

void Generator::rewind(int64_t length) { sequence.resize(size_t(length)); }

void Generator::keepCommon(const std::vector<int32_t> &ids) {
  // The last one's logits are asked for.
  const size_t most = std::min(sequence.size(), ids.size() - 1);
  rewind(std::mismatch(ids.begin(), ids.begin() + ptrdiff_t(most),
                       sequence.begin())
             .first -
         ids.begin());
}

int64_t Generator::load(char *base) {
  batch.begin(base);
  batch.appendContinuation(piece.ids, piece.count, length());
  return batch.finish();
}

Status Generator::append(const int32_t *ids, int64_t count) {
  piece = {ids, count};
  HONE_TRY(step.run(*this));
  sequence.insert(sequence.end(), ids, ids + count);
  return device.wait();
}

int32_t Generator::sample(Sampler &sampler) {
  if (const double *exact = step.exactReports("logits"))
    return sampler.next(exact, uint64_t(length()));
  return sampler.next(step.reports("logits"), uint64_t(length()));
}

double Generator::logit(uint64_t token) {
  if (const double *exact = step.exactReports("logits"))
    return exact[token];
  return double(step.reports("logits")[token]);
}

} // namespace hone::rt
