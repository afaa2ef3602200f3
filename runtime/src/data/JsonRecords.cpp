//===- JsonRecords.cpp - JSON objects of a file, one at a time ------------===//

#include "data/JsonRecords.h"

#include <algorithm>
#include <cstdlib>

namespace hone::rt {

bool JsonRecords::isArray(std::string_view content) {
  const size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && content[first] == '[';
}

std::unique_ptr<Records> openJsonRecords(std::string_view content,
                                         const std::string &path, FileKind,
                                         HoldsJson) {
  return std::make_unique<JsonRecords>(content, path);
}

JsonRecords::JsonRecords(std::string_view content, std::string path)
    : content(content), path(std::move(path)),
      isOneArray(isArray(content.substr(0, Longest))),
      elements(content, this->path, ErrorCode::BadLine) {}

void JsonRecords::rewind() {
  at = counted = lineStart = line = column = 0;
  lines = 1;
  elements = JsonReader(content, path, ErrorCode::BadLine);
}

Status JsonRecords::bad(ErrorCode code, const std::string &problem,
                        const std::string &remedy) const {
  return Status(code, path + ":" + std::to_string(line), problem, remedy);
}

Status JsonRecords::refuseLong(uint64_t most) const {
  return bad(ErrorCode::LineTooLong,
             std::string("expected ") + unit() + "s of at most " +
                 std::to_string(most) + " bytes but found a longer one",
             "split the sample, or leave out keys that are not used");
}

/// Without its line end.
Status JsonRecords::takeLine(std::string_view &text, uint64_t longest) {
  const std::string_view start = content.substr(at, longest + 1);
  ++line;
  text = start.substr(0, start.find('\n'));
  if (text.size() > longest) {
    const size_t end = content.find('\n', at);
    at = end == std::string_view::npos ? content.size() : end + 1;
    return refuseLong(longest);
  }
  at = std::min<uint64_t>(at + text.size() + 1, content.size());
  return Status::ok();
}

/// The next element of the array. It is passed over first, so that one of any
/// length takes no memory.
Status JsonRecords::takeElement(std::string_view &element, bool &more,
                                uint64_t longest) {
  if (at == 0)
    elements.beginArray();
  more = elements.nextElement();
  if (!more) {
    if (elements.ok())
      elements.finish();
    at = content.size();
    return elements.status();
  }
  const uint64_t start = elements.lastValue();
  const std::string_view passed = content.substr(counted, start - counted);
  lines += uint64_t(std::count(passed.begin(), passed.end(), '\n'));
  const size_t lineEnd = passed.rfind('\n');
  if (lineEnd != std::string_view::npos)
    lineStart = counted + lineEnd + 1;
  counted = start;
  line = lines;
  column = start - lineStart;
  if (!elements.skip())
    return elements.status();
  at = elements.lastValue();
  element = content.substr(start, at - start);
  return element.size() > longest ? refuseLong(longest) : Status::ok();
}

Status JsonRecords::next(std::string_view &record, bool &more,
                         uint64_t longest) {
  longest = std::min(longest, Longest);
  if (isOneArray)
    return takeElement(record, more, longest);
  more = at < content.size();
  return more ? takeLine(record, longest) : Status::ok();
}

/// The record begins at line 1 and column 1 for its reader.
Status JsonRecords::moved(const Status &status) const {
  Message message = status.message();
  const std::string prefix = path + ":";
  if (message.place.compare(0, prefix.size(), prefix) != 0)
    return status;
  char *end = nullptr;
  const uint64_t inner =
      std::strtoull(message.place.c_str() + prefix.size(), &end, 10);
  if (inner == 0 || *end != ':')
    return status;
  const uint64_t innerColumn = std::strtoull(end + 1, nullptr, 10);
  message.place = prefix + std::to_string(line + inner - 1) + ":" +
                  std::to_string(innerColumn + (inner == 1 ? column : 0));
  return Status(*status.errorCode(), std::move(message));
}

} // namespace hone::rt
