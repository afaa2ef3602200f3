//===- Status.h - An error code and a message that helps ------------------===//
//
// The runtime has no exceptions: what can fail returns Status or Result<T>.
// A message says where, what was expected, what was found and what to do.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_BASE_STATUS_H
#define HONE_RUNTIME_BASE_STATUS_H

#include "base/ErrorCode.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hone::rt {

/// The three parts of a message that helps. `place` is a file, and within it
/// a line, a tensor, a key or a byte; `problem` says what was expected and
/// what was found; `remedy` says what to do.
struct Message {
  std::string place;
  std::string problem;
  std::string remedy;
};

/// `text` with bytes that steer a terminal as \xNN: messages quote files that
/// may be hostile.
inline std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are C2 80 to C2 9F in UTF-8.
    bool isControl = (byte < 0x20 && byte != '\n' && byte != '\t') ||
                     byte == 0x7f ||
                     (byte >= 0x80 && byte < 0xa0 && i > 0 &&
                      static_cast<unsigned char>(text[i - 1]) == 0xc2);
    if (isControl) {
      constexpr const char *digits = "0123456789abcdef";
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      out += text[i];
    }
  }
  return out;
}

class [[nodiscard]] Status {
public:
  static Status ok() { return Status(); }
  static Status error(ErrorCode code, Message message) {
    Status s;
    s.cause = code;
    s.text = std::move(message);
    return s;
  }

  bool isOk() const { return !cause; }
  /// Itself, as a Result has one.
  const Status &status() const { return *this; }
  /// Nothing when all is well.
  std::optional<ErrorCode> errorCode() const { return cause; }
  ExitCode exitCode() const {
    return cause ? exitCodeOf(*cause) : ExitCode::Success;
  }
  const Message &message() const { return text; }

  /// "error[<code>]: <place>: <problem>\n  help: <remedy>\n"; "" when all is
  /// well.
  std::string render() const {
    if (!cause)
      return "";
    std::string out = label("error", *cause) + ": ";
    if (!text.place.empty())
      out += text.place + ": ";
    out += text.problem + "\n";
    if (!text.remedy.empty())
      out += "  help: " + text.remedy + "\n";
    return printable(out);
  }

private:
  Status() = default;
  std::optional<ErrorCode> cause;
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

/// Returns the error of a Status or a Result, if it is one:
///   HONE_TRY(checkRequest(request));
#define HONE_TRY(...)                                                          \
  do {                                                                         \
    if (auto &&hone_tried = (__VA_ARGS__); !hone_tried.isOk())                 \
      return hone_tried.status();                                              \
  } while (false)

/// Declares or sets `target` from a Result's value, or returns its error:
///   HONE_ASSIGN(Json json, readJsonFile(path));
#define HONE_ASSIGN(target, ...)                                               \
  HONE_ASSIGN_FROM(HONE_JOIN(hone_result, __LINE__), target, __VA_ARGS__)
#define HONE_ASSIGN_FROM(result, target, ...)                                  \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.isOk())                                                          \
    return result.status();                                                    \
  target = std::move(result.value())
#define HONE_JOIN(left, right) HONE_JOIN_NOW(left, right)
#define HONE_JOIN_NOW(left, right) left##right

#endif
