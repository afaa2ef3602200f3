//===- Summary.h - The header and the last lines of a run -----------------===//
//
// For a person to read before leaving a run alone for an hour, and after coming
// back. Parameter counts are in PEFT's own words.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "module/Memory.h"
#include "program/Run.h"

#include <string>

namespace hone::rt {

/// "1,843,200"
std::string groupDigits(uint64_t number);

/// Model, method and parameters; known before any data is read.
std::string describeModel(const Module &module);

/// Steps, order, rates, threads and seed.
std::string describeRun(const Module &module, const Options &options,
                        const Run &run);

/// Measured beside planned peak, speed, and where the adapter is.
std::string describeOutcome(const Module &module, const Options &options,
                            const Run &run, const RunPlan &plan);

} // namespace hone::rt
