//===- CheckPtx.cpp - Whether the machine executes a PTX file -------------===//
//
// check-ptx FILE.ptx
//
// Prints a line for each kernel; or the line that is not executed, and why.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    fputs("usage: check-ptx FILE.ptx\n", stderr);
    return 2;
  }
  std::stringstream text;
  text << file.rdbuf();
  auto machine = hone::ptx::Machine::create({});
  std::string error;
  const hone::ptx::Module *module = machine->load(text.str(), error);
  if (!module) {
    fprintf(stderr, "%s: %s\n", argv[1], error.c_str());
    return 1;
  }
  for (const hone::ptx::Kernel &kernel : module->kernels)
    printf("%s: %zu instructions, %ld barriers, %u bytes of parameters, %u "
           "shared, %u local\n",
           kernel.name.c_str(), kernel.code.size(),
           long(std::count_if(kernel.code.begin(), kernel.code.end(),
                              [](const hone::ptx::Instruction &each) {
                                return each.kind == hone::ptx::Kind::Barrier;
                              })),
           kernel.parameterBytes, kernel.sharedBytes, kernel.localBytes);
}
