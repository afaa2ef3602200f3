//===- KernelTimes.cpp - Times of a program's launches --------------------===//

#include "compiler/simulate/KernelTimes.h"

#include "formats/JsonFile.h"

#include <algorithm>

namespace hone::simulate {

static constexpr const char *kRemedy =
    "give a file that train --profile of this release wrote, of the program "
    "that the same spec makes";

/// Seconds or counts of a run of thirty years. More is no measurement, and sums
/// of it would have no end.
constexpr double kMost = 1e9;

/// The member `key`, from 0 to kMost.
static Result<double> numberOf(const std::string &path, const rt::Json &object,
                               const char *key) {
  const rt::Json *found = object.find(key);
  if (!found || !found->isNumber() || found->number() < 0 ||
      found->number() > kMost)
    return rt::badJson(ErrorCode::BadJson, path, found ? found : &object,
                       std::string("expects \"") + key +
                           "\", a number from 0 to 1e9",
                       kRemedy);
  return found->number();
}

/// One row of a profile, which must be of `kernel`.
static Result<double> launchSeconds(const std::string &path,
                                    const rt::Json &row,
                                    const hone_kernel &kernel,
                                    double &measured) {
  if (!row.has("block", kernel.block) || !row.has("kernel", kernel.name))
    return rt::badJson(ErrorCode::OptionsDisagree, path, &row,
                       "expects the kernel '" + std::string(kernel.block) +
                           ": " + kernel.name + "', as the spec's program has",
                       kRemedy);
  HONE_ASSIGN(const double calls, numberOf(path, row, "calls"));
  HONE_ASSIGN(const double seconds, numberOf(path, row, "seconds"));
  measured += seconds;
  return calls >= 1 ? seconds / calls : -1;
}

Result<Profile> Profile::read(const std::string &path) {
  Profile profile;
  profile.path = path;
  HONE_ASSIGN(profile.root, rt::readJsonFile(path));
  HONE_ASSIGN(profile.steps, numberOf(path, profile.root, "steps"));
  HONE_ASSIGN(const double total, numberOf(path, profile.root, "seconds"));
  HONE_ASSIGN(const double waited, numberOf(path, profile.root, "waited"));
  profile.computed = total - waited;
  return std::move(profile);
}

Result<KernelTimes> Profile::timesOf(const hone_module &module) const {
  const rt::Json *kernels = root.find("kernels");
  if (!kernels || !kernels->isArray() ||
      kernels->array().size() != module.kernel_count)
    return rt::badJson(ErrorCode::OptionsDisagree, path, kernels,
                       "expects the " + std::to_string(module.kernel_count) +
                           " kernels of the spec's program in \"kernels\"",
                       kRemedy);
  KernelTimes times;
  double measured = 0;
  for (uint32_t i = 0; i < module.kernel_count; ++i) {
    HONE_ASSIGN(const double each, launchSeconds(path, kernels->array()[i],
                                                 module.kernels[i], measured));
    times.seconds.push_back(each);
  }
  if (steps >= 1)
    times.stepSeconds = std::max(0.0, computed - measured) / steps;
  return times;
}

KernelTimes estimatedTimes(const std::map<std::string, double> &blocks,
                           const hone_module &module,
                           const std::vector<uint64_t> &launches) {
  std::map<std::string, uint64_t> shares;
  for (uint32_t i = 0; i < module.kernel_count; ++i)
    shares[module.kernels[i].block] += launches[i];
  KernelTimes times;
  for (uint32_t i = 0; i < module.kernel_count; ++i) {
    const auto block = blocks.find(module.kernels[i].block);
    const uint64_t share = shares[module.kernels[i].block];
    times.seconds.push_back(block == blocks.end() || share == 0
                                ? 0
                                : block->second / double(share));
  }
  return times;
}

} // namespace hone::simulate
