//===- RunReport.cpp - report.html of a run -------------------------------===//

#include "program/RunReport.h"

#include "base/Counted.h"
#include "base/PortableMath.h"
#include "module/Module.h"
#include "program/ComparisonLog.h"
#include "program/LoggedSteps.h"
#include "program/Run.h"
#include "program/Summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

static constexpr double mib = 1024 * 1024;
/// Columns of the table for browsers without scripts.
static constexpr int allColumns = 7;

void RunReport::Stretch::add(double value) {
  if (!std::isfinite(value))
    return;
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  ++count;
}

/// "notes" of "runs/notes/".
static std::string folderName(const std::string &output) {
  std::string path = platform::resolve(output);
  if (path.empty())
    path = output;
  return platform::lastPart(path);
}

double RunReport::secondsSinceLine() {
  if (!isTimed)
    return std::nan("");
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - lineAt;
  lineAt = now;
  return since.count();
}

void RunReport::write() { file.append(line.end()); }

void RunReport::start(const About &about, const Run &run) {
  steps = run.totalSteps();
  stride = std::max<uint64_t>((steps + MostLines - 1) / MostLines, 1);
  const std::string path = about.options.output + "/" + FileName;
  const uint64_t completed = run.completedSteps();
  const bool resumes = completed > 0 && file.resume(path, completed);
  if (!resumes)
    file.create(path, about.module.config().modelName);
  writeRun(about, run, resumes ? completed : 0);
  if (!resumes && completed > 0)
    takeUpLog(run, about.runName);
  lineAt = std::chrono::steady_clock::now();
  isTimed = true;
}

void RunReport::takeUpLog(const Run &run, const std::string &runName) {
  const uint64_t completed = run.completedSteps();
  LogVisitor visitor;
  visitor.step = [&](const StepRecord &record) {
    if (record.step <= completed)
      step(record, 0);
  };
  visitor.evaluation = [&](uint64_t at, double loss, double accuracy) {
    if (at <= completed)
      evaluation(at, loss, accuracy, 0, false);
  };
  // A log that cannot be read leaves the curves without their beginning.
  (void)readLoggedSteps(run.logPath(), runName, visitor).isOk();
  flush();
}

void RunReport::step(const StepRecord &record, uint64_t count) {
  if (!file.isOpen())
    return;
  const double values[Columns] = {
      record.loss,
      record.learningRate,
      record.partRates ? record.partRates->front().second : std::nan(""),
      record.gradientNorm,
      record.tokensPerSecond,
      double(record.peakAnonymousBytes),
      double(record.peakResidentBytes)};
  for (size_t i = 0; i < Columns; ++i)
    stretches[i].add(values[i]);
  first = first == 0 ? record.step : first;
  last = record.step;
  tokens = count == 0 ? std::nan("") : tokens + double(count);
  if (record.step % stride == 0 || record.step == steps)
    flush();
}

void RunReport::flush() {
  if (first == 0)
    return;
  line.begin("step", last);
  line.whole(first);
  line.number(tokens);
  line.number(secondsSinceLine());
  for (const Stretch &each : stretches) {
    const double mean = each.count == 0 ? std::nan("")
                        : each.least == each.most
                            ? each.least
                            : each.sum / double(each.count);
    if (each.least == each.most || each.count == 0) {
      line.number(mean);
      continue;
    }
    line.open('[');
    for (double number : {mean, each.least, each.most})
      line.number(number);
    line.close(']');
  }
  line.endValues();
  line.beginRow();
  char name[48];
  snprintf(name, sizeof(name), first == last ? "%.0f" : "%.0f-%.0f",
           double(first), double(last));
  line.cell(name);
  static constexpr std::pair<const char *, double> formats[Columns] = {
      {"%.4f", 1}, {"%.3g", 1},   {nullptr, 1}, {"%.4g", 1},
      {"%.0f", 1}, {"%.2f", mib}, {"%.2f", mib}};
  for (size_t i = 0; i < Columns; ++i)
    if (formats[i].first)
      line.numberCell(formats[i].first, stretches[i].count == 0
                                            ? std::nan("")
                                            : stretches[i].sum /
                                                  double(stretches[i].count) /
                                                  formats[i].second);
  write();
  first = last = 0;
  tokens = 0;
  stretches = {};
}

void RunReport::evaluation(uint64_t step, double loss, double accuracy,
                           uint64_t count, bool isBest) {
  if (!file.isOpen())
    return;
  line.begin("eval", step);
  line.number(secondsSinceLine());
  line.number(loss);
  line.number(accuracy);
  line.whole(count);
  line.boolean(isBest);
  line.endValues();
  line.beginRow();
  line.numberCell("%.0f", double(step));
  char text[160];
  int size =
      snprintf(text, sizeof(text), "held-out data: loss %.4f, perplexity %.4g",
               loss, portableExp(loss));
  if (!std::isnan(accuracy))
    snprintf(text + size, sizeof(text) - size_t(size), ", accuracy %.4f",
             accuracy);
  line.cell(text, allColumns - 1);
  write();
}

void RunReport::sample(uint64_t step, uint64_t index, const std::string &source,
                       const Sample &sample, const Tokenizer *tokenizer,
                       double loss) {
  if (!file.isOpen())
    return;
  const std::string text =
      describeSample(sample, tokenizer, /*inColour=*/false);
  const SamplePrompt cut = promptOf(sample, tokenizer);
  line.begin("sample", step);
  line.whole(index);
  line.text(source);
  line.text(text);
  line.number(loss);
  line.open('[');
  for (int32_t id : cut.ids)
    line.whole(uint64_t(id));
  line.close(']');
  line.text(cut.prompt);
  line.text(cut.expected);
  line.endValues();
  line.beginRow();
  line.numberCell("%.0f", double(step));
  char digits[32];
  snprintf(digits, sizeof(digits), "%.4f", loss);
  line.cell("sample " + std::to_string(index + 1) + ": loss " +
                (std::isfinite(loss) ? digits : formatShort(loss)) + "\n" +
                text,
            allColumns - 1);
  write();
}

/// Writes the mean, the least and the greatest of each measure for each layer.
void RunReport::compared(uint64_t step, const ComparedSteps &found) {
  if (!file.isOpen() || found.count == 0)
    return;
  line.begin("compared", step);
  line.open('{');
  line.key("method").text(found.method);
  line.key("reference").text(found.reference);
  line.key("steps").whole(found.count);
  line.key("layers").open('[');
  for (const ComparedGroup &layer : found.layers) {
    line.open('{');
    line.key("name").text(layer.name);
    for (auto [name, measure] : {std::pair("cosine", &layer.cosine),
                                 {"sign_agreement", &layer.signAgreement},
                                 {"relative_error", &layer.relativeError}}) {
      if (measure->count == 0)
        continue;
      line.key(name).open('[');
      for (double number : {measure->mean(), measure->least, measure->most})
        line.number(number);
      line.close(']');
    }
    line.close('}');
  }
  line.close(']');
  line.close('}');
  line.endValues();
  write();
}

void RunReport::end(uint64_t step, const char *state, const PeakMeter &peak) {
  if (!file.isOpen())
    return;
  line.begin("end", step);
  line.text(state);
  line.number(secondsSinceLine());
  line.whole(peak.anonymous());
  line.whole(peak.resident());
  line.endValues();
  line.beginRow();
  line.numberCell("%.0f", double(step));
  line.cell(std::string(state) + " after " + groupDigits(step) + " of " +
                groupDigits(steps) + " " + plural(steps, "step"),
            allColumns - 1);
  write();
}

static void writePlan(ReportLine &line, const RunPlan &plan) {
  line.key("planned").open('{');
  line.key("anonymous").whole(plan.total);
  line.key("resident").whole(plan.resident);
  if (plan.isOnDevice())
    line.key("device").whole(plan.deviceTotal);
  line.close('}');
  line.key("plan").open('[');
  auto write = [&](const std::string &name, uint64_t bytes) {
    line.open('[');
    line.text(name);
    line.whole(bytes);
    line.close(']');
  };
  for (const PlanClass &entry : plan.deviceClasses)
    write("device: " + entry.name, entry.bytes);
  for (const PlanClass &entry : plan.classes)
    write(entry.name, entry.bytes);
  line.close(']');
}

static void writeSettings(ReportLine &line, const Options &given) {
  Options options = given; // walking the table needs no const
  line.key("settings").open('[');
  for (const Setting *setting : options.members())
    if (setting->setBy == SetBy::Option && !setting->text().empty())
      line.row(setting->spelling(), setting->text());
  const Settings &settings = options.settings;
  for (const Setting *setting : settings.all())
    if (settings.isRead(*setting) && !setting->text().empty())
      line.row(setting->key(), setting->text());
  line.close(']');
}

void RunReport::writeRun(const About &about, const Run &run, uint64_t step) {
  if (!file.isOpen())
    return;
  const Options &options = about.options;
  const ModuleConfig &config = about.module.config();
  const std::string header =
      describeModel(about.module) + describeRun(about.module, options, run);
  line.begin("run", step);
  line.open('{');
  line.key("format").whole(Format);
  line.key("name").text(folderName(options.output));
  line.key("model").text(config.modelName);
  line.key("steps").whole(run.totalSteps());
  line.key("heldOut").boolean(options.evaluates());
  line.key("header").text(header);
  writePlan(line, about.plan);
  line.key("data").text(options.data + "\n" + about.dataNotes);
  writeSettings(line, options);
  line.key("program").open('[');
  line.row("run", about.runName);
  line.row("ABI", std::to_string(HONE_ABI_VERSION));
  line.row("model", config.modelName + " (" + config.modelType + ")");
  line.row("weights", config.weightsSourceHash + ", " + config.weightsLayout);
  line.row("compiled for", config.target.triple + ", " + config.target.cpu);
  line.close(']');
  line.close('}');
  line.endValues();
  line.beginRow();
  line.numberCell("%.0f", double(step));
  line.cell(header, allColumns - 1);
  write();
}

} // namespace hone::rt
