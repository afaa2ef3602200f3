//===- Machine.cpp - The machine's memory and processor -------------------===//

#include "compiler/hone/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <vector>

using namespace hone;
using llvm::StringRef;

/// Such files have no size before they are read.
static std::string contentOf(const char *path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

uint64_t hone::freeMemory(const std::string &meminfo, const std::string &limit,
                          const std::string &current) {
  uint64_t free = 0;
  StringRef rest = StringRef(meminfo);
  while (!rest.empty() && free == 0) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (!line.consume_front("MemAvailable:"))
      continue;
    line = line.trim();
    if (line.consumeInteger(10, free))
      return 0;
    free *= 1024; // the file counts in kB
  }
  uint64_t most, taken;
  if (!StringRef(limit).trim().getAsInteger(10, most) &&
      !StringRef(current).trim().getAsInteger(10, taken))
    free = std::min(free, most - std::min(most, taken));
  return free;
}

Machine Machine::read() {
  Machine machine;
  machine.freeMemory = hone::freeMemory(
      contentOf("/proc/meminfo"), contentOf("/sys/fs/cgroup/memory.max"),
      contentOf("/sys/fs/cgroup/memory.current"));
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  machine.processor =
      llvm::sys::getHostCPUName().str() + " " + llvm::join(features, ",");
  return machine;
}
