//===- PassRun.cpp - Passes run with a reproducer -------------------------===//

#include "compiler/driver/PassRun.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace hone;

/// A file that no other run of honec writes to.
static std::string reproducerPath() {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
  llvm::sys::path::append(
      path, "hone-reproducer-" +
                llvm::Twine(llvm::sys::Process::getProcessId()) + ".mlir");
  return path.str().str();
}

Status hone::runPasses(mlir::PassManager &pm, mlir::ModuleOp module,
                       const std::string &place, const std::string &userModel) {
  // The file is written when a pass fails, not before.
  std::string reproducer = reproducerPath();
  pm.enableCrashReproducerGeneration(reproducer);
  if (mlir::succeeded(pm.run(module)))
    return Status::ok();
  if (userModel.empty())
    return Status(ErrorCode::Bug, place, "a pass failed; this is a bug in Hone",
                  "please report it with " + reproducer);
  return Status(ErrorCode::ModuleRefused, userModel + ": " + place,
                "the module cannot be compiled",
                "the message above names the op; a reproducer is in " +
                    reproducer);
}
