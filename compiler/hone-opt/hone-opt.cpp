//===- hone-opt.cpp - Run any pass or pipeline on IR ----------------------===//

#include "compiler/driver/CommandLine.h"
#include "compiler/driver/Registration.h"
#include "test/lib/TestPasses.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  hone::checkOutputAtExit();
  mlir::DialectRegistry registry;
  hone::registerDialects(registry);
  hone::registerPassesAndPipelines();
  hone::registerTestPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Hone's passes and pipelines, one at a time\n", registry));
}
