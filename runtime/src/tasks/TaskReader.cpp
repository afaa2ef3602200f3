//===- TaskReader.cpp - Examples of a task from a file --------------------===//

#include "tasks/TaskReader.h"

#include "base/Utf8.h"
#include "text/TextBytes.h"

#include <algorithm>

namespace hone::rt {

static constexpr const char *FormatRemedy =
    "give the task's file as GLUE, SuperGLUE or the datasets library have it";

/// The name decides where it says so, else how the file begins.
static bool looksLikeTable(std::string_view content, std::string_view path) {
  const FileKind kind = kindOf(path);
  if (kind == FileKind::Tsv || kind == FileKind::Json)
    return kind == FileKind::Tsv;
  const size_t first = content.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ||
         (content[first] != '{' && content[first] != '[');
}

TaskReader::TaskReader(const Task &task, std::string_view content,
                       std::string path)
    : task(task), content(content), path(std::move(path)),
      isTable(looksLikeTable(content, this->path)),
      records(content, this->path) {}

TaskReader::Use TaskReader::useOf(const std::string &name) const {
  for (size_t i = 0; i < task.fields.size(); ++i)
    for (const char *own : task.fields[i].names)
      if (name == own)
        return {Use::Text, i};
  for (const char *own : task.labelNames)
    if (name == own)
      return {Use::Label, 0};
  return {};
}

Status TaskReader::bad(const std::string &problem,
                       const std::string &remedy) const {
  const uint64_t number = isTable ? line : records.number();
  return Status(ErrorCode::BadExample, path + ":" + std::to_string(number),
                problem, remedy);
}

/// "\"premise\" or \"sentence1\""
static std::string anyOf(const std::vector<const char *> &names) {
  std::string out;
  for (const char *name : names)
    out += std::string(out.empty() ? "\"" : " or \"") + name + "\"";
  return out;
}

static bool equalsWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

Status TaskReader::findLabel(const std::string &text, size_t &out) const {
  std::string all;
  for (size_t i = 0; i < task.labels.size(); ++i)
    for (const char *name : task.labels[i].names) {
      if (equalsWithoutCase(text, name)) {
        out = i;
        return Status::ok();
      }
      all += std::string(all.empty() ? "" : ", ") + name;
    }
  const std::string expected = std::string("expected a label of ") + task.name +
                               " (" + all + ") but found ";
  if (text == "-1")
    return bad(expected + "-1, which test sets have for labels that are kept "
                          "secret",
               "give the train or the validation split");
  return bad(expected + "'" + shortened(text, 64) + "'", FormatRemedy);
}

/// Checks that the example has all fields.
Status TaskReader::finish(TaskExample &example) {
  for (size_t i = 0; i < task.fields.size(); ++i) {
    const std::string names = anyOf(task.fields[i].names);
    if (!seen[i])
      return bad(std::string("expected an example of ") + task.name + " with " +
                     names + " but found none",
                 FormatRemedy);
    if (task.fields[i].write(example.texts[i]).empty() ||
        example.texts[i].empty())
      return bad("expected text in " + names + " but it is empty",
                 "leave such examples out");
  }
  if (!hasLabel)
    return bad(std::string("expected an example of ") + task.name + " with " +
                   anyOf(task.labelNames) + " but found none",
               "give the train or the validation split: test sets have no "
               "labels");
  return findLabel(label, example.label);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Without its line end.
Status TaskReader::takeRow(std::string_view &row) {
  row = content.substr(at, Longest + 1);
  ++line;
  row = row.substr(0, row.find('\n'));
  if (row.size() > Longest) {
    const size_t end = content.find('\n', at);
    at = end == std::string_view::npos ? content.size() : end + 1;
    return Status(ErrorCode::LineTooLong, path + ":" + std::to_string(line),
                  "expected lines of at most " + std::to_string(Longest) +
                      " bytes but found a longer one",
                  FormatRemedy);
  }
  at = std::min<uint64_t>(at + row.size() + 1, content.size());
  if (!row.empty() && row.back() == '\r')
    row.remove_suffix(1);
  if (findNoText(row) != std::string_view::npos)
    return bad("expected UTF-8 text but found other bytes", utf8Remedy());
  return Status::ok();
}

/// Calls each(cell) for the cells of `row`; their number.
template <typename Each>
static size_t forEachCell(std::string_view row, Each each) {
  size_t count = 0;
  for (;;) {
    const size_t tab = row.find('\t');
    each(count++, row.substr(0, tab));
    if (tab == std::string_view::npos)
      return count;
    row.remove_prefix(tab + 1);
  }
}

Status TaskReader::readHeader() {
  std::string_view row;
  HONE_TRY(takeRow(row));
  // An empty table has as many columns as a line can have bytes.
  if (std::count(row.begin(), row.end(), '\t') >= 256)
    return bad("expected at most 256 columns but found more", FormatRemedy);
  std::string twice;
  forEachCell(row, [&](size_t, std::string_view cell) {
    const Use use = useOf(std::string(cell));
    for (const Use &other : columns)
      if (use.kind != Use::Nothing && other.kind == use.kind &&
          other.field == use.field)
        twice = cell;
    columns.push_back(use);
  });
  if (!twice.empty())
    return bad("the column \"" + twice + "\" is there twice",
               "keep one of the two");
  const auto has = [&](Use::Kind kind, size_t field) {
    return std::any_of(columns.begin(), columns.end(), [&](const Use &use) {
      return use.kind == kind && use.field == field;
    });
  };
  const std::string what =
      std::string("expected a first line that names the columns of ") +
      task.name + ", with ";
  for (size_t i = 0; i < task.fields.size(); ++i)
    if (!has(Use::Text, i))
      return bad(what + anyOf(task.fields[i].names) + ", but found '" +
                     shortened(row, 128) + "'",
                 "name the columns, with a tab between two");
  if (!has(Use::Label, 0))
    return bad(what + anyOf(task.labelNames) + ", but found '" +
                   shortened(row, 128) + "'",
               "give the train or the validation split: test sets have no "
               "labels");
  if (at >= content.size())
    return Status(ErrorCode::EmptyData, path,
                  "expected examples but found only the names of columns",
                  "give a file with examples");
  return Status::ok();
}

Status TaskReader::readRow(TaskExample &example, bool &more) {
  if (!hasHeader)
    HONE_TRY(readHeader());
  hasHeader = true;
  more = at < content.size();
  if (!more)
    return Status::ok();
  std::string_view row;
  HONE_TRY(takeRow(row));
  example.number = line;
  const size_t count = forEachCell(row, [&](size_t i, std::string_view cell) {
    if (i >= columns.size())
      return;
    if (columns[i].kind == Use::Text) {
      seen[columns[i].field] = true;
      example.texts[columns[i].field] = cell;
    } else if (columns[i].kind == Use::Label) {
      hasLabel = true;
      label = cell;
    }
  });
  if (count != columns.size())
    return bad("expected " + std::to_string(columns.size()) +
                   " columns as in the first line but found " +
                   std::to_string(count),
               "tabs stand between columns only, and each line is an example");
  return finish(example);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Reads a label as the text that names it.
bool TaskReader::readLabel(JsonReader &reader, std::string &text) {
  const uint64_t start = reader.lastValue();
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  Json value;
  if (kind == Json::Kind::Array || kind == Json::Kind::Object)
    return reader.failAt(ErrorCode::BadExample, start,
                         std::string("expected a label but found ") +
                             describe(kind),
                         FormatRemedy);
  if (!reader.value(value))
    return false;
  if (value.isString())
    text = value.string();
  else if (value.isBool())
    text = value.boolean() ? "true" : "false";
  else if (value.isInteger())
    text = std::to_string(value.integer());
  else
    return reader.failAt(ErrorCode::BadExample, start,
                         std::string("expected a label but found ") +
                             describe(kind),
                         FormatRemedy);
  return true;
}

/// `isInner`: of WSC's "target", which has texts alone.
bool TaskReader::readMembers(JsonReader &reader, TaskExample &example,
                             bool isInner) {
  std::string key;
  for (reader.beginObject(); reader.nextMember(key);) {
    const Use use = useOf(key);
    if (use.kind == Use::Nothing || (isInner && use.kind == Use::Label)) {
      Json::Kind kind;
      if (!reader.peek(kind))
        return false;
      const bool isTarget =
          !isInner && key == "target" && kind == Json::Kind::Object;
      if (!(isTarget ? readMembers(reader, example, true) : reader.skip()))
        return false;
      continue;
    }
    const bool isText = use.kind == Use::Text;
    if (isText ? bool(seen[use.field]) : hasLabel)
      return reader.failAt(ErrorCode::BadExample, reader.lastToken(),
                           "the key \"" + shortened(key, 64) +
                               "\", or another name of it, is there twice",
                           "keep one of the two");
    if (isText)
      seen[use.field] = true;
    else
      hasLabel = true;
    if (!(isText ? reader.string(example.texts[use.field])
                 : readLabel(reader, label)))
      return false;
  }
  return reader.ok();
}

Status TaskReader::readRecord(TaskExample &example, bool &more) {
  std::string_view text;
  const bool isFirst = records.position() == 0;
  Status status = records.next(text, more, Longest);
  if (status.isOk() && !more && isFirst)
    return Status(ErrorCode::EmptyData, path,
                  "expected examples but the array is empty",
                  "give a file with examples");
  if (!status.isOk() || !more)
    return status;
  example.number = records.number();
  JsonReader reader(text, path, ErrorCode::BadLine);
  if (!readMembers(reader, example, /*isInner=*/false) || !reader.finish())
    return records.moved(reader.status());
  return finish(example);
}

Status TaskReader::next(TaskExample &example, bool &more) {
  example.texts.assign(task.fields.size(), "");
  seen.assign(task.fields.size(), false);
  hasLabel = false;
  label.clear();
  return isTable ? readRow(example, more) : readRecord(example, more);
}

} // namespace hone::rt
