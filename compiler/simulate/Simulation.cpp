//===- Simulation.cpp - Steps of several programs in virtual time ---------===//

#include "compiler/simulate/Simulation.h"

#include "compiler/simulate/VirtualDevice.h"
#include "compiler/simulate/VirtualTransport.h"
#include "exchange/Session.h"
#include "step/Trainer.h"

#include <algorithm>

namespace hone::simulate {

namespace {

/// Sequences of one length, of which each but the last token has a target.
class EqualSamples final : public rt::SampleSource {
public:
  EqualSamples(uint64_t count, int64_t length)
      : count(count), ids(size_t(length)), targets(size_t(length)) {
    if (length > 0)
      targets.back() = -100;
  }
  uint64_t sampleCount() const override { return count; }
  uint64_t targetCount() const override {
    return count * std::max<uint64_t>(1, ids.size() - 1);
  }
  rt::Sample sample(uint64_t) const override {
    return {ids.data(), targets.data(), int64_t(ids.size())};
  }

private:
  uint64_t count;
  std::vector<int32_t> ids, targets;
};

/// One of the programs, as its own process has it.
class Simulated {
public:
  Simulated(const SimulationRequest &request, Program &program,
            const std::vector<std::string> &names, Payloads &payloads)
      : request(request), own(request.programs[program.number]),
        program(program), names(names), transport(program, names, payloads),
        device(program, own.seconds) {}

  Status run(SimulatedRun &result);

private:
  bool leads() const { return program.number == 0; }
  Status open();
  /// Tells those after it, as Ensemble does.
  Status lead();
  /// Waits for the message of the program before it, and passes it on.
  Status follow();
  Status step(uint64_t completed);
  rt::Transport::Message command(const std::string &peer, bool isSent) const {
    return {rt::Session::kCommand, commands,     "command",
            /*index=*/0,           peer.c_str(), isSent};
  }

  const SimulationRequest &request;
  const SimulatedProgram &own;
  Program &program;
  const std::vector<std::string> &names;
  VirtualTransport transport;
  VirtualDevice device;
  rt::Module module;
  rt::Weights weights; ///< none: no kernel reads one
  std::optional<rt::Ranks> ranks;
  std::unique_ptr<rt::Trainer> trainer;
  std::optional<EqualSamples> samples;
  rt::SampleOrder order;
  uint64_t commands = 0;
  uint64_t told[2] = {};
};

} // namespace

Status Simulated::open() {
  HONE_ASSIGN(module, rt::Module::open(*own.module));
  if (module.config().offloadFileBytes > 0)
    return Status(ErrorCode::OptionsDisagree, "train.activation_offloading",
                  "values in a file are not simulated, since their time is the "
                  "disk's",
                  "set it to false");
  const rt::TrainSettings &train = module.config().train;
  const auto size = int64_t(train.batch_size);
  const int64_t most = size * int64_t(train.max_seq_length);
  module.place(most);
  const int64_t rows = request.rows > 0 ? request.rows : most;
  if (rows < size || rows > most)
    return Status(ErrorCode::OptionsDisagree, "--tokens",
                  "expects " + std::to_string(size) + " to " +
                      std::to_string(most) + " tokens in a batch of " +
                      std::to_string(size) + " sequences but got " +
                      std::to_string(rows),
                  "give another number, or another train.batch_size or "
                  "train.max_seq_length with --set");
  const uint64_t batches = request.batches > 0
                               ? request.batches
                               : uint64_t(train.gradient_accumulation_steps);
  samples.emplace(uint64_t(size) * batches * request.steps, rows / size);
  order = {samples->sampleCount(), uint64_t(size), batches, 0,
           /*shuffle=*/false};
  rt::Module::Extent extent;
  extent.accumulates = batches > 1;
  HONE_ASSIGN(trainer,
              rt::Trainer::create(module, weights, device, extent, &transport));
  if (request.areRanks && names.size() > 1) {
    ranks.emplace(transport, names, program.number);
    trainer->shareWith(*ranks);
  }
  if (leads() && names.size() > 1)
    trainer->setLead([this](rt::Command) { return lead(); });
  return Status::ok();
}

Status Simulated::lead() {
  // Parts are a chain, and ranks all come after the first.
  const size_t first = program.number + 1,
               end = !request.areRanks ? std::min(first + 1, names.size())
                     : leads()         ? names.size()
                                       : first;
  for (size_t i = first; i < end; ++i)
    HONE_TRY(transport.postSend(command(names[i], true),
                                reinterpret_cast<const char *>(told),
                                sizeof(told)));
  ++commands;
  return Status::ok();
}

Status Simulated::follow() {
  const rt::Transport::Message comes =
      command(names[request.areRanks ? 0 : program.number - 1], false);
  HONE_TRY(transport.postReceive(comes, reinterpret_cast<char *>(told),
                                 sizeof(told)));
  HONE_TRY(transport.wait(comes));
  return lead();
}

Status Simulated::step(uint64_t completed) {
  const rt::Hyperparameters hyperparameters{module.config(), request.steps};
  rt::Trainer::StepResult result;
  // All ranks do their work beside kernels at the same time, and no rank waits
  // for another's.
  if (request.areRanks)
    program.compute(own.stepSeconds);
  if (!leads())
    HONE_TRY(follow());
  if (!request.areRanks)
    program.compute(own.stepSeconds);
  if (leads() || request.areRanks)
    return trainer->step(*samples, order, hyperparameters, completed, result);
  return trainer->follow({rt::Command::Kind::Step, completed}, hyperparameters,
                         result);
}

Status Simulated::run(SimulatedRun &result) {
  HONE_TRY(open());
  result.steps.push_back(program.sofar());
  for (uint64_t i = 0; i < request.steps; ++i) {
    HONE_TRY(step(i));
    if (const std::optional<uint32_t> kernel = device.missing()) {
      const hone_kernel &of = own.module->kernels[*kernel];
      return Status(ErrorCode::OptionsDisagree, "program '" + own.name + "'",
                    "runs the kernel '" + std::string(of.block) + ": " +
                        of.name + "', which has no time in its profile",
                    "measure more steps with train --profile, of the same "
                    "spec");
    }
    result.steps.push_back(program.sofar());
  }
  result.launches = device.launches();
  return Status::ok();
}

Result<std::vector<SimulatedRun>>
runInVirtualTime(const SimulationRequest &request) {
  const auto count = uint32_t(request.programs.size());
  std::vector<std::string> names;
  for (const SimulatedProgram &each : request.programs)
    names.push_back(each.name);
  std::vector<SimulatedRun> runs(count);
  Payloads payloads;
  Programs programs(count, request.link);
  HONE_TRY(programs.run([&](Program &program) {
    return Simulated(request, program, names, payloads)
        .run(runs[program.number]);
  }));
  for (uint32_t i = 0; i < count; ++i)
    runs[i].spans = programs.timelineOf(i).spans();
  return std::move(runs);
}

} // namespace hone::simulate
