//===- Evaluation.h - What a model is worth on data -----------------------===//

#ifndef HONE_RUNTIME_STEP_EVALUATION_H
#define HONE_RUNTIME_STEP_EVALUATION_H

#include <cmath>
#include <cstdint>

namespace hone::rt {

struct Evaluation {
  double loss = 0; ///< mean negative log-likelihood of a target token
  uint64_t examples = 0; ///< of a task; 0: the data is of none
  uint64_t correct = 0;  ///< of them, with the right candidate the likeliest

  bool hasAccuracy() const { return examples > 0; }
  double accuracy() const { return double(correct) / double(examples); }
  /// Infinite where the loss is beyond what has an exponential.
  double perplexity() const { return std::exp(loss); }
};

} // namespace hone::rt

#endif
