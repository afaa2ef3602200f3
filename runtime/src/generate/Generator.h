//===- Generator.h - A sequence that grows --------------------------------===//
//
// Everything that decides the bits of logits: the arena with the caches, and
// the pieces of tokens that went in.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "generate/Sampler.h"
#include "module/Module.h"
#include "module/Weights.h"
#include "step/Batch.h"
#include "step/Interpreter.h"
#include "step/Trainables.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hone::rt {

class Generator : private BatchSource {
public:
  /// Allocates the arena on `device` and loads the module there. All three must
  /// outlive the generator. Errors: NoResources.
  static Result<std::unique_ptr<Generator>>
  create(const Module &module, const Weights &weights, Device &device);

  Trainables &trainables() { return variables; }

  /// Most tokens of the sequence.
  int64_t capacity() const { return module.config().generate.max_length; }
  /// Tokens that it has.
  int64_t length() const { return int64_t(sequence.size()); }
  /// Goes back to its first `length` tokens.
  void rewind(int64_t length);
  /// Goes back to where it is the beginning of `ids`, and before their last.
  void keepCommon(const std::vector<int32_t> &ids);

  /// Appends tokens, ids of the vocabulary, for which there is room, and at
  /// most as many as the module has rows. Errors: as Device::wait.
  Status append(const int32_t *ids, int64_t count);

  /// After append(): the next token, or -1 if the logits are not finite.
  int32_t sample(Sampler &sampler);
  /// After append(): how many logits there are, and one of them.
  uint64_t logitCount() const { return logits; }
  double logit(uint64_t token);

private:
  Generator(const Module &module, const Weights &weights, Device &device,
            DeviceMemory memory, const hone_frame &frame);
  int64_t load(char *base) override;

  const Module &module;
  Device &device;
  DeviceMemory arena;
  Trainables variables;
  Batch batch;
  Interpreter step;
  uint64_t logits;
  std::vector<int32_t> sequence;
  struct {
    const int32_t *ids = nullptr;
    int64_t count = 0;
  } piece;
};

} // namespace hone::rt
