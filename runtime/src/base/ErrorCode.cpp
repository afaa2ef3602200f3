//===- ErrorCode.cpp - Codes and exit codes of all errors -----------------===//
//
// In the order of the catalogue, as the enumeration is.
//
//===----------------------------------------------------------------------===//

#include "base/ErrorCode.h"

namespace hone::rt {

static constexpr char Codes[][6] = {
#define HONE_ERROR(code, name, exitCode, title, explanation) #code,
#include "base/Errors.def"
};

static constexpr ExitCode ExitCodes[] = {
#define HONE_ERROR(code, name, exitCode, title, explanation) ExitCode::exitCode,
#include "base/Errors.def"
};

const char *textOf(ErrorCode code) { return Codes[size_t(code)]; }

ExitCode exitCodeOf(ErrorCode code) { return ExitCodes[size_t(code)]; }

std::string label(const char *severity, ErrorCode code) {
  return std::string(severity) + "[" + textOf(code) + "]";
}

} // namespace hone::rt
