//===- GradientComparison.h - How two gradients differ --------------------===//
//
// Layer by layer, as in table 3 of MeSP (Park et al. 2025), which does not say
// how it counts zeros. Here a sign is compared where the reference has one:
// where B is 0, as LoRA begins, dA is 0 and has none.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "module/Module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// Sums over elements of a gradient and of the reference, in double.
struct GradientSums {
  double products = 0, squares = 0, referenceSquares = 0;
  double errorSquares = 0; ///< of differences
  uint64_t elements = 0, zeros = 0, referenceZeros = 0;
  uint64_t equalSigns = 0; ///< of elements that are not zero in the reference
  uint64_t notFinite = 0;  ///< elements that are not in one of the two

  GradientSums &operator+=(const GradientSums &other);

  /// Each is NaN where it says nothing: some elements are not finite, or it
  /// would divide by zero.
  double cosine() const;
  double signAgreement() const;
  double relativeError() const; ///< |own - reference| / |reference|
};

/// Of all trainable parameters, in the module's order: the numbers are the same
/// wherever and by however many threads the gradients were computed.
class GradientComparison {
public:
  struct Group {
    std::string name; ///< "0", "lora_A"
    GradientSums sums = {};
  };

  explicit GradientComparison(const Module &module);

  /// Before the first add().
  void clear();
  /// The next elements of trainable `index`, of F32 or F64.
  void add(uint32_t index, Dtype dtype, const char *own, const char *reference,
           uint64_t count);
  /// After the last one.
  void finish();

  /// By number; after them "other", all that is in no layer, if there is any.
  std::vector<Group> layers;
  /// lora_A and lora_B of all layers, if there are such.
  std::vector<Group> kinds;
  GradientSums all;
  double loss = 0, referenceLoss = 0; ///< means over target tokens

private:
  struct Member {
    GradientSums sums;
    size_t layer, kind; ///< indices
  };
  static constexpr size_t noKind = SIZE_MAX;
  std::vector<Member> members; ///< by trainable
};

} // namespace hone::rt
