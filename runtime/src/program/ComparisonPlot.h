//===- ComparisonPlot.h - Compared gradients as a picture -----------------===//

#ifndef HONE_RUNTIME_PROGRAM_COMPARISONPLOT_H
#define HONE_RUNTIME_PROGRAM_COMPARISONPLOT_H

#include "program/ComparisonLog.h"

#include <string>

namespace hone::rt {

/// SVG: cosine, sign agreement and relative error of each layer, a dot for the
/// mean and a line for the range.
std::string plotComparison(const ComparedSteps &steps);

} // namespace hone::rt

#endif
