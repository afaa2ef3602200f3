//===- TableRecords.cpp - Rows of a table as JSON objects -----------------===//

#include "data/TableRecords.h"

#include "base/Json.h"
#include "base/JsonReader.h"
#include "base/Utf8.h"
#include "text/TextBytes.h"

#include <algorithm>

namespace hone::rt {

static constexpr const char *QuoteRemedy =
    "write a cell with separators, quotes or line ends in double quotes, and "
    "quotes in it twice";

/// A comma; in a .csv whose first line has none, the semicolon that
/// spreadsheets write where numbers have a comma, or a tab.
static char separatorOf(std::string_view content, FileKind kind) {
  if (kind == FileKind::Tsv)
    return '\t';
  std::string_view first = content.substr(0, 64 * 1024);
  first = first.substr(0, first.find('\n'));
  for (char each : {',', ';', '\t'})
    if (first.find(each) != std::string_view::npos)
      return each;
  return ',';
}

std::unique_ptr<Records> openTable(std::string_view content,
                                   const std::string &path, FileKind kind,
                                   HoldsJson holdsJson) {
  return std::make_unique<TableRecords>(content, path, kind,
                                        std::move(holdsJson));
}

TableRecords::TableRecords(std::string_view content, std::string path,
                           FileKind kind, HoldsJson holdsJson)
    : content(content), path(std::move(path)),
      separator(separatorOf(content, kind)), holdsJson(std::move(holdsJson)) {}

void TableRecords::rewind() {
  at = line = 0;
  nextLine = 1;
  columns.clear();
  broken = false;
}

Status TableRecords::bad(ErrorCode code, uint64_t where,
                         const std::string &problem,
                         const std::string &remedy) const {
  return Status(code, path + ":" + std::to_string(where), problem, remedy);
}

Status TableRecords::breakOff(uint64_t where, const std::string &problem,
                              const std::string &remedy) {
  broken = true;
  return bad(ErrorCode::BadLine, where, problem, remedy);
}

/// Takes the cell at `at`, and the separator or the line end after it.
Status TableRecords::takeCell(Cell &cell, bool &isLast) {
  cell.isQuoted = at < content.size() && content[at] == '"';
  if (cell.isQuoted) {
    const uint64_t opened = nextLine, begin = ++at;
    for (;; ++at) {
      if (at >= content.size())
        return breakOff(opened,
                        "found a quote that is not closed before the file ends",
                        QuoteRemedy);
      nextLine += content[at] == '\n';
      if (content[at] != '"')
        continue;
      if (at + 1 >= content.size() || content[at + 1] != '"')
        break;
      ++at;
    }
    cell.bytes = content.substr(begin, at - begin);
    ++at;
    if (content.substr(at, 2) == "\r\n" || content.substr(at) == "\r")
      ++at;
  } else {
    const uint64_t begin = at;
    while (at < content.size() && content[at] != separator &&
           content[at] != '\n')
      ++at;
    cell.bytes = content.substr(begin, at - begin);
    const bool endsLine = at >= content.size() || content[at] == '\n';
    if (endsLine && !cell.bytes.empty() && cell.bytes.back() == '\r')
      cell.bytes.remove_suffix(1);
    if (cell.bytes.find('\r') != std::string_view::npos)
      return breakOff(nextLine,
                      "found a carriage return that no line feed follows",
                      "write line ends as \\n or \\r\\n, and cells with others "
                      "in double quotes");
  }
  isLast = at >= content.size() || content[at] == '\n';
  if (!isLast && content[at] != separator)
    return breakOff(nextLine, "found text after the quote that closes a cell",
                    QuoteRemedy);
  nextLine += at < content.size() && content[at] == '\n';
  at += at < content.size();
  return Status::ok();
}

/// Leaves the cells of the next row that is not empty in `cells`, none at the
/// end. Of a row that is too long it finds the end, so that the next is known.
Status TableRecords::takeRow(uint64_t longest) {
  cells.clear();
  while (at < content.size() &&
         (content[at] == '\n' || content.substr(at, 2) == "\r\n")) {
    at += content[at] == '\r' ? 2 : 1;
    ++nextLine;
  }
  line = nextLine;
  const uint64_t begin = at;
  bool hasMore = false;
  for (bool isLast = at >= content.size(); !isLast;) {
    Cell cell{};
    HONE_TRY(takeCell(cell, isLast));
    if (cells.size() < MostColumns)
      cells.push_back(cell);
    else
      hasMore = true;
  }
  if (at - begin > longest + 1)
    return bad(ErrorCode::LineTooLong, line,
               "expected rows of at most " + std::to_string(longest) +
                   " bytes but found a longer one",
               "split the sample, or leave out columns that are not used");
  if (hasMore)
    return bad(ErrorCode::BadLine, line,
               "expected at most " + std::to_string(MostColumns) +
                   " columns but found more",
               "leave out those that are not used");
  for (const Cell &cell : cells)
    if (findNoText(cell.bytes) != std::string_view::npos)
      return bad(ErrorCode::DataNotUtf8, line,
                 "expected UTF-8 text but found bytes that are none",
                 utf8Remedy());
  return Status::ok();
}

/// Appends the cell as it is meant: two quotes in quotes are one.
void TableRecords::appendText(const Cell &cell) {
  std::string_view rest = cell.bytes;
  while (cell.isQuoted) {
    const size_t quote = rest.find('"');
    if (quote == std::string_view::npos)
      break;
    record.append(rest.substr(0, quote + 1));
    rest.remove_prefix(quote + 2);
  }
  record.append(rest);
}

/// Appends the cell as a value. Its text must not be able to end it.
Status TableRecords::appendJson(const Cell &cell, const Column &column) {
  const size_t begin = record.size();
  appendText(cell);
  const bool isJson = column.holdsJson && begin < record.size() &&
                      (record[begin] == '[' || record[begin] == '{');
  if (isJson) {
    JsonReader reader(std::string_view(record).substr(begin), path,
                      ErrorCode::BadLine);
    reader.skip() && reader.finish();
    if (reader.ok())
      return Status::ok();
    const Message message = reader.status().message();
    return bad(ErrorCode::BadLine, line,
               "expected JSON in the column " +
                   column.key.substr(0, column.key.size() - 1) + ", but " +
                   message.problem,
               "write lists as json.dumps does, not as Python prints them");
  }
  std::string quoted = jsonString(std::string_view(record).substr(begin));
  record.resize(begin);
  record += quoted;
  return Status::ok();
}

Status TableRecords::readHeader() {
  // Names of columns are short.
  if (Status status = takeRow(64 * 1024); !status.isOk()) {
    broken = true;
    return status;
  }
  std::vector<std::string> names;
  for (const Cell &cell : cells) {
    record.clear();
    appendText(cell);
    names.push_back(record);
    if (!record.empty() &&
        std::find(names.begin(), names.end() - 1, record) != names.end() - 1) {
      broken = true;
      return bad(ErrorCode::BadLine, line,
                 "the column \"" + shortened(record, 64) + "\" is there twice",
                 "keep one of the two");
    }
    std::string key = jsonString(record);
    columns.push_back({key + ":", holdsJson(record)});
  }
  return Status::ok();
}

Status TableRecords::next(std::string_view &out, bool &more, uint64_t longest) {
  if (columns.empty())
    HONE_TRY(readHeader());
  HONE_TRY(takeRow(longest));
  more = !cells.empty();
  if (!more)
    return Status::ok();
  if (cells.size() != columns.size())
    return bad(ErrorCode::BadLine, line,
               "expected " + std::to_string(columns.size()) +
                   " cells as in the first row but found " +
                   std::to_string(cells.size()),
               QuoteRemedy);
  record.clear();
  record += "{";
  for (size_t i = 0; i < cells.size(); ++i) {
    // A list that is not there has no JSON; nor has a column without a name.
    if ((columns[i].holdsJson && cells[i].bytes.empty()) ||
        columns[i].key == "\"\":")
      continue;
    record += record.size() == 1 ? "" : ",";
    record += columns[i].key;
    HONE_TRY(appendJson(cells[i], columns[i]));
    if (record.size() > longest)
      return bad(ErrorCode::LineTooLong, line,
                 "expected rows of at most " + std::to_string(longest) +
                     " bytes as JSON but found a longer one",
                 "split the sample, or leave out columns that are not used");
  }
  record += "}";
  out = record;
  return Status::ok();
}

/// The reader saw JSON that is in no file: the row is the place.
Status TableRecords::moved(const Status &status) const {
  Message message = status.message();
  const std::string prefix = path + ":";
  if (message.place.compare(0, prefix.size(), prefix) != 0)
    return status;
  message.place = prefix + std::to_string(line);
  return Status(*status.errorCode(), std::move(message));
}

} // namespace hone::rt
