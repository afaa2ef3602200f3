//===- Checkpoint.h - Saving and resuming a training run ------------------===//
//
// A checkpoint is a directory checkpoint-%06lld that is complete when it has
// that name: it is written under a temporary one, made durable, and renamed
// last. The recipe is that of Pillai et al., OSDI'14.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_FORMATS_CHECKPOINT_H
#define HONE_RUNTIME_FORMATS_CHECKPOINT_H

#include "base/Dtype.h"
#include "base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::rt {

/// A vector to save: "theta", "state0", "state1", ... F32 or F64.
struct CheckpointVector {
  std::string name;
  Dtype dtype = Dtype::F32;
  uint64_t elements = 0;
  const void *data = nullptr;
};

/// Where to read a vector to.
struct CheckpointTarget {
  std::string name;
  Dtype dtype = Dtype::F32;
  uint64_t elements = 0;
  void *data = nullptr;
};

/// What a checkpoint belongs to, as hashes. All three must be equal for a run
/// to resume: then its numbers continue bit for bit.
struct CheckpointIdentity {
  std::string module;  ///< what was compiled: shapes, plan, hyperparameters
  std::string weights; ///< the frozen weights
  std::string data;    ///< the training data and its order
};

/// The trainer's own values, e.g. {"samples", "128"}, {"learning_rate",
/// "0x1.0624dd2f1a9fcp-10"}. Opaque here. Use formatExact for numbers.
using CheckpointFields = std::map<std::string, std::string>;

/// A hex float, "0x1.8p+1": every double, restored to the bit.
std::string formatExact(double value);

/// The inverse; false when `text` is not one whole number.
bool parseExact(const std::string &text, double &value);

/// The checkpoints of one output directory.
class CheckpointStore {
public:
  /// How many complete checkpoints are kept.
  static constexpr int Kept = 2;

  CheckpointStore() = default;

  /// Creates `directory` when missing and removes the temporaries that dead
  /// processes left. One process at a time: the caller holds the folder's
  /// lock as long as the store. Errors: CannotCreate, IoError.
  static Result<CheckpointStore> open(const std::string &directory);

  /// Saves after `step` steps, then removes all but the newest two. Streams
  /// the vectors; allocates little and a fixed amount. When a checkpoint of
  /// this step is there already it is replaced. Errors: CannotCreate, IoError;
  /// the checkpoints from before are then intact.
  Status save(int64_t step, const CheckpointIdentity &identity,
              const CheckpointFields &fields,
              const std::vector<CheckpointVector> &vectors) const;

  struct Loaded {
    bool found = false; ///< false: there is no usable checkpoint
    int64_t step = 0;
    std::string directory;
    CheckpointFields fields;
    /// One line for each damaged checkpoint that was passed over; print them.
    std::vector<std::string> notes;
  };

  /// Reads the newest checkpoint whose manifest verifies into the targets, and
  /// removes all but the newest two up to it, as save() does.
  /// A sound checkpoint of another identity is an error that names which of
  /// module, weights or data differs, as is one whose vectors are not the
  /// targets, or one that is there and cannot be opened: nothing older is
  /// tried. Errors: BadData, NoInput, IoError.
  Result<Loaded> load(const CheckpointIdentity &identity,
                      const std::vector<CheckpointTarget> &targets) const;

private:
  std::string directory;
};

} // namespace hone::rt

#endif
