//===- Checkpoint.h - Saving and resuming a training run ------------------===//
//
// A checkpoint is a directory checkpoint-%06lld that is complete when it has
// that name: it is written under a temporary one, made durable, and renamed
// last. The recipe is that of Pillai et al., OSDI'14.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/MemoryView.h"
#include "base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::rt {

/// A vector to save: "theta", "state0", "state1", ...
struct CheckpointVector {
  std::string name;
  Dtype dtype = Dtype::F32;
  uint64_t elements = 0;
  MemoryView data;
};

/// Where to read a vector to.
struct CheckpointTarget {
  std::string name;
  Dtype dtype = Dtype::F32;
  uint64_t elements = 0;
  MemoryView data;
};

/// Errors: Diverged if a number of `vectors` after `step` steps is NaN or
/// infinite.
Status checkFinite(int64_t step, const std::vector<CheckpointVector> &vectors);

/// Names and values, e.g. {"--learning-rate", "0.001"}. Opaque here.
using CheckpointFields = std::map<std::string, std::string>;

/// The members of a JSON object, `between` between each two.
std::string jsonMembers(const CheckpointFields &fields, const char *between);

/// The run that a checkpoint belongs to, as values by name.
struct CheckpointIdentity {
  /// Model, weights, data, method and settings: with another of these it would
  /// be another run.
  CheckpointFields run;
  /// How its numbers are computed: with others the same run goes on, but not
  /// with the bits of an uninterrupted one.
  CheckpointFields numerics;
};

/// The checkpoints of one output directory.
class CheckpointStore {
public:
  /// How many complete checkpoints are kept where nothing else is said.
  static constexpr uint64_t Kept = 2;
  /// The field of `evaluation` with the step of the best checkpoint, which is
  /// kept as long as one that names it.
  static constexpr const char *BestStep = "best_step";

  CheckpointStore() = default;

  /// Creates `directory` when missing and removes the temporaries that dead
  /// processes left. One process at a time: the caller holds the folder's
  /// lock as long as the store. Errors: CannotCreate, IoError.
  static Result<CheckpointStore> open(const std::string &directory);

  /// Keeps the newest `count`; 0: all.
  void keep(uint64_t count) { kept = count; }

  /// Saves after `step` steps, then removes all but the newest. Streams
  /// the vectors; allocates little and a fixed amount. When a checkpoint of
  /// this step is there already it is replaced. `evaluation` has the results of
  /// evaluations so far; empty: there were none. Errors: Diverged if a number
  /// is not finite, CannotCreate, IoError; the checkpoints from before are then
  /// intact.
  Status save(int64_t step, const CheckpointIdentity &identity,
              const std::vector<CheckpointVector> &vectors,
              const CheckpointFields &evaluation = {}) const;

  struct Found {
    std::string directory; ///< empty: there is no usable checkpoint
    int64_t step = 0;
    CheckpointIdentity identity;
    CheckpointFields evaluation; ///< as it was given to save()
    /// One line for each damaged checkpoint that was passed over; print them.
    std::vector<std::string> notes;
  };

  /// The newest checkpoint whose manifest verifies. A sound one that has no
  /// identity, or is of another format, is an error, as is one that is there
  /// and cannot be opened: nothing older is tried. Errors: BadData, NoInput,
  /// IoError.
  Result<Found> newest() const;

  /// The steps of all checkpoints whose manifests verify, newest first; `notes`
  /// names the others. Errors: as newest().
  Result<std::vector<int64_t>> sound(std::vector<std::string> &notes) const;

  /// Removes the checkpoints that save() after `step` steps would.
  void forgetBefore(int64_t step) const { removeOld(step, true); }

  /// Removes those of later steps, of a run that goes on after `step`: it makes
  /// them again.
  void forgetAfter(int64_t step) const;

  /// What a checkpoint is needed for, and what to do without it.
  struct Need {
    const char *of; ///< "the best evaluation"
    const char *remedy;
  };
  /// The checkpoint of `step`. Errors: DamagedCheckpoint also when there is
  /// none, with the `need`; as newest().
  Result<Found> at(int64_t step, const Need &need) const;

  /// Reads the vectors of the checkpoint that was found, which must be the
  /// targets, and removes all but the newest up to it, as save() does.
  /// Errors: DamagedCheckpoint if a number is not finite, BadData, NoInput,
  /// IoError.
  Status read(const Found &found,
              const std::vector<CheckpointTarget> &targets) const;

private:
  void removeOld(int64_t step, bool namesBest) const;
  void remove(int64_t step) const;

  std::string directory;
  uint64_t kept = Kept;
};

} // namespace hone::rt
