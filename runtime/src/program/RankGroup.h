//===- RankGroup.h - Programs that share the batches of a run -------------===//
//
// All are one program with the same options and data, and live and die
// together, as mpirun has it. The first rank is the run: it reads and writes
// files and decides on the next command. The others obey, have the state from
// it, and write nothing.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "data/Dataset.h"
#include "exchange/Engine.h"
#include "exchange/Ensemble.h"
#include "module/Memory.h"
#include "module/Module.h"
#include "program/Options.h"
#include "step/Ranks.h"
#include "step/Trainer.h"

#include <memory>

namespace hone::rt {

/// The order in which steps read `samples` samples.
SampleOrder orderOf(const Options &options, uint64_t samples);

/// The memory of ranks beside their plans, in bytes. Errors: NoEngine.
Result<uint64_t> sharingBytes(const Module &module, const Options &options,
                              EnginePlace place);

class RankGroup {
public:
  /// Values that must be equal on all ranks, beside settings and model.
  using Data = std::map<std::string, std::string>;

  /// Begins to greet the others; null: there are none. Errors: as findEngine;
  /// NoThread.
  static Result<std::unique_ptr<RankGroup>> open(const Module &module,
                                                 const Options &options,
                                                 EnginePlace place, Data data);

  bool leads() const { return ranks.rank() == 0; }
  Ranks &shared() { return ranks; }
  Session::Traffic traffic() { return others->traffic(); }

  /// The first rank calls it after `completed` steps of `steps`: gives its
  /// state to all. Errors: as Ensemble::beginRound.
  Status lead(Trainer &trainer, uint64_t completed, uint64_t steps);
  /// Checks, before the first rank saves, that all have its parameters and
  /// optimizer's state. Errors: RanksDrifted.
  Status leadSave(Trainables &trainables, uint64_t completed);
  /// All end. Errors: as Ensemble::awaitAnswers.
  Status leadEnd(uint64_t completed);

  /// The objects that a rank works with when it follows.
  struct Follower {
    Trainer &trainer;
    const Options &options;
    const Dataset &data;
    const Dataset *evalData; ///< may be null
    PeakMeter &peak;
  };
  /// Obeys the first rank, until it ends. Errors: as Trainer's; RanksDrifted.
  Status follow(const Follower &with);

private:
  RankGroup(std::unique_ptr<Ensemble> ensemble, std::vector<std::string> names,
            uint32_t rank)
      : others(std::move(ensemble)), ranks(*others, std::move(names), rank) {}

  /// Gives the first rank's state to all.
  Status spread(Trainables &trainables, uint64_t &completed);
  Status checkEqual(Trainables &trainables, uint64_t completed);
  Status obey(const Command &command, const Follower &with,
              const Hyperparameters &hyperparameters, uint64_t &completed);

  std::unique_ptr<Ensemble> others;
  Ranks ranks;
};

} // namespace hone::rt
