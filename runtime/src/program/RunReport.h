//===- RunReport.h - report.html of a run ---------------------------------===//
//
// A run's report to people who did not see it: its settings, the promised
// figures beside the measured ones, its results. It grows with the run, so that
// a run that is killed has a page. However long a run is, its page has about as
// many lines: neighbouring steps share one, with the mean, the least and the
// greatest of their values.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "module/Memory.h"
#include "program/Options.h"
#include "program/ReportFile.h"
#include "program/ReportLine.h"
#include "program/SampleDisplay.h"
#include "program/StepLog.h"

#include <array>
#include <chrono>
#include <string>

namespace hone::rt {

struct ComparedSteps;
class Module;
class Run;

class RunReport {
public:
  static constexpr const char *FileName = "report.html";
  /// About so many lines for all steps of a run, beside one at each checkpoint.
  static constexpr uint64_t MostLines = 1000;
  /// The version of the lines' format.
  static constexpr uint64_t Format = 1;

  struct About {
    const Module &module;
    const Options &options;
    const RunPlan &plan;
    const std::string &runName; ///< in the log
    std::string dataNotes;      ///< one a line
  };

  /// Begins the page of a run. Where the run goes on, its page does; a page
  /// that is not there is made from the log.
  void start(const About &about, const Run &run);

  /// A step, of this many tokens.
  void step(const StepRecord &record, uint64_t tokens);
  /// `accuracy`: NaN if there is none.
  void evaluation(uint64_t step, double loss, double accuracy, uint64_t tokens,
                  bool isBest);
  /// Writes the steps that wait for others to share their line; before a
  /// checkpoint, with which a run goes on.
  void flush();
  /// A sample of the data file `source`, and its loss.
  void sample(uint64_t step, uint64_t index, const std::string &source,
              const Sample &sample, const Tokenizer *tokenizer, double loss);
  void compared(uint64_t step, const ComparedSteps &steps);
  /// `state`: "finished", "stopped".
  void end(uint64_t step, const char *state, const PeakMeter &peak);

private:
  /// A number of the steps that share a line.
  struct Stretch {
    double sum = 0, least = 0, most = 0;
    uint64_t count = 0;
    void add(double value);
  };
  static constexpr size_t Columns = 7;

  void takeUpLog(const Run &run, const std::string &runName);
  /// `step`: after which its values are known.
  void writeRun(const About &about, const Run &run, uint64_t step);
  double secondsSinceLine();
  void write();

  ReportFile file;
  ReportLine line;
  uint64_t stride = 1, steps = 0;
  uint64_t first = 0, last = 0; ///< steps that wait; 0: none do
  double tokens = 0;            ///< NaN: unknown
  bool isTimed = false;
  std::array<Stretch, Columns> stretches;
  std::chrono::steady_clock::time_point lineAt;
};

} // namespace hone::rt
