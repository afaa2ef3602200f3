//===- MemoryPlan.h - The promised peak, by class -------------------------===//
//
// `honec --print-plan` prints it and the training binary keeps it: all
// anonymous memory of the process. Weights are file-backed and are shown apart.
// Where kernels run on a device, that has the arena and the weights, and the
// plan says of both how much they take; see runtime/src/module/Memory.h.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/plan/CostEstimate.h"
#include "passes/plan/OffloadInputs.h"
#include "passes/plan/WeightResidency.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace hone {

/// Where kernels run, and so where the arena is: a device may have memory of
/// its own, or the host's.
enum class MemoryDomain { Host, Device, SharedDevice };

/// Sizes of a lowered module, in bytes; 0 where it has none, as for a device.
struct LoweredSizes {
  int64_t threadBytes = 0; ///< private scratch of each thread
  /// Bytes of the program's constants and of the calls in its code.
  int64_t tableBytes = 0;

  /// The sizes of a module after buildSizing(), or after phase Lower.
  static LoweredSizes of(mlir::ModuleOp lowered);
};

struct MemoryPlan {
  /// One row of the table. Rows sum to arenaBytes.
  struct Row {
    std::string name;
    int64_t bytes;
    std::string note;
  };
  /// One call of the step: how much of the arena is in use while it runs.
  struct Moment {
    std::string call;
    int64_t bytes;
  };

  std::vector<Row> rows;
  std::vector<Moment> timeline;
  int64_t arenaBytes = 0;
  /// The same for batches of fewer rows.
  struct Fewer {
    int64_t batchRows;
    std::vector<Row> rows;
    int64_t arenaBytes;
  };
  std::vector<Fewer> fewer;
  /// The bytes of the buffers alone at the worst moment; the difference to
  /// arenaBytes is fragmentation.
  int64_t lowerBound = 0;
  int64_t threadBytes = 0;  ///< see LoweredSizes; 0 before setSizes()
  int64_t stackBytes = 0;   ///< stack of each thread but the first
  int64_t processBytes = 0; ///< rt::processBytes
  MemoryDomain domain = MemoryDomain::Host;
  int64_t deviceWeightBytes = 0; ///< of the weights, on a device
  int64_t deviceHostBytes = 0;   ///< rt::deviceHostBytes
  int64_t tableBytes = 0;        ///< see LoweredSizes
  int64_t mappedTableBytes = 0;  ///< rt::mappedTableBytes
  int64_t weightBytes = 0;       ///< mapped read-only, not part of the peak
  /// The most of those that are resident at a time.
  WeightResidency residentWeights;
  /// Gradients of all parameters after the arena, where a step has those of
  /// one layer at a time: only a run that writes them out has this memory.
  int64_t dumpBytes = 0;
  /// Values that rest in a file between forward and backward.
  OffloadedBytes offloaded;
  /// One layer's gradient of a batch, after the arena where the spec does not
  /// accumulate: only a run that does has this memory.
  int64_t accumulationBytes = 0;
  /// The work of one batch of the step at max_rows, recomputation included:
  /// rates in benchmarks are counted from it.
  StepCounts counts;
  FamilyCounts families; ///< the same by families of kernels
  /// The counts by kernel; only where a plan is shown.
  std::vector<KernelCounts> kernels;
  /// Its estimated time; 0 if not known.
  double seconds = 0;
  /// The digest of the cost file from which the estimates come; empty: nominal
  /// rates.
  std::string profileDigest;
  /// The longest launch, for which a step that stops waits.
  double longestLaunch = 0;
  /// The planner's decisions; none for a policy that was given by name.
  struct Choice {
    std::string residuals; ///< as in hone-derive-backward
    int64_t recomputedInputs, roundedInputs, tileRows, forwardTileRows;
    bool streamsWeights;
    std::optional<double> selectionRatio; ///< where that was planned
    int64_t smallestBytes; ///< budgeted() of the smallest plan; 0: unknown
  };
  std::optional<Choice> choice;

  /// The promise of the host's memory for `threads` threads, in bytes.
  int64_t peak(int64_t threads) const;
  bool isOnDevice() const { return domain != MemoryDomain::Host; }
  /// The same for a device: the bytes that its driver is asked for.
  int64_t devicePeak() const { return arenaBytes + deviceWeightBytes; }
  /// The peak of the memory that has the arena, which train.memory_budget
  /// limits.
  int64_t budgeted(int64_t threads) const {
    return isOnDevice() ? devicePeak() : peak(threads);
  }

  /// The promise of resident memory: the peak, and the mapped pages of weights,
  /// program and libraries at a time.
  int64_t residentPeak(int64_t threads) const {
    return peak(threads) + mappedPeak(threads);
  }
  int64_t mappedPeak(int64_t threads) const;

  /// budgeted() of further placement `index`, which `fewer` has.
  int64_t peakWithFewer(size_t index, int64_t threads) const;

  void setSizes(const LoweredSizes &sizes);

  /// Reads a placed module; `parts`: how many parts its settings have. Fails
  /// with a diagnostic if the module is not placed.
  static mlir::FailureOr<MemoryPlan>
  read(mlir::ModuleOp module, MemoryDomain domain = MemoryDomain::Host,
       size_t parts = 0);
  /// The same without the parts that are only shown: rows, the timeline, the
  /// lower bound, bytes on top of the peak, and placements of fewer rows.
  static mlir::FailureOr<MemoryPlan>
  readTotals(mlir::ModuleOp module, MemoryDomain domain, size_t parts);

  /// The table for a person.
  std::string table(int64_t threads) const;
  /// One JSON object: classes, arena_bytes, lower_bound_bytes, thread_bytes,
  /// stack_bytes, process_bytes, weight_bytes, resident_weight_bytes,
  /// resident_thread_bytes, on_device, device_weight_bytes, device_host_bytes,
  /// table_bytes, dump_bytes, accumulation_bytes, flops,
  /// product_flops, row_bytes, fills, fill_bytes, launches, estimated_seconds,
  /// longest_launch_seconds; profile_sha256 where a file has the machine's
  /// costs; where values are offloaded offload_file_bytes and
  /// offloaded_bytes, which a batch writes and reads;
  /// of a plan that was chosen also residuals, recomputed_inputs,
  /// rounded_inputs, tile_rows, forward_tile_rows, streams_weights and
  /// smallest_bytes; with further placements `fewer`, each with rows,
  /// arena_bytes and classes; and of so many `threads` also threads,
  /// peak_bytes, resident_bytes, timeline and kernels, each with block, kernel,
  /// family, flops, product_flops, bytes, fills and launches. The program has
  /// it without threads.
  std::string json(std::optional<int64_t> threads = std::nullopt) const;
};

} // namespace hone
