//===- RunReport.cpp - report.html of a run -------------------------------===//
//
// The markup is that of HTML and of XML at once, so that any reader of either
// can check it. Numbers that come from the log are in `<data value>` with all
// their digits. Written section by section: the file is never in memory.
//
//===----------------------------------------------------------------------===//

#include "program/RunReport.h"

#include "base/OutputFile.h"
#include "program/ComparisonPlot.h"
#include "program/HistoryChart.h"
#include "program/Summary.h"
#include "program/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

static constexpr double mib = 1024 * 1024;
/// Bytes of most tables and of all charts, taken at once: more steps must not
/// make more allocations.
static constexpr size_t MostTable = 16 * 1024, MostCharts = 256 * 1024;

static constexpr std::string_view style = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1b1f24;
  --quiet: #57606a; --rule: #d8dee4; --box: #f6f8fa; --c1: #1f5fa8;
  --c2: #c2410c; --c3: #15803d; --c4: #7e22ce; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --text: #e6e8eb;
  --quiet: #9aa4af; --rule: #343b43; --box: #1d2127; --c1: #6cb0ff;
  --c2: #ff9d5c; --c3: #5fd38a; --c4: #cf9bff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 86rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; color: var(--quiet); overflow-wrap: anywhere; }
.charts { display: grid; gap: 1rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
figure { margin: 0; padding: .75rem; background: var(--box); border-radius: 6px; }
figcaption { font-weight: 600; }
.key { font-weight: 400; font-size: .85rem; margin-left: .5rem;
  white-space: nowrap; display: inline-block; }
.key::before { content: ""; display: inline-block; width: .8em; height: .2em;
  margin-right: .3em; vertical-align: middle; background: currentColor; }
.key.level::before { height: 0; background: none;
  border-top: 2px dashed currentColor; }
span.c1 { color: var(--c1); } span.c2 { color: var(--c2); }
span.c3 { color: var(--c3); } span.c4 { color: var(--c4); }
svg { display: block; width: 100%; height: auto; }
figure svg text { font-size: 12px; fill: var(--quiet); }
.grid { stroke: var(--rule); }
.c1 { --now: var(--c1); } .c2 { --now: var(--c2); }
.c3 { --now: var(--c3); } .c4 { --now: var(--c4); }
.line { fill: none; stroke: var(--now); stroke-width: 1.6;
  stroke-linejoin: round; }
.band { fill: var(--now); opacity: .22; } .dot { fill: var(--now); }
line.level { stroke: var(--now); stroke-width: 1.6; stroke-dasharray: 6 4; }
.wide { overflow-x: auto; }
@media (max-width: 40rem) { td, th { padding-right: .6rem !important; } }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); font-weight: 400; }
thead th { color: var(--quiet); }
td.n, th.n { text-align: right; white-space: nowrap; }
td.t { overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .75rem; background: var(--box);
  border-radius: 6px; overflow: auto; max-height: 24rem; font-size: .85rem; }
pre.text { white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; }
.paper { background: #fff; overflow-x: auto; } .paper svg { width: auto; }
)";

/// `inner` is markup.
static void addCell(std::string &out, const char *tag, const char *kind,
                    const std::string &inner) {
  out += '<';
  out += tag;
  if (*kind) {
    out += " class=\"";
    out += kind;
    out += '"';
  }
  out += '>';
  out += inner;
  out += "</";
  out += tag;
  out += ">";
}

/// A number with all its digits for programs, and few for people.
static std::string dataOf(double value, const char *format, double unit = 1) {
  if (!std::isfinite(value))
    return "not finite";
  char shown[40], text[160];
  snprintf(shown, sizeof(shown), format, value / unit);
  snprintf(text, sizeof(text), "<data value=\"%.17g\">%s</data>", value, shown);
  return text;
}

static std::string row(const std::string &name, const std::string &text) {
  std::string out = "<tr>";
  addCell(out, "th", "", svg::escape(name));
  addCell(out, "td", "t", svg::escape(text));
  return out + "</tr>\n";
}

namespace {
/// A row of the table of figures.
struct Figures {
  const char *name, *format;
  const ThinnedSeries *series;
  double unit = 1;
};
} // namespace

static std::string figuresTable(const std::vector<Figures> &rows) {
  std::string out;
  out.reserve(MostTable);
  out += "<div class=\"wide\"><table id=\"figures\">\n<thead><tr>";
  addCell(out, "th", "", "");
  for (const char *head : {"first", "last", "least", "greatest", "mean"})
    addCell(out, "th", "n", head);
  out += "</tr></thead>\n<tbody>\n";
  for (const Figures &figures : rows) {
    const ThinnedSeries &s = *figures.series;
    if (s.empty())
      continue;
    out += "<tr>";
    addCell(out, "th", "", figures.name);
    for (double value : {s.first, s.last, s.least, s.most, s.mean()})
      addCell(out, "td", "n", dataOf(value, figures.format, figures.unit));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

static std::string charts(const RunReport &report, const RunHistory &history) {
  const HistoryChart all[] = {
      {"loss",
       1,
       false,
       {{&history.loss, "training", "c1"},
        {&history.evalLoss, "evaluation", "c2", true}}},
      {"learning rate",
       1,
       true,
       {{&history.learningRate, "rate", "c1"},
        {&history.lowerLearningRate, "lower part", "c2"}}},
      {"gradient norm, before clipping",
       1,
       true,
       {{&history.gradientNorm, "norm", "c1"}},
       {},
       history.gradientNorm.least > 0 &&
           history.gradientNorm.most > 100 * history.gradientNorm.least},
      {"tokens per second",
       1,
       true,
       {{&history.tokensPerSecond, "tokens/s", "c1"}}},
      {"peak of anonymous memory, MiB",
       mib,
       true,
       {{&history.anonymousBytes, "measured", "c1"}},
       {{double(report.plan.total), "planned", "c2"}}},
      {"peak of resident memory, MiB",
       mib,
       true,
       {{&history.residentBytes, "measured", "c3"}},
       {{double(report.plan.resident), "planned", "c4"}}},
  };
  std::string out;
  out.reserve(MostCharts);
  out += "<div class=\"charts\">\n";
  for (const HistoryChart &chart : all)
    out += chart.render(report.run.totalSteps());
  return out + "</div>\n";
}

static std::string sampleSection(const SampleLosses &sample) {
  if (sample.text.empty())
    return "";
  std::string out = "<h2>One sample</h2>\n<p>The first of " +
                    svg::escape(sample.source) +
                    ". The loss is of what is in brackets.</p>\n"
                    "<table id=\"sample\"><tbody>\n";
  const std::pair<const char *, double> losses[] = {
      {"loss before training", sample.before},
      {"loss after training", sample.after}};
  for (const auto &[name, loss] : losses) {
    out += "<tr>";
    addCell(out, "th", "", name);
    addCell(out, "td", "n", dataOf(loss, "%.4f"));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n<pre class=\"text\">" +
         svg::escape(sample.text) + "</pre>\n";
}

static std::string planSection(const RunReport &report) {
  std::string out;
  out.reserve(MostTable);
  out += "<h2>Memory</h2>\n<div class=\"wide\"><table id=\"plan\"><thead><tr>";
  addCell(out, "th", "", "");
  addCell(out, "th", "n", "planned MiB");
  addCell(out, "th", "n", "measured MiB");
  out += "</tr></thead><tbody>\n";
  auto add = [&](const std::string &name, uint64_t planned, uint64_t measured) {
    out += "<tr>";
    addCell(out, "th", "", svg::escape(name));
    addCell(out, "td", "n", dataOf(double(planned), "%.2f", mib));
    addCell(out, "td", "n",
            measured ? dataOf(double(measured), "%.2f", mib) : "");
    out += "</tr>\n";
  };
  for (const PlanClass &entry : report.plan.classes)
    add(entry.name, entry.bytes, 0);
  add("peak", report.plan.total, report.run.peak().anonymous());
  add("resident, with mapped files", report.plan.resident,
      report.run.peak().resident());
  return out + "</tbody></table></div>\n";
}

static std::string settingsSection(const RunReport &report) {
  std::string out = "<h2>Data</h2>\n<pre class=\"text\">" +
                    svg::escape(report.options.data + "\n" + report.dataNotes) +
                    "</pre>\n<h2>Settings</h2>\n<details><summary>of the run "
                    "and of the program</summary>\n<table "
                    "id=\"settings\"><tbody>\n";
  Options options = report.options; // walking the table needs no const
  for (const Setting *setting : options.members())
    if (setting->setBy == SetBy::Option && !setting->text().empty())
      out += row(setting->spelling(), setting->text());
  const Settings &settings = options.settings;
  for (const Setting *setting : settings.all())
    if (settings.isRead(*setting) && !setting->text().empty())
      out += row(setting->key(), setting->text());
  return out + "</tbody></table></details>\n";
}

static std::string versionSection(const RunReport &report) {
  const ModuleConfig &config = report.module.config();
  return "<h2>Program</h2>\n<div class=\"wide\"><table "
         "id=\"program\"><tbody>\n" +
         row("run", report.runName) +
         row("ABI", std::to_string(HONE_ABI_VERSION)) +
         row("model", config.modelName + " (" + config.modelType + ")") +
         row("weights",
             config.weightsSourceHash + ", " + config.weightsLayout) +
         row("compiled for", config.target.triple + ", " + config.target.cpu) +
         "</tbody></table></div>\n";
}

Status RunReport::write() const {
  RunHistory history(run.totalSteps());
  std::string missing;
  if (Status status = history.read(run.logPath(), runName); !status.isOk())
    missing = "The log could not be read, so there are no curves: " +
              status.message().place + ": " + status.message().problem;
  removeStrayTemporaries(
      options.output, [](const std::string &name) { return name == FileName; });
  Result<OutputFile> made = OutputFile::create(options.output + "/" + FileName);
  if (!made.isOk())
    return made.status();
  OutputFile &file = made.value();
  Status status = Status::ok();
  auto put = [&](const std::string &text) {
    if (status.isOk())
      status = file.write(text);
  };
  const std::string name = svg::escape(module.config().modelName);
  put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>" +
      name + ": training run</title>\n<style>" + std::string(style) +
      "</style>\n</head>\n<body>\n<h1>" + name + "</h1>\n");
  put("<p>" + svg::escape(finished) + " after " +
      groupDigits(run.completedSteps()) + " of " +
      groupDigits(run.totalSteps()) + " steps</p>\n");
  put("<pre class=\"text\">" +
      svg::escape(describeModel(module) + describeRun(module, options, run)) +
      "</pre>\n");
  if (!missing.empty())
    put("<p>" + svg::escape(missing) + "</p>\n");
  if (history.loss.notFinite > 0)
    put("<p>" + groupDigits(history.loss.notFinite) +
        " losses are not finite and not shown</p>\n");
  put(charts(*this, history));
  put("<h2>Figures</h2>\n" +
      figuresTable({{"loss", "%.4f", &history.loss},
                    {"evaluation loss", "%.4f", &history.evalLoss},
                    {"learning rate", "%.3g", &history.learningRate},
                    {"lower learning rate", "%.3g", &history.lowerLearningRate},
                    {"gradient norm", "%.4g", &history.gradientNorm},
                    {"tokens/s", "%.0f", &history.tokensPerSecond},
                    {"anonymous MiB", "%.2f", &history.anonymousBytes, mib},
                    {"resident MiB", "%.2f", &history.residentBytes, mib}}));
  // Generated text, before and after, belongs behind the losses of the sample.
  put(sampleSection(sample));
  put(planSection(*this));
  if (run.compared().count > 0)
    put("<h2>Compared gradients</h2>\n<div class=\"paper\">" +
        plotComparison(run.compared()) + "</div>\n");
  put(settingsSection(*this));
  put(versionSection(*this));
  put("</body>\n</html>\n");
  // Losing it costs a look, not a result: the folder is synced by what matters.
  return status.isOk() ? file.commit(FolderSync::Later) : status;
}

} // namespace hone::rt
