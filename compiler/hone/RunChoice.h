//===- RunChoice.h - A spec for a model, its data and this machine --------===//
//
// The rules are pure: all their knowledge is in their arguments. Users who
// disagree edit the spec that renderSpec() writes, which says why each value
// stands.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/hone/DataSurvey.h"
#include "compiler/hone/Machine.h"
#include "compiler/hone/ModelFacts.h"
#include "compiler/spec/Spec.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// A data file, as far as a choice depends on it.
struct DataFacts {
  std::string path;
  std::string format;   ///< as a person names it; empty: there is no data
  uint64_t samples = 0; ///< as they are in the file
  bool isPacked = false, canSplit = false;
  SampleLengths lengths; ///< empty if packed
  uint64_t tokens = 0;

  /// Samples that are trained on where none has more than `length` tokens.
  uint64_t samplesUpTo(int64_t length) const;
  static DataFacts of(const DataSurvey &survey, const std::string &path);
};

/// A key of a spec, its value in YAML, and why it has that.
struct ChosenKey {
  std::string key, value, reason;
};

struct RunChoice {
  std::vector<ChosenKey> keys;
  int64_t maxSequenceLength = 0, batchSize = 0, epochs = 0;
  /// Options of train that no spec has.
  std::vector<std::string> options;

  uint64_t longer = 0; ///< samples that are longer than chosen
};

/// The max_seq_length that holds 99 % of the samples, rounded as it is chosen.
int64_t usualLength(const SampleLengths &lengths);

/// The rules:
///  * weights are stored as the model's files have them while they take less
///    than half of the free memory, in bfloat16 or then int4 if they would not;
///    int4 that takes more than half is streamed;
///  * samples have as many tokens as 99 % of the data, in steps of 32, at most
///    1024 and the model's positions; all of it where that costs a quarter more
///    at most. Texts are cut at 512;
///  * a batch has up to 1024 tokens and 8 samples, and an epoch 4 batches;
///  * fewer than 1000 samples are seen three times, others once;
///  * a tenth is held out where there are 50 samples;
///  * the run may take half of the memory that weights leave free. Less than
///    256 MiB are no budget: then the smallest plan that costs little is taken.
RunChoice chooseRun(const ModelFacts &model, const DataFacts &data,
                    const Machine &machine);

/// The spec of a choice with `overrides` as --set has them, commented. Errors:
/// those of parseSpec.
Result<std::string> renderSpec(const ModelFacts &model, const DataFacts &data,
                               const RunChoice &choice,
                               llvm::ArrayRef<SpecOverride> overrides);

} // namespace hone
