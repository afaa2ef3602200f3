//===- LongSamples.h - Samples that are longer than the length ------------===//
//
// Printed before anything is compiled: a run learns nothing from tokens that it
// does not see.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/hone/DataSurvey.h"
#include "compiler/spec/Spec.h"

#include <cstdint>
#include <string>

namespace hone {

struct LongSamples {
  int64_t length;      ///< tokens of a sample, at most
  uint64_t longer = 0; ///< samples that have more
  uint64_t all = 0;
  int64_t positions = 0; ///< tokens that the model reads; 0: not known
  int64_t usual = 0;     ///< a length that 99 % of them do not exceed
  bool areSplit = false;

  static LongSamples of(const SampleLengths &lengths, int64_t length,
                        bool areSplit, int64_t positions = 0);

  /// Of all samples, in percent.
  double share() const;
  /// Whether more than 5 % are lost.
  bool isLoud() const { return !areSplit && share() > 5; }
  /// "3 of 40 samples (7.5 %) are longer than 64 tokens and left out"
  std::string text() const;
};

/// Prints them, if there are any: a line, or a loud one as a warning.
void sayLonger(const LongSamples &samples);

/// The same of `data` for a spec. Errors: those of readSpec and DataSurvey.
Status sayLongSamples(const std::string &specPath,
                      const std::vector<SpecOverride> &overrides,
                      const DataReading &reading, const std::string &data);

} // namespace hone
