//===- ChatInput.h - The turns of a person, line by line ------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace hone::rt {

/// Lines as turns. A line that ends in a backslash goes on with the next one.
class ChatInput {
public:
  /// Longest turn, in bytes.
  static constexpr uint64_t LongestTurn = 128 * 1024;

  /// A function like readSome.
  using Read = std::function<Status(std::string &out, bool &isEnd)>;
  /// Called before each line; `goesOn`: it goes on with a turn.
  using Ask = std::function<void(bool goesOn)>;
  explicit ChatInput(
      Read read, Ask ask = [](bool) {})
      : read(std::move(read)), ask(std::move(ask)) {}

  /// The next turn, without its line end; `isEnd` becomes true where there is
  /// none. Errors: those of `read`; DataNotUtf8 and LineTooLong with the
  /// number of the line, after which the next one can be read.
  Status next(std::string &turn, bool &isEnd);

private:
  Status nextLine(std::string &line, bool &isEnd, bool &isTooLong);

  Read read;
  Ask ask;
  std::string bytes; ///< that no line has had yet
  bool atEnd = false;
  uint64_t number = 0; ///< of the last line, from 1
};

} // namespace hone::rt
