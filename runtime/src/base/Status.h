//===- Status.h - An error code and a message that helps ------------------===//
//
// The runtime has no exceptions: a function that can fail returns Status or
// Result<T>.
// A message says where, what was expected, what was found and what to do.
//
//===----------------------------------------------------------------------===//

#pragma once

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
std::string printable(std::string_view text);

/// One pointer: null when all is well.
class [[nodiscard]] Status {
public:
  static Status ok() { return Status(); }
  Status(ErrorCode code, Message message);
  Status(ErrorCode code, std::string place, std::string problem,
         std::string remedy)
      : Status(code,
               {std::move(place), std::move(problem), std::move(remedy)}) {}
  Status(const Status &other) : failure(copyOf(other.failure)) {}
  Status(Status &&other) : failure(std::exchange(other.failure, nullptr)) {}
  Status &operator=(Status other) {
    std::swap(failure, other.failure);
    return *this;
  }
  ~Status() {
    if (failure)
      erase(failure);
  }

  bool isOk() const { return !failure; }
  /// Itself, as a Result has one.
  const Status &status() const & { return *this; }
  Status status() && { return std::move(*this); }
  /// Nothing when all is well.
  std::optional<ErrorCode> errorCode() const;
  ExitCode exitCode() const;
  /// Empty when all is well.
  Message message() const;

  /// "error[<code>]: <place>: <problem>\n  help: <remedy>\n"; "" when all is
  /// well.
  std::string render() const;

private:
  struct Failure;
  static Failure *copyOf(const Failure *failure);
  static void erase(Failure *failure);

  Status() = default;
  Failure *failure = nullptr;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T v) : held(std::move(v)) {}
  Result(Status s) : why(std::move(s)) {}

  bool isOk() const { return why.isOk(); }
  const Status &status() const & { return why; }
  /// By value: the status outlives a Result that is a temporary.
  Status status() && { return std::move(why); }
  T &value() { return held; }
  const T &value() const { return held; }

private:
  T held{};
  Status why = Status::ok();
};

} // namespace hone::rt

namespace hone {
using rt::ErrorCode;
using rt::ExitCode;
using rt::Result;
using rt::Status;
} // namespace hone

/// Returns the error of a Status or a Result, if it is one:
///   HONE_TRY(checkRequest(request));
#define HONE_TRY(...)                                                          \
  do {                                                                         \
    if (auto &&hone_tried = (__VA_ARGS__); !hone_tried.isOk())                 \
      return std::forward<decltype(hone_tried)>(hone_tried).status();          \
  } while (false)

/// Declares or sets `target` from a Result's value, or returns its error:
///   HONE_ASSIGN(Json json, readJsonFile(path));
#define HONE_ASSIGN(target, ...)                                               \
  HONE_ASSIGN_FROM(HONE_JOIN(hone_result, __LINE__), target, __VA_ARGS__)
#define HONE_ASSIGN_FROM(result, target, ...)                                  \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.isOk())                                                          \
    return std::move(result).status();                                         \
  target = std::move(result.value())
#define HONE_JOIN(left, right) HONE_JOIN_NOW(left, right)
#define HONE_JOIN_NOW(left, right) left##right
