//===- ReportFile.cpp - report.html on the disk ---------------------------===//

#include "program/ReportFile.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "program/ReportLine.h"
#include "program/StandardOutput.h"

#include <cstdio>
#include <limits>

namespace hone::rt {

/// With {{title}} in its places.
static constexpr std::string_view page =
#include "program/report.html.inc"
    ;
static constexpr std::string_view titleMark = "{{title}}";
/// The page up to its first mark is the same in all pages.
static constexpr std::string_view sameInAll =
    page.substr(0, page.find(titleMark));
/// Its last words, after which lines follow.
static constexpr std::string_view lastOfHead =
    page.substr(page.rfind("<script>"));

std::string reportHead(std::string_view title) {
  const std::string name = escapeMarkup(title);
  std::string out;
  for (std::string_view rest = page; !rest.empty();) {
    const size_t mark = std::min(rest.find(titleMark), rest.size());
    out += rest.substr(0, mark);
    rest.remove_prefix(mark);
    if (!rest.empty()) {
      out += name;
      rest.remove_prefix(titleMark.size());
    }
  }
  return out;
}

size_t reportLinesAt(std::string_view text) {
  if (text.substr(0, sameInAll.size()) != sameInAll)
    return std::string_view::npos;
  const size_t last = text.find(lastOfHead);
  return last == std::string_view::npos ? last : last + lastOfHead.size();
}

void ReportFile::giveUp(const std::string &doing, const std::string &reason) {
  file.close();
  printWarning(ErrorCode::WriteFailed, path + ": " + doing + ": " + reason +
                                           "; the run goes on without it");
}

bool ReportFile::openAt(const std::string &name, uint64_t bytes) {
  path = name;
  size = bytes;
  platform::Error error = file.open(path, platform::File::Mode::Append);
  if (!error)
    error = file.truncate(size);
  if (error)
    giveUp("cannot write", error.message());
  return !error;
}

void ReportFile::create(const std::string &name, std::string_view title) {
  path = name;
  file.close();
  const std::string head = reportHead(title);
  if (Status status = writeFile(path, head, FolderSync::Later); !status.isOk())
    return giveUp("cannot write", status.message().problem);
  openAt(path, head.size());
}

/// Whether a line of `kind` is of a run's beginning or end: the run's next
/// process says it again.
static bool isSaidAgain(std::string_view kind) {
  return kind != "step" && kind != "eval";
}

namespace {
/// The part of a page that stays.
struct KeptLines {
  uint64_t size = 0, lastStep = 0;
};
} // namespace

static KeptLines keptLines(std::string_view text, uint64_t completed) {
  KeptLines kept{reportLinesAt(text), 0};
  while (kept.size < text.size()) {
    const std::optional<ReportEntry> line =
        readReportLine(text.substr(kept.size));
    if (!line || line->step > completed ||
        (line->step == completed && isSaidAgain(line->kind)))
      break;
    if (line->kind == "step")
      kept.lastStep = line->step;
    kept.size += line->size;
  }
  return kept;
}

static Result<MappedFile> mapPage(const std::string &path) {
  HONE_ASSIGN(MappedFile found, MappedFile::open(path));
  const std::string_view text = found.bytes();
  if (reportLinesAt(text) == std::string_view::npos)
    return Status(ErrorCode::BadJson, path, "expected a report of this version",
                  "");
  return found;
}

bool ReportFile::resume(const std::string &name, uint64_t completed) {
  KeptLines kept;
  {
    const Result<MappedFile> found = mapPage(name);
    if (!found.isOk())
      return false;
    kept = keptLines(found.value().bytes(), completed);
  }
  return kept.lastStep == completed && openAt(name, kept.size);
}

bool ReportFile::extend(const std::string &name) {
  KeptLines kept;
  {
    const Result<MappedFile> found = mapPage(name);
    if (!found.isOk())
      return false;
    kept =
        keptLines(found.value().bytes(), std::numeric_limits<uint64_t>::max());
  }
  return openAt(name, kept.size);
}

void ReportFile::append(std::string_view line) {
  if (!file.isOpen())
    return;
  if (platform::Error error = file.write(line.data(), line.size())) {
    // A part of a line would end in the next one.
    (void)file.truncate(size);
    return giveUp("cannot write", error.message());
  }
  size += line.size();
}

} // namespace hone::rt
