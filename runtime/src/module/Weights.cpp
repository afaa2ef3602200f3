//===- Weights.cpp - The frozen tensors, mapped ---------------------------===//
//
// A weights file of another model with the same shapes would train happily and
// wrongly; the source hash is what catches it.
//
//===----------------------------------------------------------------------===//

#include "module/Weights.h"

#include "module/Streaming.h"
#include "platform/System.h"

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
  return Status::error(ErrorCode::OtherWeights,
                       {place, problem,
                        std::string("use the ") + Weights::fileName +
                            " that honec wrote together with this program"});
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

Result<Weights> Weights::open(const std::string &path, const Module &module) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.isOk())
    return file.status();
  Weights weights;
  weights.mapped = std::move(file.value());
  const SafetensorsFile &mapped = weights.mapped;
  const std::pair<const char *, std::string> metadata[] = {
      {"format", "hone"},
      {"layout", module.config().weightsLayout},
      {"source_hash", module.config().weightsSourceHash}};
  for (const auto &[key, expected] : metadata)
    if (Status status = checkMetadata(mapped, key, expected); !status.isOk())
      return status;
  setStreamedMapping(mapped.bytes());
  const hone_module &abi = module.abi();
  weights.addresses.resize(abi.weight_count);
  for (uint32_t i = 0; i < abi.weight_count; ++i) {
    Status status = bind(mapped, abi.weights[i], weights.addresses[i]);
    if (!status.isOk())
      return status;
  }
  return weights;
}

std::string defaultWeightsPath() {
  std::string path = platform::programPath();
  return path.substr(0, path.rfind('/') + 1) + Weights::fileName;
}

} // namespace hone::rt
