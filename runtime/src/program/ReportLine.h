//===- ReportLine.h - A line of report.html -------------------------------===//
//
// `<script>add(["kind",step,...])</script>`, and rows of a table for a browser
// without scripts. The values are JSON in which no '<' stands, so nothing of
// them ends the element; and a line that was cut off is a script without an
// end, which no browser runs.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone::rt {

/// `text` in markup: bytes that are no character are shown as codes.
std::string escapeMarkup(std::string_view text);

/// Writes a line. Commas come by themselves; nothing is allocated once a line
/// of this length was written.
class ReportLine {
public:
  /// Begins a line anew, of facts known after `step` steps.
  void begin(std::string_view kind, uint64_t step);
  /// '{' or '[', and their ends.
  void open(char bracket);
  void close(char bracket);
  ReportLine &key(std::string_view name);
  void text(std::string_view value);
  void number(double value); ///< null unless it is finite
  void whole(uint64_t value);
  void boolean(bool value);
  /// [name, value]
  void row(std::string_view name, std::string_view value);
  /// JSON as Json::parse() takes it, in other words of the same meaning.
  void json(std::string_view value);

  /// Ends the values. The rest of the line is for a browser without scripts.
  void endValues();
  void beginRow();
  void cell(std::string_view text, int columns = 1);
  /// A number as a person reads it; an empty cell for NaN.
  void numberCell(const char *format, double value);

  /// The whole line, with its end.
  std::string_view end();

private:
  void separate();
  void escape(std::string_view quoted);

  std::string line, quoted;
  bool isFirst = true;
};

/// A line as it was read.
struct ReportEntry {
  std::string_view kind;
  uint64_t step = 0;
  std::string_view values; ///< the array, as JSON
  uint64_t size = 0;       ///< bytes of the line, with its end
};

/// The line at the front of `text`; nothing if there is none that is whole.
std::optional<ReportEntry> readReportLine(std::string_view text);

} // namespace hone::rt
