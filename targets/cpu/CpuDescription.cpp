//===- CpuDescription.cpp - Facts of a CPU that kernels need --------------===//
//
// Unknown architectures get the smallest vector unit, which is slow but right.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/CpuDescription.h"

#include <algorithm>

using namespace hone;

unsigned CpuDescription::tileRows(unsigned vectors) const {
  return std::min(8u, (vectorRegisters - 2 - vectors) / vectors);
}

// AMD's do, since Zen 4. Intel's begin half as many (measured on Sapphire
// Rapids).
bool hone::hasFastBFloat16Dots(llvm::StringRef cpu) {
  return cpu.starts_with("znver");
}

CpuDescription
hone::describeCpu(llvm::Triple::ArchType arch,
                  llvm::function_ref<bool(llvm::StringRef)> hasFeature) {
  CpuDescription cpu;
  switch (arch) {
  case llvm::Triple::x86_64:
    if (hasFeature("avx512f") && hasFeature("avx512vl"))
      return {512, 32, true, hasFeature("avx512bf16"),
              hasFeature("avx512bf16") && hasFeature("amx-bf16") &&
                  hasFeature("amx-tile")};
    if (hasFeature("avx"))
      return {256, 16, false};
    return cpu;
  case llvm::Triple::aarch64:
    return {128, 32, false};
  default:
    return cpu;
  }
}
