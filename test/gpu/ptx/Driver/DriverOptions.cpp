//===- DriverOptions.cpp - What the environment says of the device --------===//

#include "DriverOptions.h"

#include <cstdio>
#include <cstdlib>

namespace hone::ptx {

[[noreturn]] static void refuse(const std::string &name,
                                const std::string &value) {
  fprintf(stderr, "%s cannot be '%s'\n", name.c_str(), value.c_str());
  exit(2);
}

static const char *textOf(const std::string &name) {
  return getenv(("HONE_PTX_" + name).c_str());
}

template <typename T>
static void readNumber(const std::string &name, T &value) {
  const char *text = textOf(name);
  if (!text)
    return;
  char *end = nullptr;
  value = T(strtoull(text, &end, 0));
  if (!*text || *end)
    refuse("HONE_PTX_" + name, text);
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
  refuse("HONE_PTX_" + name, text);
}

DriverOptions readDriverOptions() {
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
  if (const char *file = textOf("REPORT"))
    options.reportFile = file;
  if (const char *text = textOf("DROP")) { // KERNEL:WHICH
    const std::string drop = text;
    const size_t colon = drop.rfind(':');
    if (colon == std::string::npos)
      refuse("HONE_PTX_DROP", drop);
    machine.droppedKernel = drop.substr(0, colon);
    machine.droppedBarrier = unsigned(atoi(drop.c_str() + colon + 1));
  }
  readNumber("REFUSE_ALLOCATION", options.refusedAllocation);
  readNumber("LOSE_AT_LAUNCH", options.lostLaunch);
  readNumber("STICK_AT_LAUNCH", options.stuckLaunch);
  return options;
}

} // namespace hone::ptx
