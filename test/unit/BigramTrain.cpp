//===- BigramTrain.cpp - A training binary without a compiler -------------===//
//
// The runtime's whole program around the hand-written bigram module, for tests
// that need a process: kills, threads, exit codes, terminals.
//
//===----------------------------------------------------------------------===//

#include "BigramModule.h"
#include "base/Process.h"
#include "program/Program.h"

#include <cstdio>
#include <cstring>

using namespace hone;

/// Writes DIR/weights.hone.safetensors, DIR/data.jsonl and DIR/eval.jsonl.
static int makeInputs(const std::string &directory) {
  const rt::Status results[] = {
      test::writeBigramWeights(directory + "/weights.hone.safetensors"),
      test::writeBigramData(directory + "/data.jsonl", 301, 1),
      test::writeBigramData(directory + "/eval.jsonl", 17, 2)};
  for (const rt::Status &status : results)
    if (!status.isOk()) {
      fputs(status.render().c_str(), stderr);
      return int(status.exitCode());
    }
  return 0;
}

int main(int argc, char **argv) {
  rt::startProcess(); // its module is made on the heap
  if (argc == 3 && strcmp(argv[1], "--make-inputs") == 0)
    return makeInputs(argv[2]);
  return rt::runProgram(test::bigramModule(test::HONE_ADAMW), argc, argv,
                        rt::ProcessUse::Alone);
}
