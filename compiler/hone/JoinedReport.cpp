//===- JoinedReport.cpp - One page of several runs ------------------------===//
//
// Values are read as JSON, compared with the form that train writes, and
// written again. A page's own markup and scripts go nowhere.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone/JoinedReport.h"

#include "base/Counted.h"
#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "platform/Files.h"
#include "program/ReportFile.h"
#include "program/ReportLine.h"
#include "program/RunReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace hone;
using llvm::StringRef;
using rt::Json;
namespace platform = rt::platform;

Result<std::string> hone::reportOf(const std::string &run) {
  platform::FileInfo info;
  const bool isFolder =
      !platform::inspect(run, info) && info.kind == platform::FileKind::Folder;
  const std::string page = isFolder ? run + "/" + rt::RunReport::FileName : run;
  if (!platform::exists(page))
    return Status(ErrorCode::CannotRead, page, "there is no report",
                  "give the folder of a run; train writes the report there");
  return page;
}

//===----------------------------------------------------------------------===//
// The form of a line
//===----------------------------------------------------------------------===//

/// The kinds of a value, a letter each: n a number or null, s a text, b a
/// truth, l a list of numbers, v a number or three of them, o an object.
static bool isOf(char letter, const Json &value) {
  const auto isNumbers = [](const Json &list) {
    return list.isArray() && llvm::all_of(list.array(), [](const Json &item) {
             return item.isNumber();
           });
  };
  switch (letter) {
  case 'n':
    return value.isNumber() || value.isNull();
  case 's':
    return value.isString();
  case 'b':
    return value.isBool();
  case 'l':
    return isNumbers(value);
  case 'v':
    return isOf('n', value) || (isNumbers(value) && value.array().size() == 3);
  default:
    return value.isObject();
  }
}

static bool hasForm(llvm::ArrayRef<Json> values, StringRef form) {
  return values.size() == form.size() &&
         llvm::all_of(llvm::zip(form, values), [](const auto &pair) {
           return isOf(std::get<0>(pair), std::get<1>(pair));
         });
}

/// Whether `key` of `object` is a list whose items each have the form.
static bool hasRows(const Json &object, StringRef key, StringRef form) {
  const Json *rows = object.find(key);
  return rows && rows->isArray() &&
         llvm::all_of(rows->array(), [&](const Json &row) {
           return row.isArray() && hasForm(row.array(), form);
         });
}

static bool isOf(char letter, const Json &object, StringRef key) {
  const Json *value = object.find(key);
  return value && isOf(letter, *value);
}

static bool isAbout(const Json &run) {
  const Json *planned = run.find("planned"), *format = run.find("format");
  return format && format->isInteger() &&
         uint64_t(format->integer()) == rt::RunReport::Format && planned &&
         isOf('n', *planned, "anonymous") && isOf('n', *planned, "resident") &&
         isOf('n', run, "steps") && isOf('s', run, "name") &&
         isOf('s', run, "header") && isOf('s', run, "data") &&
         hasRows(run, "plan", "sn") && hasRows(run, "settings", "ss") &&
         hasRows(run, "program", "ss");
}

static bool isComparison(const Json &compared) {
  const Json *layers = compared.find("layers");
  if (!isOf('s', compared, "method") || !isOf('s', compared, "reference") ||
      !isOf('n', compared, "steps") || !layers || !layers->isArray())
    return false;
  return llvm::all_of(layers->array(), [](const Json &layer) {
    return isOf('s', layer, "name") &&
           llvm::all_of(
               std::initializer_list<StringRef>{"cosine", "sign_agreement",
                                                "relative_error"},
               [&](StringRef key) {
                 const Json *measure = layer.find(key);
                 return !measure ||
                        (isOf('l', *measure) && measure->array().size() == 3);
               });
  });
}

/// `values` begin with the kind and the step.
static bool isKnown(llvm::ArrayRef<Json> values) {
  if (values.size() < 2 || !values[0].isString() || !values[1].isInteger())
    return false;
  const StringRef kind = values[0].string();
  const StringRef form = llvm::StringSwitch<StringRef>(kind)
                             .Case("run", "o")
                             .Case("step", "nnnvvvvvvv")
                             .Case("eval", "nnnnb")
                             .Case("sample", "nssnlss")
                             .Case("text", "nssss")
                             .Case("compared", "o")
                             .Case("end", "snnn")
                             .Case("page", "s")
                             .Default("-");
  llvm::ArrayRef<Json> rest = values.drop_front(2);
  return hasForm(rest, form) && (kind != "run" || isAbout(rest[0])) &&
         (kind != "compared" || isComparison(rest[0]));
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

namespace {
/// The figures of a run that a browser without scripts shows.
struct RunFigures {
  double firstLoss = 0, lastLoss = 0, firstEval = 0, lastEval = 0;
  uint64_t steps = 0, evals = 0;

  void add(llvm::ArrayRef<Json> values) {
    const StringRef kind = values[0].string();
    const Json *loss = kind == "step"   ? &values[5]
                       : kind == "eval" ? &values[3]
                                        : nullptr;
    if (!loss || loss->isNull())
      return;
    const double value =
        (loss->isArray() ? loss->array().front() : *loss).number();
    if (kind == "step") {
      firstLoss = steps == 0 ? value : firstLoss;
      lastLoss = value;
      steps = uint64_t(values[1].integer());
    } else {
      firstEval = evals++ == 0 ? value : firstEval;
      lastEval = value;
    }
  }
  std::string text() const {
    std::string out = rt::counted(steps, "step");
    if (steps > 0)
      out += llvm::formatv(", training loss {0:f4} to {1:f4}", firstLoss,
                           lastLoss);
    if (evals > 0)
      out += llvm::formatv(", held-out loss {0:f4} to {1:f4}", firstEval,
                           lastEval);
    return out;
  }
};

class Joined {
public:
  explicit Joined(rt::OutputFile &file) : file(file) {}

  /// The lines of the page at `path`, as a run of this name.
  Status add(const std::string &path, const std::string &name) {
    HONE_ASSIGN(const rt::MappedFile page, rt::MappedFile::open(path));
    const StringRef text(page.bytes().data(), page.bytes().size());
    const size_t first = text.find("\n<script>add(");
    uint64_t damaged = 0;
    bool isBegun = false, isReport = false;
    RunFigures figures;
    for (size_t at = first == StringRef::npos ? text.size() : first + 1;
         at < text.size();) {
      const StringRef rest = text.substr(at);
      const auto line = rt::readReportLine(rest);
      const bool isRow = rest.starts_with("<tr>");
      at += line ? line->size : std::min(rest.find('\n'), rest.size() - 1) + 1;
      Result<Json> values =
          line ? Json::parse(line->values, path)
               : Status(ErrorCode::BadJson, path, "no line", "");
      if (!values.isOk() || !isKnown(values.value().array())) {
        damaged += !isRow;
        continue;
      }
      const bool isPage = line->kind == "page";
      if (isPage && isBegun)
        HONE_TRY(endRun(figures));
      if (!isPage && !isBegun)
        HONE_TRY(beginRun(name));
      isBegun = true;
      isReport |= line->kind == "run" || line->kind == "step";
      if (isPage) {
        HONE_TRY(beginRun(values.value().array()[2].string()));
        continue;
      }
      figures.add(values.value().array());
      HONE_TRY(copy(*line));
    }
    if (!isReport)
      return Status(ErrorCode::CannotRead, path,
                    "expected a report of this version of train, found no "
                    "line of one",
                    "start the run's command again, which makes its report "
                    "from the log");
    if (damaged > 0)
      llvm::errs() << "note: " << path << ": " << damaged
                   << " damaged lines are left out\n";
    return endRun(figures);
  }

private:
  Status beginRun(const std::string &name) {
    row.begin("page", 0);
    row.text(name);
    row.endValues();
    shown = name;
    return file.write(row.end());
  }
  Status copy(const rt::ReportEntry &line) {
    row.begin(line.kind, line.step);
    // The line after the kind and the step stays as it was.
    StringRef rest = line.values;
    rest = rest.drop_front(rest.find(',') + 1);
    const size_t next = rest.find(',');
    if (next != StringRef::npos)
      row.json(rest.drop_front(next + 1).drop_back().str());
    row.endValues();
    return file.write(row.end());
  }
  Status endRun(RunFigures &figures) {
    const std::string line = "<tr><td colspan=7>" +
                             rt::escapeMarkup(shown + ": " + figures.text()) +
                             "\n";
    figures = {};
    return file.write(line);
  }

  rt::OutputFile &file;
  rt::ReportLine row;
  std::string shown;
};
} // namespace

/// A page that joinReports() wrote, or nothing, may be replaced.
static Status checkJoined(const std::string &path) {
  if (!platform::exists(path))
    return Status::ok();
  const Result<rt::MappedFile> found = rt::MappedFile::open(path);
  if (found.isOk()) {
    const std::string_view text = found.value().bytes();
    const size_t lines = text.find("\n<script>add([\"");
    if (lines != std::string_view::npos &&
        text.substr(lines + 15, 5) == "page\"")
      return Status::ok();
  }
  return Status(ErrorCode::CannotCreate, path,
                "is there already, and is no page of several runs",
                "remove it, or give -o another name");
}

Status hone::joinReports(const std::vector<std::string> &runs,
                         const std::string &output) {
  HONE_TRY(checkJoined(output));
  std::map<std::string, unsigned> named;
  std::vector<std::pair<std::string, std::string>> pages;
  for (const std::string &run : runs) {
    HONE_ASSIGN(std::string page, reportOf(run));
    const std::string whole = platform::resolve(page);
    std::string name =
        llvm::sys::path::filename(llvm::sys::path::parent_path(whole)).str();
    ++named[name];
    pages.push_back({std::move(page), std::move(name)});
  }
  HONE_ASSIGN(rt::OutputFile file, rt::OutputFile::create(output));
  HONE_TRY(file.write(rt::reportHead(std::to_string(runs.size()) + " runs")));
  Joined joined(file);
  for (size_t i = 0; i < runs.size(); ++i)
    // Runs of one name are told apart by their paths as typed.
    HONE_TRY(joined.add(pages[i].first, named[pages[i].second] > 1
                                            ? runs[i]
                                            : pages[i].second));
  return file.commit(rt::FolderSync::Later);
}
