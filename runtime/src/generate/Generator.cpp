//===- Generator.cpp - A sequence that grows ------------------------------===//

#include "generate/Generator.h"

#include "step/Batch.h"

namespace hone::rt {

Generator::Generator(const Module &module, const Weights &weights,
                     Device &device, DeviceMemory memory,
                     const hone_frame &frame)
    : module(module), device(device), arena(std::move(memory)),
      variables(module, weights, device, arena.address()),
      step(module.schedule(HONE_GENERATE), device, frame),
      logits(countOf(module.schedule(HONE_GENERATE), "logits")) {}

Result<std::unique_ptr<Generator>> Generator::create(const Module &module,
                                                     const Weights &weights,
                                                     Device &device) {
  Result<DeviceMemory> arena = device.allocate(module.abi().arena_bytes);
  if (!arena.isOk())
    return arena.status();
  Result<hone_frame> loaded = device.load(module.abi(), weights.mapped());
  if (!loaded.isOk())
    return loaded.status();
  hone_frame frame = loaded.value();
  frame.arena = frame.batch = frame.work = arena.value().address();
  return std::unique_ptr<Generator>(
      new Generator(module, weights, device, std::move(arena.value()), frame));
}

int64_t Generator::load(char *base) {
  Batch batch(module, device, base);
  batch.appendContinuation(piece.ids, piece.count, past);
  return batch.rows();
}

Status Generator::append(const int32_t *ids, int64_t count) {
  piece = {ids, count};
  step.run(*this);
  past += count;
  return device.wait();
}

int32_t Generator::sample(Sampler &sampler) {
  if (const double *exact = step.exactReports("logits"))
    return sampler.next(exact, uint64_t(past));
  return sampler.next(step.reports("logits"), uint64_t(past));
}

double Generator::logit(uint64_t token) {
  if (const double *exact = step.exactReports("logits"))
    return exact[token];
  return double(step.reports("logits")[token]);
}

} // namespace hone::rt
