//===- RankGroup.cpp - Programs that share the batches of a run -----------===//

#include "program/RankGroup.h"

#include "base/Sha256.h"
#include "exchange/LinkPlan.h"
#include "module/Schedule.h"
#include "program/Together.h"

#include <cstring>

namespace hone::rt {

Result<uint64_t> sharingBytes(const Module &module, const Options &options,
                              EnginePlace place) {
  if (place.ranks == 1)
    return uint64_t(0);
  const uint64_t gradient =
      folds(module.schedule(HONE_TRAIN)) ? module.vectorBytes() : 0;
  const auto batches =
      uint64_t(options.settings.train.gradient_accumulation_steps);
  HONE_ASSIGN(const hone_engine *engine, engineOf(options));
  const uint64_t messages =
      LinkPlan(*engine, place.ranks)
          .bytes(std::vector<uint64_t>(place.ranks - 1,
                                       Ranks::pieceBytes(place.ranks)));
  return messages + Ranks::keptBytes(place.ranks) +
         Ranks::foldBytes(gradient, place.ranks, batches > place.ranks);
}

Result<std::unique_ptr<RankGroup>> RankGroup::open(const Module &module,
                                                   const Options &options,
                                                   EnginePlace place,
                                                   Data data) {
  if (place.ranks == 1)
    return std::unique_ptr<RankGroup>();
  if (module.abi().device_target)
    return Status(ErrorCode::OptionsDisagree, "--exchange",
                  "ranks share the batches of programs for processors alone",
                  "start one program, without mpirun");
  Ensemble::About about;
  std::vector<std::string> names;
  for (uint32_t rank = 0; rank < place.ranks; ++rank)
    names.push_back("rank " + std::to_string(rank));
  about.self = names[place.rank];
  about.leader = names.front();
  for (const std::string &name : names)
    if (name != about.self)
      about.links.push_back({name, Ranks::pieceBytes(place.ranks)});
  // Each has slices of all others, so all may be told by the first.
  if (place.rank > 0)
    about.before = about.leader;
  else
    about.after.assign(names.begin() + 1, names.end());
  about.address = options.exchange;
  std::map<std::string, std::string> equal = equalOf(module, options.settings);
  equal.merge(data);
  about.equal = linesOf(equal);
  // A signal is for the first rank, which saves after the step.
  about.patience = {std::chrono::seconds(int64_t(options.timeout)), nullptr};
  HONE_ASSIGN(about.engine, engineOf(options));
  HONE_ASSIGN(std::unique_ptr<Ensemble> others,
              Ensemble::open(std::move(about)));
  return std::unique_ptr<RankGroup>(
      new RankGroup(std::move(others), std::move(names), place.rank));
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

Status RankGroup::spread(Trainables &trainables, uint64_t &completed) {
  // Messages of no schedule that exchanges.
  Ranks::Step step{HONE_VALIDATE, 0, 0};
  HONE_TRY(ranks.spread(step, reinterpret_cast<char *>(&completed),
                        sizeof(completed)));
  ++step.round;
  Status status = Status::ok();
  for (const CheckpointTarget &target : trainables.checkpointTargets())
    target.data.write(target.elements * dtypeBytes(target.dtype),
                      [&](char *bytes, uint64_t size) {
                        if (status.isOk())
                          status = ranks.spread(step, bytes, size);
                        step.round +=
                            size / Ranks::pieceBytes(ranks.count()) + 1;
                      });
  return status;
}

Status RankGroup::checkEqual(Trainables &trainables, uint64_t completed) {
  constexpr size_t digest = 64; // hex
  std::string all(digest * ranks.count(), ' ');
  Sha256 hash;
  for (const CheckpointVector &vector : trainables.checkpointVectors())
    HONE_TRY(vector.data.read(vector.elements * dtypeBytes(vector.dtype),
                              [&](const char *bytes, uint64_t size) {
                                hash.update(bytes, size);
                                return Status::ok();
                              }));
  const std::string own = hash.finishHex();
  all.replace(digest * ranks.rank(), digest, own);
  HONE_TRY(ranks.gather({HONE_VALIDATE, completed, 0}, all.data(), digest,
                        ranks.count()));
  std::string others;
  for (uint32_t rank = 1; rank < ranks.count(); ++rank)
    if (all.compare(digest * rank, digest, all, 0, digest) != 0)
      others += (others.empty() ? "" : ", ") + std::to_string(rank);
  if (others.empty())
    return Status::ok();
  return Status(ErrorCode::RanksDrifted, "step " + std::to_string(completed),
                "expects the parameters and the optimizer's state of rank 0 on "
                "all ranks, but rank " +
                    others +
                    (others.find(',') == std::string::npos ? " has others"
                                                           : " have others"),
                "check the memory of these machines, and give the same command "
                "again: it goes on from the checkpoint before");
}

//===----------------------------------------------------------------------===//
// The first rank
//===----------------------------------------------------------------------===//

Status RankGroup::lead(Trainer &trainer, uint64_t completed, uint64_t steps) {
  HONE_ASSIGN(Ensemble::Start start, others->beginRound({}, steps));
  (void)start; // the beginning, since ranks have no state of their own
  HONE_TRY(spread(trainer.trainables(), completed));
  trainer.setLead([this](Command command) {
    // An evaluation is one command.
    return command.kind == Command::Kind::Loss ? Status::ok()
                                               : others->lead(command);
  });
  return Status::ok();
}

Status RankGroup::leadSave(Trainables &trainables, uint64_t completed) {
  HONE_TRY(others->lead({Command::Kind::Save, completed}));
  return checkEqual(trainables, completed);
}

Status RankGroup::leadEnd(uint64_t completed) {
  HONE_TRY(others->lead({Command::Kind::End, completed}));
  return others->awaitAnswers();
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

Status RankGroup::obey(const Command &command, const Follower &with,
                       const Hyperparameters &hyperparameters,
                       uint64_t &completed) {
  const TrainSettings &train = with.options.settings.train;
  const SampleOrder order = orderOf(with.options, with.data.sampleCount());
  if (command.step != completed)
    return Status(ErrorCode::MessageMisfit, "a command of rank 0",
                  "expects one after step " + std::to_string(completed) +
                      " but got one after " + std::to_string(command.step),
                  "start all ranks with one mpirun");
  switch (command.kind) {
  case Command::Kind::Step: {
    Trainer::StepResult result;
    HONE_TRY(with.trainer.step(with.data, order, hyperparameters, completed,
                               result));
    ++completed;
    with.peak.sample();
    return Status::ok();
  }
  case Command::Kind::Evaluate:
    return with.trainer
        .evaluate(*with.evalData, uint64_t(train.batch_size), completed)
        .status();
  case Command::Kind::Save:
    HONE_TRY(with.trainer.validate(completed));
    return checkEqual(with.trainer.trainables(), completed);
  default:
    return others->answer();
  }
}

Status RankGroup::follow(const Follower &with) {
  HONE_ASSIGN(Ensemble::Start start, others->beginRound({}, 0));
  const Hyperparameters hyperparameters{with.options.settings, start.steps};
  uint64_t completed = 0;
  HONE_TRY(spread(with.trainer.trainables(), completed));
  for (;;) {
    HONE_ASSIGN(Command command, others->follow());
    HONE_TRY(obey(command, with, hyperparameters, completed));
    if (command.kind == Command::Kind::End)
      return others->drain();
  }
}

} // namespace hone::rt
