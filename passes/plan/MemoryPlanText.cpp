//===- MemoryPlanText.cpp - A plan for a person and for programs ----------===//

#include "passes/plan/MemoryPlan.h"

#include "base/Counted.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hone {

static void line(llvm::raw_ostream &os, StringRef name, int64_t bytes,
                 StringRef note) {
  os << "  " << llvm::left_justify(name, 18)
     << llvm::format("%10.2f MiB", bytes / 1048576.0);
  if (!note.empty())
    os << "   " << note;
  os << '\n';
}

/// A time in a unit that shows three digits, however small the model is.
static std::string timeOf(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds < 1)
    os << llvm::format("%.3g ms", seconds * 1e3);
  else
    os << llvm::format("%.2f s", seconds);
  return text;
}

static void write(llvm::raw_ostream &os, const MemoryPlan::Choice &choice) {
  auto rows = [](int64_t tile) {
    return tile ? std::to_string(tile) : std::string("all");
  };
  os << "planned\n";
  if (choice.residuals.empty())
    os << "  rows of a tile     " << rows(choice.forwardTileRows);
  else
    os << "  layers keep        " << choice.residuals
       << "\n  inputs run again   " << choice.recomputedInputs
       << "\n  inputs in bfloat16 " << choice.roundedInputs
       << "\n  rows of a tile     " << rows(choice.tileRows) << " backward, "
       << rows(choice.forwardTileRows) << " forward";
  os << "\n  weights            "
     << (choice.streamsWeights ? "streamed" : "stay mapped") << "\n";
  if (choice.selectionRatio)
    os << llvm::format("  selection ratio    %.6g\n", *choice.selectionRatio);
}

std::string MemoryPlan::table(int64_t threads) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool onDevice = isOnDevice();
  auto writeMore = [&] {
    if (dumpBytes)
      line(os, "all gradients", dumpBytes,
           "with --dump-gradients only, on top of the peak");
    if (accumulationBytes && !dumpBytes) // else a step has one batch
      line(os, "accumulation", accumulationBytes,
           "with several batches in a step only, on top of the peak");
    for (const auto &[index, placed] : llvm::enumerate(fewer))
      line(os, "peak of " + std::to_string(placed.batchRows) + " rows",
           peakWithFewer(index, threads),
           index == 0 ? "with less by --batch-size or --max-seq-length" : "");
  };
  os << "memory plan ("
     << (onDevice ? "of the device" : "anonymous memory at the peak") << ")\n";
  for (const Row &row : rows)
    line(os, row.name, row.bytes, row.note);
  if (onDevice) {
    line(os, "weights", deviceWeightBytes, "");
    line(os, "planned peak", devicePeak(),
         "asked of the driver, which takes more for itself");
    writeMore();
    os << "of the host (anonymous memory at the peak)\n";
    line(os, "for the device", deviceHostBytes,
         domain == MemoryDomain::Device
             ? "values on both sides, a batch, copies and launches on the way"
             : "values on both sides, a batch");
  }
  line(os, "threads",
       peak(threads) - processBytes - (onDevice ? deviceHostBytes : arenaBytes),
       std::to_string(threads) + " x scratch and stack");
  line(os, "process", processBytes, "program, preparing data, names");
  line(os, "planned peak", peak(threads), "");
  line(os, "weights", weightBytes, "mapped read-only, not part of the peak");
  line(os, "planned resident", residentPeak(threads),
       "with mapped weights, program and libraries");
  if (offloaded.perBatch)
    line(os, "offloaded", offloaded.perBatch,
         "in " + rt::counted(offloaded.values, "value") +
             ", written to a file and read in each batch");
  if (!onDevice)
    writeMore();
  if (choice)
    write(os, *choice);
  if (seconds > 0)
    os << "  estimated step     " << timeOf(seconds) << "\n";
  if (!profileDigest.empty())
    os << "  rates              sha256 " << profileDigest << "\n";
  if (longestLaunch > 0 && !onDevice)
    os << "  longest kernel     " << timeOf(longestLaunch)
       << ", which --for waits for\n"
       << llvm::format("  suspended step     %.2f MiB on the disk\n",
                       double(arenaBytes + offloaded.file) / (1024 * 1024));
  return text;
}

static llvm::json::Array classesOf(const std::vector<MemoryPlan::Row> &rows) {
  llvm::json::Array classes;
  for (const MemoryPlan::Row &row : rows)
    classes.push_back(
        llvm::json::Object{{"name", row.name}, {"bytes", row.bytes}});
  return classes;
}

static llvm::json::Array kernelsOf(llvm::ArrayRef<KernelCounts> counted) {
  llvm::json::Array kernels;
  for (const auto &[block, kernel, counts, family] : counted)
    kernels.push_back(
        llvm::json::Object{{"block", block},
                           {"kernel", kernel},
                           {"family", family},
                           {"flops", counts.flops},
                           {"product_flops", counts.productFlops},
                           {"bytes", counts.rowBytes + counts.fillBytes},
                           {"fills", counts.fills},
                           {"launches", counts.launches}});
  return kernels;
}

static void write(llvm::json::Object &plan, const MemoryPlan::Choice &choice) {
  plan["residuals"] = choice.residuals;
  plan["recomputed_inputs"] = choice.recomputedInputs;
  plan["rounded_inputs"] = choice.roundedInputs;
  plan["tile_rows"] = choice.tileRows;
  plan["forward_tile_rows"] = choice.forwardTileRows;
  plan["streams_weights"] = choice.streamsWeights;
  if (choice.smallestBytes)
    plan["smallest_bytes"] = choice.smallestBytes;
  if (choice.selectionRatio)
    plan["selection_ratio"] = *choice.selectionRatio;
}

static llvm::json::Array placementsOf(const MemoryPlan &plan,
                                      std::optional<int64_t> threads) {
  llvm::json::Array placements;
  for (const auto &[index, placed] : llvm::enumerate(plan.fewer)) {
    llvm::json::Object placement{{"rows", placed.batchRows},
                                 {"arena_bytes", placed.arenaBytes},
                                 {"classes", classesOf(placed.rows)}};
    if (threads) {
      const int64_t budgeted = plan.peakWithFewer(index, *threads);
      placement["peak_bytes"] =
          plan.isOnDevice() ? plan.peak(*threads) : budgeted;
      if (plan.isOnDevice())
        placement["device_bytes"] = budgeted;
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

std::string MemoryPlan::json(std::optional<int64_t> threads) const {
  llvm::json::Object plan{
      {"classes", classesOf(rows)},
      {"arena_bytes", arenaBytes},
      {"lower_bound_bytes", lowerBound},
      {"thread_bytes", threadBytes},
      {"stack_bytes", stackBytes},
      {"process_bytes", processBytes},
      {"weight_bytes", weightBytes},
      {"on_device", isOnDevice()},
      {"device_weight_bytes", deviceWeightBytes},
      {"device_host_bytes", deviceHostBytes},
      {"table_bytes", tableBytes + mappedTableBytes},
      {"dump_bytes", dumpBytes},
      {"accumulation_bytes", accumulationBytes},
      {"resident_weight_bytes", residentWeights.bytes},
      {"resident_thread_bytes", residentWeights.threadBytes},
      {"flops", counts.flops},
      {"product_flops", counts.productFlops},
      {"row_bytes", counts.rowBytes},
      {"fills", counts.fills},
      {"fill_bytes", counts.fillBytes},
      {"launches", counts.launches},
      {"estimated_seconds", seconds},
      {"longest_launch_seconds", longestLaunch}};
  if (!profileDigest.empty())
    plan["profile_sha256"] = profileDigest;
  if (offloaded.file) {
    plan["offload_file_bytes"] = offloaded.file;
    plan["offloaded_bytes"] = offloaded.perBatch;
  }
  if (choice)
    write(plan, *choice);
  if (!fewer.empty())
    plan["fewer"] = placementsOf(*this, threads);
  if (threads) {
    if (isOnDevice())
      plan["device_bytes"] = devicePeak();
    llvm::json::Array moments;
    for (const Moment &moment : timeline)
      moments.push_back(
          llvm::json::Object{{"call", moment.call}, {"bytes", moment.bytes}});
    plan["timeline"] = std::move(moments);
    plan["kernels"] = kernelsOf(kernels);
    plan["threads"] = *threads;
    plan["peak_bytes"] = peak(*threads);
    plan["resident_bytes"] = residentPeak(*threads);
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(plan));
  return text;
}

} // namespace hone
