//===- StandardInput.cpp - Input of programs that no file has -------------===//

#include "program/StandardInput.h"

#include "platform/Files.h"
#include "program/Signals.h"

namespace hone::rt {

Status readSome(std::string &out, bool &isEnd) {
  // A signal ends the waiting, but one that came just before it, or in another
  // thread, does not.
  constexpr int milliseconds = 200;
  char part[4096];
  uint64_t got = 0;
  do {
    if (stopRequested() != ExitCode::Success)
      return Status(ErrorCode::Stopped, "standard input",
                    "stopped while it was read",
                    "the same command starts again");
  } while (!platform::waitToRead(platform::StandardInput, milliseconds));
  if (const platform::Error error =
          platform::read(platform::StandardInput, part, sizeof(part), got))
    return Status(ErrorCode::ReadFailed, "standard input",
                  "reading failed: " + error.message(), "check its source");
  isEnd = got == 0;
  out.append(part, got);
  return Status::ok();
}

} // namespace hone::rt
