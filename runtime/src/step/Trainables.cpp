//===- Trainables.cpp - Theta, its gradient and the optimizer's state -----===//
//
// The element type is a property of the module: test-precision modules train
// doubles, small ones keep theta as bfloat16.
//
//===----------------------------------------------------------------------===//

#include "step/Trainables.h"

#include "base/Philox.h"
#include "base/Sha256.h"
#include "formats/Adapter.h"
#include "step/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace hone::rt {

Trainables::Trainables(const Module &module, const Weights &weights,
                       Device &device, char *arena)
    : module(module), weights(weights),
      theta(device, arena + module.abi().theta_offset),
      gradient(device, arena + module.abi().gradient_offset),
      compared(device, arena + module.comparisonOffset()) {
  for (const Module::State &state : module.states())
    states.push_back({state, MemoryView(device, arena + state.offset)});
  if (module.generates())
    return;
  const hone_schedule &step = module.schedule(HONE_TRAIN);
  for (uint32_t i = 0; i < step.setting_count; ++i) {
    constexpr std::string_view prefix = "before.";
    const char *name = step.settings[i].name;
    if (std::string_view(name).substr(0, prefix.size()) == prefix)
      memory.push_back({name, name + prefix.size(),
                        std::vector<float>(countOf(step, name))});
  }
}

MemoryView Trainables::inTheta(const hone_trainable &t) const {
  return theta + t.offset * dtypeBytes(module.trainableDtype());
}

static void fillUniform(Dtype dtype, MemoryView tensor, uint64_t elements,
                        double bound, const RandomStream &stream) {
  const uint64_t width = dtypeBytes(dtype);
  uint64_t i = 0;
  tensor.write(elements * width, [&](char *out, uint64_t size) {
    for (char *end = out + size; out < end; out += width) {
      double value = (2.0 * stream.uniform(i++) - 1.0) * bound;
      convertElements(Dtype::F64, &value, dtype, out, 1);
    }
  });
}

/// Theta and the state.
void Trainables::zero() {
  auto clear = [](char *part, uint64_t size) { memset(part, 0, size); };
  theta.write(module.thetaBytes(), clear);
  for (Remembers &own : states)
    own.data.write(own.state.bytes(), clear);
  for (Remembered &own : memory)
    std::fill(own.values.begin(), own.values.end(), 0.0f);
}

void Trainables::initialize(uint64_t seed) {
  const hone_module &abi = module.abi();
  zero();
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    const hone_trainable &t = abi.trainables[i];
    if (t.init == HONE_INIT_PRETRAINED) // the weights file is turned already
      readTensor(weights.file(), *weights.file().find(t.name),
                 {t.name,
                  {t.shape, t.shape + t.rank},
                  module.trainableDtype(),
                  inTheta(t)});
    if (t.init != HONE_INIT_KAIMING_UNIFORM)
      continue;
    RandomStream stream(seed, 0, RandomPurpose::Initialize, t.name);
    double bound = 1.0 / std::sqrt(double(t.shape[t.rank - 1]));
    uint64_t elements = module.trainableShapeElements(t);
    fillUniform(module.trainableDtype(), inTheta(t), elements, bound, stream);
  }
}

std::string Trainables::adapterName(const hone_trainable &t) const {
  constexpr std::string_view bias = ".bias";
  std::string name = t.name;
  if (t.init != HONE_INIT_PRETRAINED || name.size() <= bias.size() ||
      name.compare(name.size() - bias.size(), bias.size(), bias) != 0)
    return name;
  // A module with an adapter is inside of one of PEFT's.
  std::string path = name.substr(0, name.size() - bias.size());
  const hone_module &abi = module.abi();
  for (uint32_t i = 0; i < abi.trainable_count; ++i)
    if (abi.trainables[i].name == path + ".lora_A.weight")
      return path + ".base_layer.bias";
  return name;
}

std::vector<TensorMemory> Trainables::inFiles() const {
  const hone_module &abi = module.abi();
  std::vector<TensorMemory> tensors;
  tensors.reserve(abi.trainable_count);
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    const hone_trainable &t = abi.trainables[i];
    tensors.push_back({weights.layout() ? t.name : adapterName(t),
                       {t.shape, t.shape + t.rank},
                       module.trainableDtype(),
                       inTheta(t),
                       t.transposed != 0});
  }
  return tensors;
}

Status Trainables::load(const std::string &directory, AdapterUse use) {
  const std::vector<TensorMemory> targets = inFiles();
  zero();
  return weights.layout()
             ? readModel(directory, *weights.layout(), targets)
             : readAdapter(directory, module.config().adapter, targets, use);
}

Result<std::string> Trainables::digest() const {
  Sha256 hash;
  Status status =
      theta.read(module.thetaBytes(), [&](const char *part, uint64_t size) {
        hash.update(part, size);
        return Status::ok();
      });
  return status.isOk() ? Result<std::string>(hash.finishHex()) : status;
}

Status Trainables::save(const std::string &directory) const {
  const std::vector<TensorMemory> tensors = inFiles();
  return weights.layout()
             ? writeModel(directory, *weights.layout(), tensors, weights.file())
             : writeAdapter(directory, module.config().adapter, tensors);
}

Status Trainables::dumpGradients(const std::string &path,
                                 const SafetensorsMetadata &metadata) const {
  const hone_module &abi = module.abi();
  const Dtype dtype = module.gradientDtype();
  const std::string prefix(weights.layout() ? "" : peftPrefix);
  std::vector<TensorMemory> tensors = inFiles();
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    TensorMemory &tensor = tensors[i];
    tensor.name = prefix + tensor.name;
    tensor.dtype = dtype;
    tensor.data = gradient + abi.trainables[i].offset * dtypeBytes(dtype);
    specs.push_back({tensor.name, dtype, tensor.fileShape()});
  }
  HONE_ASSIGN(SafetensorsWriter writer,
              SafetensorsWriter::create(path, std::move(specs), metadata));
  for (const TensorInfo &info : writer.tensors())
    for (const TensorMemory &tensor : tensors) {
      if (info.name != tensor.name)
        continue;
      HONE_TRY(writeTensor(writer, tensor));
    }
  return writer.commit();
}

Status Trainables::compareGradients(GradientComparison &out) const {
  const hone_module &abi = module.abi();
  const Dtype dtype = module.gradientDtype();
  const uint64_t width = dtypeBytes(dtype);
  out.clear();
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    const hone_trainable &t = abi.trainables[i];
    uint64_t at = t.offset * width;
    // A part of one is, at its place, a part of the other.
    HONE_TRY((compared + at)
                 .read(module.trainableShapeElements(t) * width,
                       [&](const char *own, uint64_t bytes) {
                         MemoryView reference = gradient + at;
                         at += bytes;
                         return reference.read(
                             bytes, [&](const char *part, uint64_t) {
                               out.add(i, dtype, own, part, bytes / width);
                               return Status::ok();
                             });
                       }));
  }
  out.finish();
  return Status::ok();
}

std::vector<CheckpointVector> Trainables::checkpointVectors() {
  std::vector<CheckpointVector> vectors;
  for (CheckpointTarget &target : checkpointTargets())
    vectors.push_back(
        {target.name, target.dtype, target.elements, target.data});
  return vectors;
}

std::vector<CheckpointTarget> Trainables::checkpointTargets() {
  std::vector<CheckpointTarget> targets{{"theta", module.trainableDtype(),
                                         module.abi().trainable_elements,
                                         theta}};
  for (Remembers &own : states)
    targets.push_back(
        {own.state.name, own.state.dtype, own.state.elements, own.data});
  for (Remembered &own : memory)
    targets.push_back({own.setting, Dtype::F32, own.values.size(),
                       MemoryView(own.values.data())});
  return targets;
}

} // namespace hone::rt
