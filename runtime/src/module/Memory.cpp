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
  std::vector<PlanClass> ofArena = config.planClasses;
  uint64_t named = 0;
  for (const PlanClass &entry : ofArena)
    named += entry.bytes;
  if (named < arenaBytes)
    ofArena.push_back({"other", arenaBytes - named});
  if (more.bytes > 0)
    ofArena.push_back(more);
  uint64_t all = arenaBytes + more.bytes;
  if (config.onDevice) {
    plan.deviceClasses = std::move(ofArena);
    plan.deviceClasses.push_back({"weights", config.deviceWeightBytes});
    plan.deviceTotal = all + config.deviceWeightBytes;
    all = config.deviceHostBytes;
    plan.deviceHostBytes = all;
    plan.classes.push_back({"for the device", all});
  } else {
    plan.classes = std::move(ofArena);
  }
  uint64_t total =
      hone_peak_bytes(all, config.processBytes, threadBytes, threads);
  plan.classes.push_back({"threads", total - all - config.processBytes});
  plan.classes.push_back({"process", config.processBytes});
  plan.total = total;
  plan.weightBytes = config.weightBytes;
  plan.offloadedBytes = config.offloadedBytes;
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
           inMebibytes(bytes), *note ? "   " : "", note);
  out += line;
}

std::string RunPlan::render() const {
  std::string out;
  if (isOnDevice()) {
    out += "memory plan" + scope + " (of the device)\n";
    for (const PlanClass &entry : deviceClasses)
      appendRow(out, entry.name, entry.bytes, "");
    appendRow(out, "planned peak", deviceTotal,
              "asked of the driver, which takes more for itself");
  }
  out += isOnDevice()
             ? "of the host (anonymous memory at the peak)\n"
             : "memory plan" + scope + " (anonymous memory at the peak)\n";
  for (const PlanClass &entry : classes)
    appendRow(out, entry.name, entry.bytes,
              entry.name == "threads" ? note.c_str() : "");
  appendRow(out, "planned peak", total, "");
  appendRow(out, "weights", weightBytes,
            "mapped read-only, not part of the peak");
  appendRow(out, "planned resident", resident,
            "with mapped weights, program and libraries");
  if (offloadedBytes > 0)
    appendRow(out, "offloaded", offloadedBytes,
              "to a file, written and read once in each batch");
  return out;
}

PeakMeter::PeakMeter(const RunPlan &plan) : plan(plan) {}

std::string PeakMeter::describe(uint64_t measured, uint64_t planned) {
  char text[80];
  if (measured == 0)
    snprintf(text, sizeof(text), "not measured; %.1f MiB planned",
             inMebibytes(planned));
  else
    snprintf(text, sizeof(text), "%.1f of %.1f MiB planned",
             inMebibytes(measured), inMebibytes(planned));
  return text;
}

void PeakMeter::note(const platform::ResidentMemory &now) {
  highest = {std::max(highest.anonymous, now.anonymous),
             std::max(highest.peak, now.peak)};
}

void PeakMeter::sample() {
  platform::ResidentMemory now = platform::residentMemory();
  // Counts exactly only beyond the plan and earlier peaks, not in each step of
  // a run that is beyond the plan.
  if (plan && (now.anonymous > std::max(plan->total, highest.anonymous) ||
               now.peak > std::max(plan->resident, highest.peak)))
    now = platform::countResidentMemory().value_or(now);
  note(now);
}

void PeakMeter::count() {
  note(platform::countResidentMemory().value_or(platform::residentMemory()));
}

void PeakMeter::beginDriver() {
  count();
  beforeDriver = highest;
}

/// `measured` bytes where `planned` were promised; `how` follows the first.
static Status exceeded(const char *how, uint64_t measured, uint64_t planned,
                       const std::string &more = "",
                       const std::string &remedy =
                           "report this with the output of --plan, the spec "
                           "and config.json") {
  return Status(
      ErrorCode::PlanExceeded, "memory",
      "the run is complete and written, but " + std::to_string(measured) + how +
          std::to_string(measured - planned) + " more than were planned" + more,
      remedy);
}

Status PeakMeter::verdict() {
  if (!plan)
    return Status::ok();
  if (deviceBytes > plan->deviceTotal)
    return exceeded(" bytes were asked of the device's driver, ", deviceBytes,
                    plan->deviceTotal);
  if (deviceHostBytes > plan->deviceHostBytes)
    return exceeded(" bytes were taken for the device, ", deviceHostBytes,
                    plan->deviceHostBytes);
  if (!beforeDriver)
    count();
  const platform::ResidentMemory &own = beforeDriver ? *beforeDriver : highest;
  const bool isResident = own.anonymous <= plan->total;
  const uint64_t measured = isResident ? own.peak : own.anonymous;
  const uint64_t planned = isResident ? plan->resident : plan->total;
  // Asked last: the answer takes a look at all mappings.
  if (measured <= planned || platform::sharesMemory())
    return Status::ok();
  const char *how =
      isResident ? " bytes were resident, " : " bytes were taken, ";
  const auto foreign = platform::foreignLibraries();
  if (foreign.empty())
    return exceeded(how, measured, planned);
  std::string libraries;
  for (const platform::ForeignLibrary &library : foreign)
    libraries +=
        (&library == foreign.data()
             ? "; the process has libraries that are not Hone's, whose "
               "allocations count, too: "
             : ", ") +
        library.path + " (" + describeBytes(library.bytes) + ")";
  return exceeded(how, measured, planned, libraries,
                  "run it without them (LD_PRELOAD, a profiler)");
}

} // namespace hone::rt
