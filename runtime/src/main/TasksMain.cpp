//===- TasksMain.cpp - main() of a training binary with tasks -------------===//
//
// Linked in place of Main.cpp where the spec has a task.
//
//===----------------------------------------------------------------------===//

#include "hone/runtime.h"
#include "program/Program.h"
#include "tasks/TaskFormat.h"

int main(int argc, char **argv) {
  return hone::rt::runProgram(hone_compiled_module, argc, argv,
                              hone::rt::findTask);
}
