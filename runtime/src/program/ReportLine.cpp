//===- ReportLine.cpp - A line of report.html -----------------------------===//

#include "program/ReportLine.h"

#include "base/Json.h"
#include "base/Utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace hone::rt {

static constexpr std::string_view front = "<script>add([\"";
static constexpr std::string_view back = "])</script>";
/// More than any line has that is written here.
static constexpr size_t longestLine = 4 << 20;

std::string escapeMarkup(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    const size_t length = utf8SequenceLength(text, at);
    const bool isCode = length == 0 || (c < 0x20 && c != '\n') || c == 0x7f;
    if (isCode ||
        std::string_view("<>&\"'").find(char(c)) != std::string_view::npos) {
      char code[16];
      snprintf(code, sizeof(code), isCode ? "\\x%02x" : "&#%u;", c);
      out += code;
    } else {
      out += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

void ReportLine::separate() {
  if (!isFirst)
    line += ',';
  isFirst = false;
}

void ReportLine::begin(std::string_view kind, uint64_t step) {
  line.assign(front);
  line += kind;
  line += '"';
  isFirst = false;
  whole(step);
}

void ReportLine::open(char bracket) {
  separate();
  line += bracket;
  isFirst = true;
}

void ReportLine::close(char bracket) {
  line += bracket;
  isFirst = false;
}

ReportLine &ReportLine::key(std::string_view name) {
  text(name);
  line += ':';
  isFirst = true;
  return *this;
}

/// Escapes the signs of markup, and line ends that only JavaScript knows.
void ReportLine::escape(std::string_view from) {
  for (size_t at = 0; at < from.size(); ++at) {
    const char c = from[at];
    if (c == '<' || c == '>' || c == '&') {
      char code[8];
      snprintf(code, sizeof(code), "\\u%04x", unsigned(c));
      line += code;
    } else if (from.compare(at, 3, "\xe2\x80\xa8") == 0 ||
               from.compare(at, 3, "\xe2\x80\xa9") == 0) {
      line += from[at + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      line += c;
    }
  }
}

void ReportLine::text(std::string_view value) {
  separate();
  quoted.clear();
  quoted += jsonString(value);
  escape(quoted);
}

void ReportLine::json(std::string_view value) {
  separate();
  escape(value);
}

void ReportLine::number(double value) {
  separate();
  char digits[32];
  if (!std::isfinite(value)) {
    line += "null";
    return;
  }
  // The fewest digits that read back to the bit.
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  line.append(digits, size_t(end.ptr - digits));
}

void ReportLine::whole(uint64_t value) {
  separate();
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  line.append(digits, size_t(end.ptr - digits));
}

void ReportLine::boolean(bool value) {
  separate();
  line += value ? "true" : "false";
}

void ReportLine::row(std::string_view name, std::string_view value) {
  open('[');
  text(name);
  text(value);
  close(']');
}

void ReportLine::endValues() { line += back; }

void ReportLine::beginRow() { line += "<tr>"; }

void ReportLine::cell(std::string_view text, int columns) {
  char tag[32];
  snprintf(tag, sizeof(tag), columns == 1 ? "<td>" : "<td colspan=%d>",
           columns);
  line += tag;
  // A line of the page is a line of the file.
  for (char c : escapeMarkup(text))
    if (c == '\n')
      line += "<br>";
    else
      line += c;
}

void ReportLine::numberCell(const char *format, double value) {
  char shown[48] = "";
  if (!std::isnan(value))
    snprintf(shown, sizeof(shown), format, value);
  line += "<td>";
  line += shown;
}

std::string_view ReportLine::end() {
  line += '\n';
  return line;
}

std::optional<ReportEntry> readReportLine(std::string_view text) {
  text = text.substr(0, longestLine);
  if (text.substr(0, front.size()) != front)
    return std::nullopt;
  const size_t end = text.find('\n');
  const size_t closed = text.find('<', 1);
  if (end == std::string_view::npos || closed > end ||
      text.substr(0, end).find('\0') != std::string_view::npos ||
      closed < front.size() + 2 || text.substr(closed - 2, back.size()) != back)
    return std::nullopt;
  ReportEntry entry;
  entry.size = end + 1;
  const size_t array = front.size() - 2;
  entry.values = text.substr(array, closed - 1 - array);
  const size_t quote = text.find('"', front.size());
  if (quote > closed || text.substr(quote, 2) != "\",")
    return std::nullopt;
  entry.kind = text.substr(front.size(), quote - front.size());
  const char *first = text.data() + quote + 2;
  const auto [rest, error] =
      std::from_chars(first, text.data() + closed, entry.step);
  if (error != std::errc() || (*rest != ',' && *rest != ']'))
    return std::nullopt;
  return entry;
}

} // namespace hone::rt
