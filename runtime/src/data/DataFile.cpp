//===- DataFile.cpp - The bytes of a data file ----------------------------===//

#include "data/DataFile.h"

#include "data/DataLines.h"
#include "data/Gzip.h"
#include "text/TextBytes.h"

#include <algorithm>
#include <cctype>

namespace hone::rt {

Status DataFile::check(const MappedFile &file) {
  static constexpr const char *Unpack = "decompress it first, or with gzip";
  static constexpr struct {
    std::string_view begin;
    const char *what, *remedy;
  } Others[] = {
      {"PAR1", "a Parquet file",
       "pip install pyarrow, then python3 -c 'import json, pyarrow.parquet as "
       "p; [print(json.dumps(r, default=str)) for b in p.ParquetFile(\"FILE\")"
       ".iter_batches() for r in b.to_pylist()]' > FILE.jsonl"},
      {"ARROW1", "an Arrow file", "write it with Dataset.to_json of datasets"},
      {"\xFF\xFF\xFF\xFF", "an Arrow file",
       "write it with Dataset.to_json of datasets"},
      {"PK\x03\x04", "a zip archive or a spreadsheet",
       "unpack it, or save the sheet as .csv"},
      {"\x28\xB5\x2F\xFD", "compressed with Zstandard", Unpack},
      {"\xFD\x37zXZ", "compressed with xz", Unpack},
      {"BZh", "compressed with bzip2", Unpack},
  };
  const std::string_view bytes = file.bytes();
  for (const auto &other : Others)
    if (bytes.substr(0, other.begin.size()) == other.begin &&
        (other.begin != "BZh" || bytes.substr(4, 2) == "1A"))
      return Status(ErrorCode::OtherData, file.path(),
                    std::string("this is ") + other.what +
                        ", which Hone does not read",
                    other.remedy);
  return Status::ok();
}

Result<DataFile> DataFile::open(MappedFile given, const std::string &directory,
                                const std::function<Status()> &onProgress) {
  DataFile out;
  out.path = given.path();
  out.mapped = std::move(given);
  if (isGzip(out.mapped.bytes())) {
    HONE_ASSIGN(OutputFile plain, OutputFile::createUnnamed(directory));
    HONE_TRY(decompress(out.mapped, plain, onProgress));
    HONE_ASSIGN(out.mapped, plain.map());
  }
  out.all = out.mapped.bytes();
  HONE_TRY(checkBeginning(out.path, out.all));
  if (out.all.substr(0, 3) == "\xEF\xBB\xBF") // a byte order mark is no text
    out.all.remove_prefix(3);
  if (out.withoutSpaceAtEnd().empty())
    return Status(ErrorCode::EmptyData, out.path,
                  "expected training data but the file is empty",
                  "give a text file or a JSONL file with samples");
  return std::move(out);
}

std::string_view DataFile::withoutSpaceAtEnd() const {
  std::string_view text = all;
  while (!text.empty()) {
    const size_t start =
        text.size() - std::min<size_t>(text.size(), MappedFile::VisitBytes);
    const size_t last = text.substr(start).find_last_not_of(" \t\r\n");
    mapped.release(uint64_t(text.data() - mapped.data()) + start,
                   2 * MappedFile::VisitBytes);
    if (last != std::string_view::npos)
      return text.substr(0, start + last + 1);
    text = text.substr(0, start);
  }
  return text;
}

bool DataFile::hasRecords() const {
  const FileKind kind = kindOf(path);
  if (kind != FileKind::Unnamed)
    return kind != FileKind::Text;
  if (JsonRecords::isArray(all.substr(0, DataLines::LongestLine))) {
    const size_t bracket = all.find('[');
    const size_t next = all.find_first_not_of(" \t\r\n", bracket + 1);
    return next != std::string_view::npos && all[next] == '{';
  }
  const std::string_view start = all.substr(0, DataLines::LongestLine + 1);
  const std::string_view line = start.substr(0, start.find('\n'));
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '{' &&
         (line.size() > DataLines::LongestLine || DataLines::isObject(line));
}

/// Whether a first line names columns, one of them as a data format names it.
static bool looksLikeHeader(std::string_view line, char delimiter) {
  bool isKnown = false, isOne = true;
  while (!line.empty()) {
    const size_t end = std::min(line.find(delimiter), line.size());
    std::string_view column = line.substr(0, end);
    isOne &= end == line.size();
    line.remove_prefix(std::min(end + 1, line.size()));
    if (column.size() > 1 && column.front() == '"' && column.back() == '"')
      column = column.substr(1, column.size() - 2);
    const bool isName = !column.empty() &&
                        std::all_of(column.begin(), column.end(), [](char c) {
                          return std::isalnum(uint8_t(c)) != 0 || c == '_';
                        });
    if (!isName)
      return false;
    isKnown |= DataLines::isKey(std::string(column));
  }
  return isKnown && !isOne;
}

Status DataFile::refuseUnnamedTable() const {
  std::string_view line = all.substr(0, DataLines::LongestLine);
  line = line.substr(0, line.find('\n'));
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  if (kindOf(path) == FileKind::Text ||
      !(looksLikeHeader(line, ',') || looksLikeHeader(line, '\t')))
    return Status::ok();
  return Status(ErrorCode::OtherData, path,
                "this is a table, since its first line names columns",
                "call it .csv or .tsv; to train on the file as one text, call "
                "it .txt");
}

} // namespace hone::rt
