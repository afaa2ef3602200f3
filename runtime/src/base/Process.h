//===- Process.h - How a process begins, and how it ends at once ----------===//
//
// Some ends run no destructor: memory is refused, a mapped file shrinks, a
// second signal asks. Files that must not outlive the process are in a static
// table until they have their final names, and such an end removes them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/ErrorCode.h"

#include <string>
#include <utility>

namespace hone::rt {

/// Whether a program has its process alone, whose memory then is held to its
/// plan, or is one of several.
enum class ProcessUse { Shared, Alone };

/// Call first in main(). Standard descriptors that are closed become /dev/null,
/// lest a file of ours is opened as one of them and printed to. A heap that has
/// no more memory prints H0902 and exits with 71.
void startProcess();

/// Prints "error[<code>]: <text>" and exits with the code's exit code, after
/// removing the remembered files. Async-signal-safe; allocates nothing.
[[noreturn]] void endProcess(ErrorCode code, const char *place,
                             const char *text);
/// The same without a message.
[[noreturn]] void endProcess(ExitCode code);

/// A file, or a folder that will be empty once the others are gone, which
/// endProcess() removes. At most 32 at a time; the next run removes any others,
/// as after a kill.
void rememberTemporary(const std::string &path);
/// The same of a folder with the files in it, however many; nothing else is
/// ever put there.
void rememberTemporaryFolder(const std::string &path);
void forgetTemporary(const std::string &path);

/// A temporary file of another writer, such as a linker. Gone with this object,
/// unless it was renamed.
class TemporaryFile {
public:
  explicit TemporaryFile(std::string path) : path(std::move(path)) {
    rememberTemporary(this->path);
  }
  ~TemporaryFile() {
    remove();
    forgetTemporary(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  void remove() const;

  const std::string path;
};

} // namespace hone::rt
