//===- CpuFeatures.cpp - Refusing a CPU before it refuses us --------------===//
//
// Only features that a compiler emits instructions for by itself are listed;
// LLVM's lists of a CPU also name many that no kernel uses, and its tuning
// flags.
//
//===----------------------------------------------------------------------===//

#include "module/Module.h"
#include "platform/System.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hone::rt {

#if defined(__x86_64__)

namespace {

/// The registers of CPUID's answer.
enum Register { Eax, Ebx, Ecx, Edx };

/// The registers that the system must save when it switches threads, as bits of
/// XCR0.
enum State : unsigned {
  None = 0,
  Avx = 0x6,       ///< XMM and YMM
  Avx512 = 0xe6,   ///< also the masks, ZMM0 to 15's upper halves, ZMM16 to 31
  Tiles = 0x60000, ///< AMX's configuration and data
  Apx = 0x80000,   ///< R16 to R31
};

/// The bit of CPUID for a feature, and the registers that the system must save
/// for it.
struct Feature {
  const char *name; ///< LLVM's
  unsigned leaf;
  unsigned subleaf;
  Register reg;
  unsigned bit;
  State state;
};

} // namespace

// Intel's manual (325462), CPUID; sse4a and lzcnt: AMD's (24594), appendix E.
// The C library's and the compilers' own lists are older than some CPUs, and
// empty where a static program's compiler runtime does not fill them.
static constexpr Feature knownFeatures[] = {
    {"sse3", 1, 0, Ecx, 0, None},
    {"ssse3", 1, 0, Ecx, 9, None},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"sse4.1", 1, 0, Ecx, 19, None},
    {"sse4.2", 1, 0, Ecx, 20, None},
    {"movbe", 1, 0, Ecx, 22, None},
    {"popcnt", 1, 0, Ecx, 23, None},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"bmi", 7, 0, Ebx, 3, None},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8, None},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"gfni", 7, 0, Ecx, 8, None},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Tiles},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Tiles},
    {"amx-int8", 7, 0, Edx, 25, Tiles},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"amx-fp16", 7, 1, Eax, 21, Tiles},
    {"avxifma", 7, 1, Eax, 23, Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Avx},
    {"avxneconvert", 7, 1, Edx, 5, Avx},
    {"amx-complex", 7, 1, Edx, 8, Tiles},
    {"avxvnniint16", 7, 1, Edx, 10, Avx},
    {"avx10.1", 7, 1, Edx, 19, Avx512},
    {"avx10.2", 7, 1, Edx, 19, Avx512},
    {"egpr", 7, 1, Edx, 21, Apx},
    {"ndd", 7, 1, Edx, 21, Apx},
    {"nf", 7, 1, Edx, 21, Apx},
    {"ccmp", 7, 1, Edx, 21, Apx},
    {"push2pop2", 7, 1, Edx, 21, Apx},
    {"ppx", 7, 1, Edx, 21, Apx},
    {"zu", 7, 1, Edx, 21, Apx},
    {"sse4a", 0x80000001, 0, Ecx, 6, None},
    {"lzcnt", 0x80000001, 0, Ecx, 5, None},
};

static bool isSet(unsigned leaf, unsigned subleaf, Register reg, unsigned bit) {
  unsigned registers[4];
  return __get_cpuid_count(leaf, subleaf, &registers[Eax], &registers[Ebx],
                           &registers[Ecx], &registers[Edx]) &&
         (registers[reg] >> bit & 1);
}

/// The low half of XCR0; 0 where the system saves no more than SSE's state.
static unsigned savedState() {
  constexpr unsigned osxsave = 27;
  if (!isSet(1, 0, Ecx, osxsave))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool isSupported(const std::string &name) {
  for (const Feature &feature : knownFeatures) {
    if (name != feature.name)
      continue;
    if (!isSet(feature.leaf, feature.subleaf, feature.reg, feature.bit) ||
        (savedState() & feature.state) != feature.state)
      return false;
    if (name == "amx-tile")
      return platform::allowMatrixUnit();
    // One bit says that there is AVX10; its version is elsewhere.
    unsigned eax, ebx, ecx, edx;
    if (name == "avx10.2")
      return __get_cpuid_count(0x24, 0, &eax, &ebx, &ecx, &edx) &&
             (ebx & 0xff) >= 2;
    return true;
  }
  return true;
}

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
