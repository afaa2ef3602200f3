//===- TrainInTurns.cpp - Programs of one process, a step of each ---------===//
//
// train-in-turns DATA STEPS (MODULE.so WEIGHTS)...
//
// Prints a line for each step: the program's place, then its loss and norm with
// the bits of doubles.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include <vector>

using namespace hone;
using namespace hone::rt;

int main(int argc, char **argv) {
  if (argc < 5 || argc % 2 == 0) {
    fputs("usage: train-in-turns DATA STEPS (MODULE.so WEIGHTS)...\n", stderr);
    return 2;
  }
  const uint64_t steps = strtoull(argv[2], nullptr, 10);
  std::vector<std::unique_ptr<test::CompiledProgram>> programs;
  for (int i = 3; i < argc; i += 2)
    programs.push_back(std::make_unique<test::CompiledProgram>(
        "host", argv[i], argv[i + 1], argv[1], /*threads=*/2));
  for (uint64_t completed = 0; completed < steps; ++completed)
    for (size_t i = 0; i < programs.size(); ++i) {
      Trainer::StepResult result = programs[i]->step(completed, steps);
      printf("%s %a %a\n", argv[3 + 2 * i], result.loss, result.gradientNorm);
    }
}
