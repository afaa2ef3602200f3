//===- StandardOutput.h - Text that programs print ------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Module.h"

namespace hone::rt {

/// Brings printed text to its reader, for programs whose purpose is standard
/// output. A pipe that nobody reads any more is no error. Errors: WriteFailed.
Status flushOutput();

/// The error of a failed write; `error` is an errno, or 0: not known.
Status outputFailed(int error);

/// Prints `status`, which is an error, in the words of $HONE_WORDING
/// (Wording.h).
void printError(const Status &status);

/// Prints `text` as a warning that has `code`.
void printWarning(ErrorCode code, const std::string &text);

/// Prints the text of --help in these words. Errors: as flushOutput.
Status printUsage(const std::string &usage);

/// --version of `program`. Errors: as flushOutput.
Status printVersion(const char *program, const Module &module);

} // namespace hone::rt
