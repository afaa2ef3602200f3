//===- Memory.cpp - The planned peak, and the measured one ----------------===//
//
// Huge pages are refused before the first touch: with them a page that is
// planned as 4 KiB may become 2 MiB resident.
//
//===----------------------------------------------------------------------===//

#include "module/Memory.h"

#include "hone/runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hone::rt {

RunPlan RunPlan::make(const ModuleConfig &config, uint64_t arenaBytes,
                      const PlanClass &more, uint64_t threadBytes,
                      unsigned threads) {
  RunPlan plan;
  plan.classes = config.planClasses;
  uint64_t named = 0;
  for (const PlanClass &entry : plan.classes)
    named += entry.bytes;
  if (named < arenaBytes)
    plan.classes.push_back({"other", arenaBytes - named});
  if (more.bytes > 0)
    plan.classes.push_back(more);
  uint64_t all = arenaBytes + more.bytes;
  uint64_t total =
      hone_peak_bytes(all, config.processBytes, threadBytes, threads);
  plan.classes.push_back({"threads", total - all - config.processBytes});
  plan.classes.push_back({"process", config.processBytes});
  plan.total = total;
  plan.weightBytes = config.weightBytes;
  plan.resident =
      total + hone_mapped_bytes(config.weightBytes, config.residentWeightBytes,
                                config.residentThreadBytes, config.tableBytes,
                                threads);
  return plan;
}

std::string describeBytes(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  char text[32];
  if (bytes < 1024) {
    snprintf(text, sizeof(text), "%u B", unsigned(bytes));
    return text;
  }
  double value = double(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  snprintf(text, sizeof(text), "%.1f %s", value, units[unit]);
  return text;
}

static void appendRow(std::string &out, const std::string &name, uint64_t bytes,
                      const char *note) {
  char line[160];
  snprintf(line, sizeof(line), "  %-18s%10.2f MiB%s%s\n", name.c_str(),
           double(bytes) / (1024 * 1024), *note ? "   " : "", note);
  out += line;
}

std::string RunPlan::render() const {
  std::string out = "memory plan (anonymous memory at the peak)\n";
  for (const PlanClass &entry : classes)
    appendRow(out, entry.name, entry.bytes,
              entry.name == "threads" ? note.c_str() : "");
  appendRow(out, "planned peak", total, "");
  appendRow(out, "weights", weightBytes,
            "mapped read-only, not part of the peak");
  appendRow(out, "planned resident", resident,
            "with mapped weights, program and libraries");
  return out;
}

/// The field `name` of a /proc status text, 0 if it is not there.
static uint64_t statusBytes(const char *text, const char *name) {
  const char *line = strstr(text, name);
  return line ? strtoull(line + strlen(name), nullptr, 10) * 1024 : 0;
}

ResidentMemory residentMemory() {
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  char text[4096];
  ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  if (size <= 0)
    return {};
  text[size] = 0;
  return {statusBytes(text, "RssAnon:"), statusBytes(text, "VmHWM:")};
}

void PeakMeter::sample() {
  ResidentMemory now = residentMemory();
  highest = {std::max(highest.anonymous, now.anonymous), now.peak};
}

AnonymousMapping::~AnonymousMapping() {
  if (base)
    munmap(base, length);
}

AnonymousMapping &
AnonymousMapping::operator=(AnonymousMapping &&other) noexcept {
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

/// Makes every page resident; false when the system has no memory for it.
static bool populate(char *base, uint64_t length) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(base, length, MADV_POPULATE_WRITE) == 0)
    return true;
  if (errno != EINVAL) // EINVAL: a kernel before 5.14
    return false;
#endif
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  for (uint64_t offset = 0; offset < length; offset += page)
    const_cast<volatile char *>(base)[offset] = 0;
  return true;
}

Result<AnonymousMapping> AnonymousMapping::create(uint64_t bytes) {
  AnonymousMapping mapping;
  if (bytes == 0)
    return mapping;
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base != MAP_FAILED) {
    mapping.base = static_cast<char *>(base);
    mapping.length = bytes;
    madvise(base, bytes, MADV_NOHUGEPAGE); // fails harmlessly without THP
    if (populate(mapping.base, bytes))
      return mapping;
  }
  return Status::error(
      ErrorCode::NoMemory,
      {"memory",
       "the plan needs " + describeBytes(bytes) +
           " of memory and the system refused it: " + strerror(errno),
       "free memory, use fewer --threads, or compile with a smaller "
       "batch_size or max_seq_length"});
}

} // namespace hone::rt
