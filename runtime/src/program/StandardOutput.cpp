//===- StandardOutput.cpp - Text that programs print ----------------------===//

#include "program/StandardOutput.h"

#include "base/Wording.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hone::rt {

Status outputFailed(int error) {
  return Status(ErrorCode::WriteFailed, "standard output",
                std::string("writing failed: ") + strerror(error ? error : EIO),
                "check the destination and its free space");
}

Status flushOutput() {
  errno = 0;
  if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
    return Status::ok();
  return outputFailed(errno);
}

/// Flushes at once, since a later flush does not know the reason of a failure.
static Status print(const std::string &text) {
  errno = 0;
  if (fputs(text.c_str(), stdout) < 0)
    return errno == EPIPE ? Status::ok() : outputFailed(errno);
  return flushOutput();
}

void printError(const Status &status) {
  fputs(Wording::given().apply(status.render()).c_str(), stderr);
}

void printWarning(ErrorCode code, const std::string &text) {
  fprintf(stderr, "%s: %s\n", label("warning", code).c_str(), text.c_str());
}

Status printUsage(const std::string &usage) {
  return print(Wording::given().apply(usage));
}

Status printVersion(const char *program, const Module &module) {
  const ModuleConfig &config = module.config();
  printf("hone %s " HONE_VERSION ", ABI %u\nmodel %s, weights %s\nlayout %s\n"
         "compiled for %s, %s\n",
         program, HONE_ABI_VERSION, config.modelName.c_str(),
         config.weightsSourceHash.c_str(), config.weightsLayout.c_str(),
         config.target.triple.c_str(), config.target.cpu.c_str());
  return flushOutput();
}

} // namespace hone::rt
