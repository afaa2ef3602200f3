//===- CpuFeatures.cpp - Refusing a CPU before it refuses us --------------===//
//
// Only features that a compiler emits instructions for by itself are listed;
// LLVM's lists of a CPU also name many that no kernel uses, and its tuning
// flags.
//
//===----------------------------------------------------------------------===//

#include "module/Module.h"
#include "platform/System.h"

#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hone::rt {

#if defined(__x86_64__)

/// Features of CPUID's leaf 7, subleaf 1. Compiler runtimes in use are older
/// than they are, and __builtin_cpu_supports would deny them. Each implies one
/// of the list below, which is where the system's support is checked; nothing
/// for names that are not among them.
static std::optional<bool> isRecentSupported(const std::string &name) {
  struct Bit {
    const char *name;
    bool isEdx; ///< else EAX
    unsigned number;
  };
  static constexpr Bit bits[] = {
      {"amx-fp16", false, 21},  {"avxifma", false, 23},
      {"avxvnniint8", true, 4}, {"avxneconvert", true, 5},
      {"amx-complex", true, 8}, {"avxvnniint16", true, 10},
      {"avx10.1", true, 19},    {"avx10.2", true, 19},
      {"egpr", true, 21},       {"ndd", true, 21},
      {"nf", true, 21},         {"ccmp", true, 21},
      {"push2pop2", true, 21},  {"ppx", true, 21},
      {"zu", true, 21},
  };
  for (const Bit &bit : bits) {
    if (name != bit.name)
      continue;
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) ||
        !((bit.isEdx ? edx : eax) >> bit.number & 1))
      return false;
    // One bit says that there is AVX10; its version is elsewhere.
    if (name == "avx10.2")
      return __get_cpuid_count(0x24, 0, &eax, &ebx, &ecx, &edx) &&
             (ebx & 0xff) >= 2;
    return true;
  }
  return std::nullopt;
}

// __builtin_cpu_supports takes nothing but a literal.
#define HONE_CHECK_FEATURE(NAME)                                               \
  if (name == NAME)                                                            \
    return __builtin_cpu_supports(NAME) != 0;

static bool isSupported(const std::string &name) {
  if (std::optional<bool> recent = isRecentSupported(name))
    return *recent;
  HONE_CHECK_FEATURE("sse3")
  HONE_CHECK_FEATURE("ssse3")
  HONE_CHECK_FEATURE("sse4.1")
  HONE_CHECK_FEATURE("sse4.2")
  HONE_CHECK_FEATURE("sse4a")
  HONE_CHECK_FEATURE("popcnt")
  HONE_CHECK_FEATURE("avx")
  HONE_CHECK_FEATURE("avx2")
  HONE_CHECK_FEATURE("fma")
  HONE_CHECK_FEATURE("f16c")
  HONE_CHECK_FEATURE("bmi")
  HONE_CHECK_FEATURE("bmi2")
  HONE_CHECK_FEATURE("lzcnt")
  HONE_CHECK_FEATURE("movbe")
  HONE_CHECK_FEATURE("gfni")
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
  if (name == "amx-tile")
    return __builtin_cpu_supports("amx-tile") && platform::allowMatrixUnit();
  HONE_CHECK_FEATURE("amx-int8")
  HONE_CHECK_FEATURE("amx-bf16")
  return true;
}

#undef HONE_CHECK_FEATURE

#else

static bool isSupported(const std::string &name) {
  return platform::hasArmFeature(name).value_or(true);
}

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
