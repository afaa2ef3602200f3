//===- Pieces.cpp - Messages that are put together in one place -----------===//

#include "exchange/Pieces.h"

namespace hone::rt {

std::string joined(Pieces pieces) {
  std::string out;
  for (std::string_view piece : pieces)
    out += piece;
  return out;
}

std::string quoted(const std::vector<std::string> &names) {
  std::string out;
  for (const std::string &name : names)
    out += joined({out.empty() ? "'" : ", '", name, "'"});
  return out;
}

Status failed(ErrorCode code, Pieces place, Pieces problem,
              std::string_view remedy) {
  return Status(code,
                Message{joined(place), joined(problem), std::string(remedy)});
}

} // namespace hone::rt
