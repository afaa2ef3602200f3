//===- RunReport.cpp - report.html of a run -------------------------------===//
//
// The curves are JSON in a script element, and no character of it can end the
// element; the table of figures needs no script. The page is well-formed XML,
// so that any reader can check it. Numbers have all their digits. Written piece
// by piece: the file is never in memory.
//
//===----------------------------------------------------------------------===//

#include "program/RunReport.h"

#include "base/Json.h"
#include "base/OutputFile.h"
#include "base/Utf8.h"
#include "program/RunHistory.h"
#include "program/Summary.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace hone::rt {

/// With {{name}}, {{state}}, {{figures}} and {{run}} in their places.
static constexpr std::string_view page =
#include "program/report.html.inc"
    ;

/// `text` in XML: what is no character of it is shown as its code.
static std::string markupOf(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    const size_t length = utf8SequenceLength(text, at);
    if (length == 0 || (c < 0x20 && c != '\n') || c == 0x7f || c == '<' ||
        c == '>' || c == '&' || c == '"' || c == '\'') {
      char code[16];
      snprintf(code, sizeof(code),
               length == 0 || c < 0x20 || c == 0x7f ? "\\x%02x" : "&#%u;", c);
      out += code;
    } else {
      out += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

namespace {

/// JSON for a script element: neither `</script` nor `<!--` can stand in it,
/// nor what is a line's end in JavaScript alone. Members follow one another
/// with commas by themselves.
class ScriptJson {
public:
  explicit ScriptJson(OutputFile &file) : file(file) {}

  /// '{' or '[', and their ends.
  void open(char bracket) {
    separate();
    put(std::string_view(&bracket, 1));
    isFirst = true;
  }
  void close(char bracket) {
    put(std::string_view(&bracket, 1));
    isFirst = false;
  }
  ScriptJson &key(std::string_view name) {
    text(name);
    put(": ");
    isFirst = true;
    return *this;
  }
  void text(std::string_view value) {
    separate();
    std::string quoted;
    appendJsonString(quoted, value);
    for (size_t at = 0; at < quoted.size(); ++at)
      escape(quoted, at);
    put(quoted);
  }
  /// null for what JSON has no number for.
  void number(double value) {
    separate();
    char digits[40] = "null";
    if (std::isfinite(value))
      snprintf(digits, sizeof(digits), "%.17g", value);
    put(digits);
  }
  void row(std::string_view name, std::string_view value) {
    open('[');
    text(name);
    text(value);
    close(']');
  }

  Status status = Status::ok();

private:
  void put(std::string_view text) {
    if (status.isOk())
      status = file.write(text);
  }
  void separate() {
    if (!isFirst)
      put(", ");
    isFirst = false;
  }
  static void escape(std::string &quoted, size_t at) {
    if (std::strchr("<>&", quoted[at])) {
      char code[8];
      snprintf(code, sizeof(code), "\\u%04x", unsigned(quoted[at]));
      quoted.replace(at, 1, code);
    } else if (quoted.compare(at, 2, "\xe2\x80") == 0 &&
               (quoted[at + 2] == '\xa8' || quoted[at + 2] == '\xa9')) {
      quoted.replace(at, 3, quoted[at + 2] == '\xa8' ? "\\u2028" : "\\u2029");
    }
  }

  OutputFile &file;
  bool isFirst = true;
};

} // namespace

/// A row of the table, or "" if the series has no value.
static std::string figuresRow(const RunHistory::Series &series) {
  if (series.empty())
    return "";
  std::string out = std::string("<tr><th>") + series.title + "</th>";
  for (double value :
       {series.first, series.last, series.least, series.most, series.mean()}) {
    char shown[40], cell[160];
    snprintf(shown, sizeof(shown), series.format, value / series.unit);
    snprintf(cell, sizeof(cell),
             "<td class=\"n\"><data value=\"%.17g\">%s</data></td>", value,
             shown);
    out += cell;
  }
  return out + "</tr>\n";
}

static std::string figures(const RunHistory &history) {
  std::string rows;
  for (const RunHistory::Series &series : history.series)
    rows += figuresRow(series);
  return rows;
}

/// [step, mean, least, greatest] of each stretch of steps.
static void writeSeries(ScriptJson &json, const RunHistory::Series &series) {
  if (series.empty())
    return;
  json.key(series.key).open('[');
  for (const ThinnedSeries::Bucket &bucket : series.all()) {
    if (bucket.count == 0)
      continue;
    json.open('[');
    for (double number :
         {bucket.step(), bucket.mean(), bucket.least, bucket.most})
      json.number(number);
    json.close(']');
  }
  json.close(']');
}

static void writeHistory(ScriptJson &json, const RunHistory &history) {
  json.key("series").open('{');
  for (const RunHistory::Series &series : history.series)
    writeSeries(json, series);
  json.close('}');
}

static void writeSample(ScriptJson &json, const SampleLosses &sample) {
  if (sample.text.empty())
    return;
  json.key("sample").open('{');
  json.key("source").text(sample.source);
  json.key("text").text(sample.text);
  json.key("before").number(sample.before);
  json.key("after").number(sample.after);
  json.close('}');
}

static void writePlan(ScriptJson &json, const RunReport &report) {
  auto row = [&](const std::string &name, uint64_t planned, uint64_t measured) {
    json.open('[');
    json.text(name);
    json.number(double(planned));
    json.number(double(measured));
    json.close(']');
  };
  json.key("planned").open('{');
  json.key("anonymous").number(double(report.plan.total));
  json.key("resident").number(double(report.plan.resident));
  json.close('}');
  json.key("plan").open('[');
  for (const PlanClass &entry : report.plan.classes)
    row(entry.name, entry.bytes, 0);
  row("peak", report.plan.total, report.run.peak().anonymous());
  row("resident, with mapped files", report.plan.resident,
      report.run.peak().resident());
  json.close(']');
}

/// Of each layer the mean, the least and the greatest of each measure.
static void writeCompared(ScriptJson &json, const ComparedSteps &steps) {
  if (steps.count == 0)
    return;
  json.key("compared").open('{');
  json.key("method").text(steps.method);
  json.key("reference").text(steps.reference);
  json.key("steps").number(double(steps.count));
  json.key("layers").open('[');
  for (const ComparedGroup &layer : steps.layers) {
    json.open('{');
    json.key("name").text(layer.name);
    for (auto [name, measure] : {std::pair("cosine", &layer.cosine),
                                 {"sign_agreement", &layer.signAgreement},
                                 {"relative_error", &layer.relativeError}}) {
      if (measure->count == 0)
        continue;
      json.key(name).open('[');
      for (double number : {measure->mean(), measure->least, measure->most})
        json.number(number);
      json.close(']');
    }
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

static void writeSettings(ScriptJson &json, const RunReport &report) {
  Options options = report.options; // walking the table needs no const
  json.key("settings").open('[');
  for (const Setting *setting : options.members())
    if (setting->setBy == SetBy::Option && !setting->text().empty())
      json.row(setting->spelling(), setting->text());
  const Settings &settings = options.settings;
  for (const Setting *setting : settings.all())
    if (settings.isRead(*setting) && !setting->text().empty())
      json.row(setting->key(), setting->text());
  json.close(']');
}

static void writeProgram(ScriptJson &json, const RunReport &report) {
  const ModuleConfig &config = report.module.config();
  json.key("program").open('[');
  json.row("run", report.runName);
  json.row("ABI", std::to_string(HONE_ABI_VERSION));
  json.row("model", config.modelName + " (" + config.modelType + ")");
  json.row("weights", config.weightsSourceHash + ", " + config.weightsLayout);
  json.row("compiled for", config.target.triple + ", " + config.target.cpu);
  json.close(']');
}

Status RunReport::writeRun(OutputFile &file, const RunHistory &history,
                           const std::string &missing) const {
  ScriptJson json(file);
  json.open('{');
  json.key("header").text(describeModel(module) +
                          describeRun(module, options, run));
  json.key("notes").open('[');
  if (!missing.empty())
    json.text(missing);
  if (history.loss().notFinite > 0)
    json.text(groupDigits(history.loss().notFinite) +
              " losses are not finite and not shown");
  json.close(']');
  json.key("steps").number(double(run.totalSteps()));
  writeHistory(json, history);
  writeSample(json, sample);
  writePlan(json, *this);
  writeCompared(json, run.compared());
  json.key("data").text(options.data + "\n" + dataNotes);
  writeSettings(json, *this);
  writeProgram(json, *this);
  json.close('}');
  return json.status;
}

Status RunReport::write() const {
  RunHistory history(run.totalSteps());
  std::string missing;
  if (Status status = history.read(run.logPath(), runName); !status.isOk())
    missing = "The log could not be read, so there are no curves: " +
              status.message().place + ": " + status.message().problem;
  removeStrayTemporaries(
      options.output, [](const std::string &name) { return name == FileName; });
  HONE_ASSIGN(OutputFile file,
              OutputFile::create(options.output + "/" + FileName));
  for (std::string_view rest = page; !rest.empty();) {
    const size_t mark = std::min(rest.find("{{"), rest.size());
    HONE_TRY(file.write(rest.substr(0, mark)));
    rest.remove_prefix(mark);
    const std::string_view name = rest.substr(0, rest.find("}}"));
    if (name == "{{name")
      HONE_TRY(file.write(markupOf(module.config().modelName)));
    else if (name == "{{state")
      HONE_TRY(file.write(finished + " after " +
                          groupDigits(run.completedSteps()) + " of " +
                          groupDigits(run.totalSteps()) + " steps"));
    else if (name == "{{figures")
      HONE_TRY(file.write(figures(history)));
    else if (name == "{{run")
      HONE_TRY(writeRun(file, history, missing));
    rest.remove_prefix(std::min(name.size() + 2, rest.size()));
  }
  // Losing it costs a look, not a result: the folder is synced by what matters.
  return file.commit(FolderSync::Later);
}

} // namespace hone::rt
