//===- ErrorCode.h - Kinds of errors, as users look them up ---------------===//
//
// Errors.def declares each kind once: its code, its exit code, and the
// explanation that `honec --explain` prints. The texts are compiled into honec
// alone; everything else carries codes.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <string>

namespace hone::rt {

/// Exit codes of every Hone program, after sysexits.h. They are classes of
/// errors: the "Errors:" lines of declarations name them.
enum class ExitCode : int {
  Success = 0,
  Usage = 2,         ///< wrong command line or spec
  BeyondPlan = 3,    ///< all is done and written; memory exceeded the plan
  BadData = 65,      ///< an input file is malformed or does not fit
  NoInput = 66,      ///< an input file is missing or unreadable
  Unavailable = 69,  ///< another program of the model cannot be reached
  Internal = 70,     ///< a bug in Hone, or halves of two versions
  NoResources = 71,  ///< the system refused memory or a thread
  CannotCreate = 73, ///< an output file or folder cannot be created
  IoError = 74,      ///< reading or writing failed
  Protocol = 76,     ///< another program's message is in no schedule
  NoPermission = 77, ///< another program does not admit this one
  TimeUp = 124,      ///< of --for, as timeout has it: all is written
  // 128 + the number of a signal: the step was finished and saved.
  Interrupted = 130, ///< SIGINT
  Terminated = 143,  ///< SIGTERM
};

enum class ErrorCode : uint8_t {
#define HONE_ERROR(code, name, exitCode, title, explanation) name,
#include "base/Errors.def"
};

/// "H0201". Async-signal-safe.
const char *textOf(ErrorCode code);

ExitCode exitCodeOf(ErrorCode code);

/// "error[H0201]"; `severity` is error or warning.
std::string label(const char *severity, ErrorCode code);

} // namespace hone::rt
