//===- LateReference.cpp - AsyncFGD by one program and all its versions ---===//
//
// late-reference MODULE.so WEIGHTS DATA STEPS CUTS FOLDER [MORE]
//
// Keeps the parameters after each update. In a step the program, which trains
// by `fgd` alone, is asked for the derivative at parameters of which module k
// of K has those of K - 1 - k updates before (Zhao et al. 2023, lemma 5.3), and
// then makes that update of the newest ones. CUTS: how many layers are below
// each cut, as in 2,4, or - for one module. Prints the loss of each step,
// rounded as it is sent, and writes the adapter to FOLDER. With MORE the delay
// of all modules below the last is so much longer.
//
//===----------------------------------------------------------------------===//

#include "../device/CompiledProgram.h"

#include <algorithm>

using namespace hone;
using namespace hone::rt;

namespace {

/// The contents of a checkpoint.
using Version = std::vector<std::string>;

class Reference {
public:
  Reference(char **files, uint64_t steps)
      : program("host", files[0], files[1], files[2], /*threads=*/1),
        targets(program.trainer->trainables().checkpointTargets()),
        order(program.order()),
        hyperparameters{program.module.config(), steps} {
    order.shuffle = program.module.config().train.shuffle;
  }

  Version read() {
    Version version;
    for (const CheckpointTarget &target : targets) {
      std::string &bytes = version.emplace_back();
      test::require(target.data.read(target.elements * dtypeBytes(target.dtype),
                                     [&](const char *part, uint64_t size) {
                                       bytes.append(part, size);
                                       return Status::ok();
                                     }));
    }
    return version;
  }
  void write(const Version &version) {
    for (size_t i = 0; i < targets.size(); ++i) {
      const char *from = version[i].data();
      targets[i].data.write(version[i].size(), [&](char *part, uint64_t size) {
        memcpy(part, from, size);
        from += size;
      });
    }
  }

  /// `to` with the parameters of `from` whose layers are [first, end).
  void copyLayers(Version &to, const Version &from, uint64_t first,
                  uint64_t end) const {
    const hone_module &m = program.module.abi();
    const uint64_t width = dtypeBytes(program.module.trainableDtype());
    for (uint32_t i = 0; i < m.trainable_count; ++i) {
      const hone_trainable &t = m.trainables[i];
      const char *number = strstr(t.name, "layers.");
      const uint64_t layer = number ? strtoull(number + 7, nullptr, 10) : 0;
      if (!number || layer < first || layer >= end)
        continue;
      const uint64_t at = t.offset * width,
                     size = program.module.trainableShapeElements(t) * width;
      to[0].replace(at, size, from[0], at, size);
    }
  }

  /// The loss at `version`, and the derivative there.
  double derive(const Version &version, uint64_t completed,
                std::vector<float> &slopes) {
    write(version);
    Trainer::StepResult result;
    test::require(program.trainer->step(program.data, order, hyperparameters,
                                        completed, result));
    slopes.assign(result.coefficients,
                  result.coefficients + program.trainer->coefficientCount());
    return result.loss;
  }
  void update(uint64_t completed, const std::vector<float> &slopes) {
    test::require(
        program.trainer->replay(hyperparameters, completed, slopes.data()));
  }
  void save(const char *folder) {
    test::require(program.trainer->trainables().save(folder));
  }

private:
  test::CompiledProgram program;
  std::vector<CheckpointTarget> targets;
  SampleOrder order;
  Hyperparameters hyperparameters;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 7) {
    fputs("usage: late-reference MODULE.so WEIGHTS DATA STEPS CUTS FOLDER "
          "[MORE]\n",
          stderr);
    return 2;
  }
  const uint64_t steps = strtoull(argv[4], nullptr, 10);
  const uint64_t more = argc > 7 ? strtoull(argv[7], nullptr, 10) : 0;
  std::vector<uint64_t> ends;
  for (char *text = argv[5]; *text && *text != '-';) {
    ends.push_back(strtoull(text, &text, 10));
    text += *text == ',';
  }
  ends.push_back(UINT64_MAX);
  Reference reference(argv + 1, steps);
  std::vector<Version> versions = {reference.read()};
  for (uint64_t step = 0; step < steps; ++step) {
    Version mixed = versions.back();
    uint64_t first = 0;
    for (size_t k = 0; k < ends.size(); ++k) {
      const uint64_t left = ends.size() - 1 - k,
                     late = left == 0 ? 0 : left + more;
      reference.copyLayers(mixed, versions[step - std::min(step, late)], first,
                           ends[k]);
      first = ends[k];
    }
    std::vector<float> slopes;
    printf("%.9g\n", double(float(reference.derive(mixed, step, slopes))));
    reference.write(versions.back());
    reference.update(step, slopes);
    versions.push_back(reference.read());
  }
  reference.save(argv[6]);
}
