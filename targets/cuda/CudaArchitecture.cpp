//===- CudaArchitecture.cpp - What an NVIDIA GPU can do -------------------===//

#include "targets/cuda/CudaArchitecture.h"

#include "llvm/ADT/STLExtras.h"

using namespace hone;

static constexpr int64_t kKiB = 1024;

static constexpr CudaArchitecture kArchitectures[] = {
    {"sm_75", 63, 64 * kKiB, false},
    {"sm_80", 70, 163 * kKiB, true},
    {"sm_90", 78, 227 * kKiB, true},
};

const CudaArchitecture *hone::findCudaArchitecture(llvm::StringRef name) {
  auto found =
      llvm::find_if(kArchitectures, [&](const CudaArchitecture &known) {
        return known.name == name;
      });
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string hone::knownCudaArchitectures() {
  std::string names;
  for (const CudaArchitecture &known : kArchitectures)
    names += (names.empty() ? "" : ", ") + known.name.str();
  return names;
}
