//===- RandomWeights.cpp - Weights as a manifest wants them ---------------===//
//
// random-weights MANIFEST SEED OUT
//
// hone-make-model --packed, for a machine that has nothing of LLVM.
// Exit codes: 0 done, 2 wrong command line, else those of train.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/PackedWeights.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  char *end = nullptr;
  const uint64_t seed = argc == 4 ? strtoull(argv[2], &end, 10) : 0;
  if (argc != 4 || !*argv[2] || *end) {
    fprintf(stderr, "usage: random-weights MANIFEST SEED OUT\n");
    return 2;
  }
  const hone::rt::Status status =
      hone::writePackedWeights(argv[1], seed, argv[3]);
  fputs(status.render().c_str(), stderr);
  return int(status.exitCode());
}
