//===- CudaArchitecture.cpp - Features of NVIDIA's GPUs -------------------===//

#include "targets/cuda/CudaArchitecture.h"

#include "llvm/ADT/STLExtras.h"

using namespace hone;

static constexpr int64_t kKiB = 1024;

/// Half of the operations of float32 and bfloat16 and of the bytes that a data
/// sheet has for a second: no kernel reaches them. Filling shared memory is
/// part of a product.
static constexpr MachineProfile profileOf(double flops, double bfloat16Flops,
                                          double bytes) {
  constexpr double fills = 1e18, launchSeconds = 2.5e-6;
  return {flops / 2,
          bfloat16Flops / 2,
          flops / 2,
          bytes / 2,
          fills,
          launchSeconds,
          /*rowProductsAlike=*/true};
}

static constexpr CudaArchitecture kArchitectures[] = {
    // T4, A100, H100.
    {"sm_75", 63, 64 * kKiB, 64 * kKiB, false, false, false, false,
     profileOf(8.1e12, 8.1e12, 3.2e11)},
    {"sm_80", 70, 99 * kKiB, 163 * kKiB, true, true, false, true,
     profileOf(1.95e13, 3.12e14, 2.0e12)},
    {"sm_90", 78, 99 * kKiB, 227 * kKiB, true, true, false, false,
     profileOf(6.7e13, 9.89e14, 3.35e12)},
    {"sm_90a", 80, 227 * kKiB, 227 * kKiB, true, true, true, false,
     profileOf(6.7e13, 9.89e14, 3.35e12)},
};

const CudaArchitecture *hone::findCudaArchitecture(llvm::StringRef name) {
  auto found =
      llvm::find_if(kArchitectures, [&](const CudaArchitecture &known) {
        return known.name == name;
      });
  return found == std::end(kArchitectures) ? nullptr : found;
}

const CudaArchitecture *hone::newestCudaArchitectureFor(llvm::StringRef name) {
  // Programs for one with a letter, such as sm_90a, run on no other.
  auto numberOf = [](llvm::StringRef each) -> unsigned {
    unsigned number = 0;
    bool isNumber = each.consume_front("sm_") && !each.getAsInteger(10, number);
    return isNumber ? number : 0;
  };
  name = name.rtrim("af");
  const CudaArchitecture *newest = nullptr;
  for (const CudaArchitecture &known : kArchitectures)
    if (unsigned number = numberOf(known.name);
        number && number <= numberOf(name))
      newest = &known;
  return newest;
}

std::string hone::knownCudaArchitectures() {
  std::string names;
  for (const CudaArchitecture &known : kArchitectures)
    names += (names.empty() ? "" : ", ") + known.name.str();
  return names;
}
