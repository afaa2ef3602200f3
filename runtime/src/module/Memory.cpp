//===- Memory.cpp - The planned peak, and the measured one ----------------===//
//===----------------------------------------------------------------------===//

#include "module/Memory.h"

#include "base/ByteCount.h"
#include "hone/runtime.h"

#include <algorithm>
#include <cstdio>

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

PeakMeter::PeakMeter(const RunPlan &plan) : plan(plan) {}

void PeakMeter::note(const platform::ResidentMemory &now) {
  highest = {std::max(highest.anonymous, now.anonymous),
             std::max(highest.peak, now.peak)};
}

void PeakMeter::sample() {
  platform::ResidentMemory now = platform::residentMemory();
  // Not for each step of a run that is beyond it already.
  if (plan && (now.anonymous > std::max(plan->total, highest.anonymous) ||
               now.peak > std::max(plan->resident, highest.peak)))
    now = platform::countResidentMemory().value_or(now);
  note(now);
}

void PeakMeter::count() {
  note(platform::countResidentMemory().value_or(platform::residentMemory()));
}

Status PeakMeter::verdict() {
  if (!plan)
    return Status::ok();
  count();
  const bool isResident = anonymous() <= plan->total;
  const uint64_t measured = isResident ? resident() : anonymous();
  const uint64_t planned = isResident ? plan->resident : plan->total;
  // Asked last: the answer takes a look at all mappings.
  if (measured <= planned || platform::sharesMemory())
    return Status::ok();
  std::string problem =
      "the run is complete and written, but " + std::to_string(measured) +
      (isResident ? " bytes were resident, " : " bytes were taken, ") +
      std::to_string(measured - planned) + " more than were planned";
  std::string remedy = "report this with the output of --plan, the spec and "
                       "config.json";
  const auto foreign = platform::foreignLibraries();
  for (const platform::ForeignLibrary &library : foreign)
    problem += (&library == foreign.data()
                    ? "; the process has libraries that are not Hone's, whose "
                      "allocations count, too: "
                    : ", ") +
               library.path + " (" + describeBytes(library.bytes) + ")";
  if (!foreign.empty())
    remedy = "run it without them (LD_PRELOAD, a profiler)";
  return Status(ErrorCode::PlanExceeded, "memory", problem, remedy);
}

} // namespace hone::rt
