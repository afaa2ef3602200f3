//===- ChatInput.cpp - The turns of a person, line by line ----------------===//

#include "program/ChatInput.h"

#include "base/Utf8.h"
#include "text/TextBytes.h"

namespace hone::rt {

/// Keeps only the end of a line that is too long, which says if the line goes
/// on.
Status ChatInput::nextLine(std::string &line, bool &isEnd, bool &isTooLong) {
  line.clear();
  for (;;) {
    const size_t end = bytes.find('\n');
    const bool isWhole = end != std::string::npos;
    line.append(bytes, 0, end);
    bytes.erase(0, isWhole ? end + 1 : end);
    if (line.size() > LongestTurn) {
      isTooLong = true;
      line.erase(0, line.size() - 1);
    }
    isEnd = !isWhole && atEnd && line.empty();
    if (isWhole || atEnd)
      break;
    HONE_TRY(read(bytes, atEnd));
  }
  ++number;
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  return Status::ok();
}

Status ChatInput::next(std::string &turn, bool &isEnd) {
  turn.clear();
  bool isTooLong = false;
  std::string line;
  for (bool goesOn = false;; goesOn = true) {
    ask(goesOn);
    bool noLine = false;
    HONE_TRY(nextLine(line, noLine, isTooLong));
    isEnd = noLine && !goesOn && !isTooLong;
    const bool isContinued = !line.empty() && line.back() == '\\';
    if (isContinued)
      line.back() = '\n';
    isTooLong |= turn.size() + line.size() > LongestTurn;
    if (isTooLong)
      turn.clear();
    else
      turn += line;
    if (!isContinued)
      break;
  }
  const std::string place = "standard input:" + std::to_string(number);
  if (isTooLong)
    return Status(ErrorCode::LineTooLong, place,
                  "expects turns of at most " + std::to_string(LongestTurn) +
                      " bytes but got a longer one, which is left out",
                  "say it in several");
  const size_t invalid = findInvalidUtf8(turn);
  if (invalid == std::string::npos)
    return Status::ok();
  return Status(ErrorCode::DataNotUtf8, place,
                "expects UTF-8 text but byte " + std::to_string(invalid + 1) +
                    " of the turn begins no character; the turn is left out",
                "let the terminal write UTF-8, or " + utf8Remedy());
}

} // namespace hone::rt
