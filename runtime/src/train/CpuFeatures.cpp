//===- CpuFeatures.cpp - Refusing a CPU before it refuses us --------------===//
//
// Only features that a compiler emits instructions for by itself are listed;
// LLVM's lists of a CPU also name many that no kernel uses.
//
//===----------------------------------------------------------------------===//

#include "train/Module.h"

namespace hone::rt {

#if defined(__x86_64__)

// __builtin_cpu_supports takes nothing but a literal.
#define HONE_CHECK_FEATURE(NAME)                                               \
  if (name == NAME)                                                            \
    return __builtin_cpu_supports(NAME) != 0;

static bool isSupported(const std::string &name) {
  HONE_CHECK_FEATURE("sse3")
  HONE_CHECK_FEATURE("ssse3")
  HONE_CHECK_FEATURE("sse4.1")
  HONE_CHECK_FEATURE("sse4.2")
  HONE_CHECK_FEATURE("popcnt")
  HONE_CHECK_FEATURE("avx")
  HONE_CHECK_FEATURE("avx2")
  HONE_CHECK_FEATURE("fma")
  HONE_CHECK_FEATURE("f16c")
  HONE_CHECK_FEATURE("bmi")
  HONE_CHECK_FEATURE("bmi2")
  HONE_CHECK_FEATURE("lzcnt")
  HONE_CHECK_FEATURE("movbe")
  HONE_CHECK_FEATURE("avxvnni")
  HONE_CHECK_FEATURE("avx512f")
  HONE_CHECK_FEATURE("avx512vl")
  HONE_CHECK_FEATURE("avx512bw")
  HONE_CHECK_FEATURE("avx512dq")
  HONE_CHECK_FEATURE("avx512cd")
  HONE_CHECK_FEATURE("avx512ifma")
  HONE_CHECK_FEATURE("avx512vbmi")
  HONE_CHECK_FEATURE("avx512vbmi2")
  HONE_CHECK_FEATURE("avx512vnni")
  HONE_CHECK_FEATURE("avx512bitalg")
  HONE_CHECK_FEATURE("avx512vpopcntdq")
  HONE_CHECK_FEATURE("avx512bf16")
  HONE_CHECK_FEATURE("avx512fp16")
  HONE_CHECK_FEATURE("amx-tile")
  HONE_CHECK_FEATURE("amx-int8")
  HONE_CHECK_FEATURE("amx-bf16")
  return true;
}

#undef HONE_CHECK_FEATURE

#else

// NEON is part of every AArch64 CPU that runs Linux.
static bool isSupported(const std::string &) { return true; }

#endif

std::string missingCpuFeature(const std::vector<std::string> &features) {
  for (const std::string &feature : features) {
    if (feature.empty() || feature[0] == '-')
      continue;
    std::string name = feature[0] == '+' ? feature.substr(1) : feature;
    if (!isSupported(name))
      return name;
  }
  return "";
}

} // namespace hone::rt
