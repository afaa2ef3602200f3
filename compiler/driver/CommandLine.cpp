//===- CommandLine.cpp - How a tool begins and ends -----------------------===//

#include "compiler/driver/CommandLine.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using rt::ErrorCode;
using rt::Status;

Status hone::parseCommandLine(int argc, char **argv, const char *overview) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return Status::ok();
  if (problem.empty()) // LLVM has printed what is wrong with a value
    problem = "the option above has no value, or one that it cannot take";
  std::string tool = llvm::sys::path::filename(argv[0]).str();
  return Status::error(
      ErrorCode::WrongOption,
      {tool, llvm::StringRef(problem).trim().str(), "see " + tool + " --help"});
}

int hone::reportStatus(const Status &status) {
  llvm::errs() << status.render();
  return static_cast<int>(status.exitCode());
}
