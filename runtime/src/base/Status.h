//===- Status.h - An exit code and a message that helps -------------------===//
//
// The runtime has no exceptions: what can fail returns Status or Result<T>.
// A message says where, what was expected, what was found and what to do.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_BASE_STATUS_H
#define HONE_RUNTIME_BASE_STATUS_H

#include <string>
#include <utility>

namespace hone::rt {

/// Exit codes of every Hone program, after sysexits.h.
enum class ExitCode : int {
  Success = 0,
  Usage = 2,         ///< wrong command line or spec
  BadData = 65,      ///< an input file is malformed or does not fit
  NoInput = 66,      ///< an input file is missing or unreadable
  Internal = 70,     ///< a bug in Hone
  CannotCreate = 73, ///< an output file or folder cannot be created
  IoError = 74,      ///< reading or writing failed
  // 128 + the number of a signal: the step was finished and saved.
  Interrupted = 130, ///< SIGINT
  Terminated = 143,  ///< SIGTERM
};

/// The three parts of a message that helps. `place` is a file, and within it
/// a line, a tensor, a key or a byte; `problem` says what was expected and
/// what was found; `remedy` says what to do.
struct Message {
  std::string place;
  std::string problem;
  std::string remedy;
};

class [[nodiscard]] Status {
public:
  static Status ok() { return Status(); }
  static Status error(ExitCode code, Message message) {
    Status s;
    s.exitCode = code;
    s.text = std::move(message);
    return s;
  }

  bool isOk() const { return exitCode == ExitCode::Success; }
  ExitCode code() const { return exitCode; }
  const Message &message() const { return text; }

  /// "error: <place>: <problem>\n  help: <remedy>\n"
  std::string render() const {
    std::string out = "error: ";
    if (!text.place.empty())
      out += text.place + ": ";
    out += text.problem + "\n";
    if (!text.remedy.empty())
      out += "  help: " + text.remedy + "\n";
    return out;
  }

private:
  Status() = default;
  ExitCode exitCode = ExitCode::Success;
  Message text;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T v) : held(std::move(v)) {}
  Result(Status s) : why(std::move(s)) {}

  bool isOk() const { return why.isOk(); }
  const Status &status() const { return why; }
  T &value() { return held; }
  const T &value() const { return held; }

private:
  T held{};
  Status why = Status::ok();
};

} // namespace hone::rt

#endif
