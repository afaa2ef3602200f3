//===- StopAtEach.cpp - A step that stops at each of its launches ---------===//
//
// stop-at-each MODULE.so WEIGHTS DATA FOLDER STEPS
//
// Makes STEPS updates. Then the last one again for each of its launches: it
// stops there, is written to FOLDER, and goes on in another program with
// another number of threads, whose memory held garbage. Then once more,
// stopping before every launch in turn. Loss, norm, parameters and state must
// have the bits of the first time.
//
//===----------------------------------------------------------------------===//

#include "../device/CompiledProgram.h"
#include "step/SuspendedStep.h"

#include <cstring>

using namespace hone;
using namespace hone::rt;
using test::CompiledProgram;
using test::require;

namespace {

/// Stops before the launch with this number, counted from 0 in this process.
struct StopBefore final : LaunchPause {
  explicit StopBefore(uint64_t number) : left(number) {}
  bool goesOn(uint32_t) override {
    if (left == 0)
      return false;
    --left;
    ++ran_;
    return true;
  }
  void ran(uint32_t) override {}

  uint64_t left, ran_ = 0;
};

/// The state for a later step, and this one's report.
struct Outcome {
  std::string bytes;
  bool operator==(const Outcome &other) const { return bytes == other.bytes; }
};

} // namespace

static void append(std::string &out, const void *bytes, uint64_t size) {
  out.append(static_cast<const char *>(bytes), size);
}

static Outcome outcomeOf(CompiledProgram &program,
                         const Trainer::StepResult &result) {
  Outcome outcome;
  for (const double number :
       {result.loss, result.gradientNorm, result.learningRate,
        double(result.tokens), double(result.targets)})
    append(outcome.bytes, &number, sizeof(number));
  if (result.partRates)
    for (const auto &[part, rate] : *result.partRates)
      append(outcome.bytes, &rate, sizeof(rate));
  for (const CheckpointVector &vector :
       program.trainer->trainables().checkpointVectors())
    require(vector.data.read(vector.elements * dtypeBytes(vector.dtype),
                             [&](const char *part, uint64_t size) {
                               append(outcome.bytes, part, size);
                               return Status::ok();
                             }));
  if (result.coefficients)
    append(outcome.bytes, result.coefficients,
           program.trainer->coefficientCount() * sizeof(float));
  if (result.selectedLayers)
    append(outcome.bytes, result.selectedLayers->data(),
           result.selectedLayers->size() * sizeof(uint32_t));
  return outcome;
}

static char *memoryOf(CompiledProgram &program) {
  char *start = nullptr;
  require(
      program.trainer->memory().arena.read(1, [&](const char *bytes, uint64_t) {
        start = const_cast<char *>(bytes);
        return Status::ok();
      }));
  return start;
}

static Trainer::StepResult step(CompiledProgram &program, uint64_t completed,
                                uint64_t steps,
                                const Trainer::Interruption &interruption) {
  Hyperparameters run{program.module.config(), steps};
  const SampleOrder order = program.order();
  Trainer::StepResult result;
  require(program.trainer->step(program.data, order, order.rangeOf(completed),
                                run, completed, result, interruption));
  return result;
}

static void write(CompiledProgram &program, const std::string &path,
                  uint64_t completed) {
  SuspendedStep suspended;
  suspended.completed = completed;
  suspended.state = program.trainer->suspended();
  suspended.program = program.module.abi().program_digest;
  require(SuspendedFile::write(path, suspended, program.trainer->memory()));
}

/// Reads into `program`, whose memory is garbage before.
static SuspendedStep read(CompiledProgram &program, const std::string &path) {
  Trainer &trainer = *program.trainer;
  memset(memoryOf(program), 0xa5, trainer.memory().bytes);
  for (Trainables::Remembered &own : trainer.trainables().remembered())
    std::fill(own.values.begin(), own.values.end(), -1.0f);
  if (Offloading *file = trainer.offloaded()) {
    const std::string garbage(file->size(), '\xa5');
    require(file->fill(0, garbage.data(), garbage.size()));
  }
  auto file = require(SuspendedFile::open(path));
  require(file->step.check(path, {}, program.module.abi().program_digest));
  require(file->read(trainer.memory()));
  return file->step;
}

static int differs(const char *what, uint64_t launch) {
  fprintf(stderr, "%s before launch %llu: other bits\n", what,
          (unsigned long long)launch);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fputs("usage: stop-at-each MODULE.so WEIGHTS DATA FOLDER STEPS\n", stderr);
    return 2;
  }
  const std::string path = SuspendedFile::pathIn(argv[4]);
  const uint64_t steps = strtoull(argv[5], nullptr, 10), last = steps - 1;
  CompiledProgram first("host", argv[1], argv[2], argv[3], /*threads=*/1);
  CompiledProgram second("host", argv[1], argv[2], argv[3], /*threads=*/2);
  for (uint64_t completed = 0; completed < last; ++completed)
    step(first, completed, steps, {});
  const std::string before(memoryOf(first), first.trainer->memory().bytes);
  const auto remembered = first.trainer->trainables().remembered();
  auto begin = [&] {
    memcpy(memoryOf(first), before.data(), before.size());
    first.trainer->trainables().remembered() = remembered;
  };

  StopBefore none(UINT64_MAX);
  const Outcome expected = outcomeOf(first, step(first, last, steps, {&none}));
  const uint64_t launches = none.ran_;
  begin();
  if (!(outcomeOf(first, step(first, last, steps, {})) == expected))
    return differs("without a pause", launches);

  for (uint64_t launch = 0; launch < launches; ++launch) {
    begin();
    StopBefore stop(launch);
    if (!step(first, last, steps, {&stop}).isSuspended)
      return differs("did not stop", launch);
    write(first, path, last);
    const SuspendedStep suspended = read(second, path);
    if (suspended.state.position.number != launch)
      return differs("another place", launch);
    const Trainer::StepResult result =
        step(second, last, steps, {nullptr, &suspended.state});
    if (!(outcomeOf(second, result) == expected))
      return differs("stopped", launch);
  }
  // One launch in each process.
  begin();
  StopBefore now(0);
  step(first, last, steps, {&now});
  CompiledProgram *from = &first, *to = &second;
  for (uint64_t windows = 0;; ++windows, std::swap(from, to)) {
    write(*from, path, last);
    const SuspendedStep suspended = read(*to, path);
    StopBefore next(1);
    const Trainer::StepResult result =
        step(*to, last, steps, {&next, &suspended.state});
    if (result.isSuspended)
      continue;
    if (windows + 1 != launches)
      return differs("another number of windows", windows);
    if (!(outcomeOf(*to, result) == expected))
      return differs("stopped each time", windows);
    break;
  }
  printf("%llu launches, each a place to stop\n", (unsigned long long)launches);
}
