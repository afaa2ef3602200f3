//===- RunReport.h - report.html of a run ---------------------------------===//
//
// One file for a browser, without network or other files: report.html of this
// folder, whose own script draws the data that is written into it. It is read
// by people who did not see the run, so it says what ran and what was promised
// beside what was measured.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Memory.h"
#include "program/Run.h"

#include <string>

namespace hone::rt {

class OutputFile;
struct RunHistory;

/// What one sample costs before and after training.
struct SampleLosses {
  std::string text;   ///< as describeSample() has it; empty: there is none
  std::string source; ///< the file that it is from
  double before = 0, after = 0; ///< NaN: unknown
};

struct RunReport {
  static constexpr const char *FileName = "report.html";

  const Module &module;
  const Options &options;
  const Run &run;
  const RunPlan &plan;
  std::string runName;   ///< in the log
  std::string dataNotes; ///< one a line
  std::string finished;  ///< "finished", "stopped"
  SampleLosses sample;

  /// Writes it into --output. What of the log cannot be read is left out and
  /// said. Errors: as OutputFile.
  Status write() const;

private:
  Status writeRun(OutputFile &file, const RunHistory &history,
                  const std::string &missing) const;
};

} // namespace hone::rt
