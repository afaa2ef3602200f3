//===- HistoryChart.h - Curves over the steps of a run --------------------===//

#ifndef HONE_RUNTIME_PROGRAM_HISTORYCHART_H
#define HONE_RUNTIME_PROGRAM_HISTORYCHART_H

#include "program/RunHistory.h"

#include <string>
#include <vector>

namespace hone::rt {

struct HistoryChart {
  struct Curve {
    const ThinnedSeries *series;
    const char *name;   ///< in the legend
    const char *colour; ///< a class of the page: "c1" to "c4"
    bool isDots = false;
  };
  /// A horizontal line: what was planned.
  struct Level {
    double value;
    const char *name, *colour;
  };

  const char *title;
  double unit = 1; ///< values are divided by it
  bool fromZero = false;
  std::vector<Curve> curves;
  std::vector<Level> levels = {};
  /// Values above 0, of which some are a hundred times others, by their powers
  /// of ten: one that is far out would hide the rest.
  bool isLogarithmic = false;

  /// `<figure>`, or "" if no curve has a value. `lastStep`: of the whole run.
  std::string render(uint64_t lastStep) const;
};

} // namespace hone::rt

#endif
