//===- DriverOptions.cpp - The device's options from the environment ------===//

#include "DriverOptions.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace hone::ptx {

static constexpr char kPrefix[] = "HONE_PTX_";
/// Any other name that begins so is a mistake, which would test nothing.
static constexpr const char *kNames[] = {
    "ORDER",          "SEED",           "LANES",        "MEMORY",
    "DEVICES",        "CAPABILITY",     "VERSION",      "REPORT",
    "CONFLICTS",      "KERNELS",        "GRAPHS",       "LIMITS",
    "RECORD",         "DROP",           "INSTRUCTIONS", "REFUSE_ALLOCATION",
    "LOSE_AT_LAUNCH", "STICK_AT_LAUNCH"};

[[noreturn]] static void refuse(const std::string &name,
                                const std::string &value) {
  fprintf(stderr, "%s cannot be '%s'\n", name.c_str(), value.c_str());
  exit(2);
}

static const char *textOf(const std::string &name) {
  return getenv((kPrefix + name).c_str());
}

/// Digits alone, or 0x and such.
static bool parseNumber(const char *text, uint64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = strtoull(text, &end, 0);
  return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

template <typename T>
static void readNumber(const std::string &name, T &value) {
  const char *text = textOf(name);
  if (!text)
    return;
  uint64_t number = 0;
  if (!parseNumber(text, number) || uint64_t(T(number)) != number)
    refuse(kPrefix + name, text);
  value = T(number);
}

static void refuseOtherNames() {
  for (char **each = environ; *each; ++each) {
    if (strncmp(*each, kPrefix, strlen(kPrefix)) != 0)
      continue;
    const std::string name(*each + strlen(kPrefix),
                           strcspn(*each + strlen(kPrefix), "="));
    bool isKnown = false;
    for (const char *known : kNames)
      isKnown |= name == known;
    if (!isKnown) {
      fprintf(stderr, "%s%s is nothing that this driver reads\n", kPrefix,
              name.c_str());
      exit(2);
    }
  }
}

/// Its place among `words`.
static unsigned readWord(const std::string &name,
                         std::initializer_list<const char *> words) {
  const char *text = textOf(name);
  if (!text)
    return 0;
  unsigned place = 0;
  for (const char *word : words) {
    if (std::string(word) == text)
      return place;
    ++place;
  }
  refuse(kPrefix + name, text);
}

DriverOptions readDriverOptions() {
  refuseOtherNames();
  DriverOptions options;
  Options &machine = options.machine;
  machine.order =
      Order(readWord("ORDER", {"ascending", "descending", "random"}));
  machine.lanesOneByOne = readWord("LANES", {"together", "one-by-one"}) == 1;
  readNumber("SEED", machine.seed);
  readNumber("MEMORY", machine.memoryBytes);
  readNumber("INSTRUCTIONS", machine.instructionLimit);
  readNumber("DEVICES", options.devices);
  readNumber("CAPABILITY", options.capability);
  readNumber("VERSION", options.version);
  machine.countsBankConflicts = readWord("CONFLICTS", {"ignore", "count"}) == 1;
  options.skipsKernels = readWord("KERNELS", {"run", "skip"}) == 1;
  options.refusesGraphs = readWord("GRAPHS", {"run", "refuse"}) == 1;
  options.refusesLimits = readWord("LIMITS", {"keep", "refuse"}) == 1;
  if (const char *file = textOf("REPORT")) {
    options.reportFile = file;
    // A report that cannot be written later is missed by nobody.
    FILE *opened = fopen(file, "w");
    if (!opened)
      refuse("HONE_PTX_REPORT", file);
    fclose(opened);
  }
  if (const char *text = textOf("DROP")) { // KERNEL:WHICH
    const std::string drop = text;
    const size_t colon = drop.rfind(':');
    uint64_t barrier = 0;
    if (colon == std::string::npos ||
        !parseNumber(drop.c_str() + colon + 1, barrier))
      refuse("HONE_PTX_DROP", drop);
    machine.droppedKernel = drop.substr(0, colon);
    machine.droppedBarrier = unsigned(barrier);
  }
  readNumber("REFUSE_ALLOCATION", options.refusedAllocation);
  readNumber("LOSE_AT_LAUNCH", options.lostLaunch);
  readNumber("STICK_AT_LAUNCH", options.stuckLaunch);
  return options;
}

} // namespace hone::ptx
