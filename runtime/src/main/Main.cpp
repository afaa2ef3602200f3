//===- Main.cpp - main() of a training binary -----------------------------===//
//
// Linked beside the object that honec generates, which defines
// hone_compiled_module. Kept out of the runtime's library: tests and honec
// link that one and have a main() of their own.
//
//===----------------------------------------------------------------------===//

#include "hone/runtime.h"
#include "program/Program.h"

int main(int argc, char **argv) {
  return hone::rt::runProgram(hone_compiled_module, argc, argv);
}
