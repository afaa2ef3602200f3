//===- Weights.cpp - The model's tensors, mapped --------------------------===//
//
// A weights file of another model with the same shapes would train happily and
// wrongly; the source hash catches it.
//
//===----------------------------------------------------------------------===//

#include "module/Weights.h"

#include "platform/System.h"

#include <set>

namespace hone::rt {

static Dtype fileDtype(uint32_t dtype) {
  switch (dtype) {
  case HONE_F64:
    return Dtype::F64;
  case HONE_I32:
    return Dtype::I32;
  case HONE_BF16:
    return Dtype::BF16;
  case HONE_U8:
    return Dtype::U8;
  default:
    return Dtype::F32;
  }
}

static Status misfit(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::OtherWeights, place, problem,
                std::string("use the ") + Weights::fileName +
                    " that honec wrote together with this program");
}

static Status checkMetadata(const SafetensorsFile &file, const char *key,
                            const std::string &expected) {
  const std::string *found = file.findMetadata(key);
  if (found && *found == expected)
    return Status::ok();
  return misfit(file.path() + ": __metadata__." + key,
                "expects '" + expected + "' but got " +
                    (found ? "'" + *found + "'" : "nothing"));
}

static Status bind(const SafetensorsFile &file, const hone_weight &weight,
                   const void *&address) {
  std::string place = file.path() + ": tensor '" + weight.name + "'";
  const TensorInfo *found = file.find(weight.name);
  if (!found)
    return misfit(place, "expects the tensor but got none");
  TensorSpec wanted{weight.name,
                    fileDtype(weight.dtype),
                    {weight.shape, weight.shape + weight.rank}};
  if (found->dtype != wanted.dtype || found->shape != wanted.shape)
    return misfit(place, std::string("expects ") + dtypeName(wanted.dtype) +
                             " " + describeShape(wanted.shape) + " but got " +
                             dtypeName(found->dtype) + " " +
                             describeShape(found->shape));
  address = file.data(*found);
  if (reinterpret_cast<uintptr_t>(address) % dtypeBytes(wanted.dtype) != 0)
    return misfit(place,
                  "expects bytes aligned for their type but got offset " +
                      std::to_string(found->begin));
  return Status::ok();
}

/// The block of the model's files, which have each trainable parameter.
static Result<ModelLayout> readLayout(const SafetensorsFile &file,
                                      const hone_module &module) {
  std::string place =
      file.path() + ": tensor '" + ModelLayout::tensorName + "'";
  const TensorInfo *block = file.find(ModelLayout::tensorName);
  if (!block)
    return misfit(place, "expects the tensor but got none");
  Result<ModelLayout> layout =
      ModelLayout::parse({file.data(*block), block->bytes()}, place);
  HONE_TRY(layout);
  std::set<std::string_view> trained, listed;
  for (uint32_t i = 0; i < module.trainable_count; ++i)
    trained.insert(module.trainables[i].name);
  for (const ModelLayout::Shard &shard : layout.value().shards)
    for (const ModelLayout::Tensor &tensor : shard.tensors)
      listed.insert(tensor.parameter);
  if (trained != listed)
    return misfit(place, "expects the parameters that train but got others");
  for (const std::string &name : layout.value().files)
    if (!file.find(ModelLayout::filePrefix + name))
      return misfit(place, "expects a copy of " + name + " but got none");
  return layout;
}

Result<Weights> Weights::open(const std::string &path, const Module &module) {
  // The plan has the memory of the file's header and the program's tables.
  Weights weights;
  HONE_ASSIGN(weights.opened,
              SafetensorsFile::open(
                  path, HeaderLimit::ample(module.config().tableBytes),
                  weights.handle.get()));
  const SafetensorsFile &mapped = weights.opened;
  const std::pair<const char *, std::string> metadata[] = {
      {"format", "hone"},
      {"layout", module.config().weightsLayout},
      {"source_hash", module.config().weightsSourceHash}};
  for (const auto &[key, expected] : metadata)
    HONE_TRY(checkMetadata(mapped, key, expected));
  const hone_module &abi = module.abi();
  weights.addresses.resize(abi.weight_count);
  for (uint32_t i = 0; i < abi.weight_count; ++i) {
    HONE_TRY(bind(mapped, abi.weights[i], weights.addresses[i]));
  }
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    const hone_trainable &t = abi.trainables[i];
    const void *start;
    if (t.init != HONE_INIT_PRETRAINED)
      continue;
    HONE_TRY(
        bind(mapped, {t.name, abi.trainable_dtype, t.rank, t.shape}, start));
  }
  // A program that generates text writes no model.
  if (!module.config().lora.none || module.abi().trainable_count == 0)
    return weights;
  HONE_ASSIGN(weights.ofModel, readLayout(mapped, abi));
  return weights;
}

std::string defaultWeightsPath() {
  std::string path = platform::programPath();
  return path.substr(0, path.rfind('/') + 1) + Weights::fileName;
}

} // namespace hone::rt
