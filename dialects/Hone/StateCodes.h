//===- StateCodes.h - The values of an optimizer state's bytes ------------===//
//
// The dynamic tree codes of Dettmers et al. 2022 (arXiv 2110.02861, section 2
// and appendix F), as create_dynamic_map of bitsandbytes makes them: the
// exponent is the number of leading zeros, the rest a fraction. Near zero they
// keep the relative precision that a linear code loses.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <array>

namespace hone {

/// Numbers of magnitude at most 1, ascending.
struct StateCode {
  std::array<float, 256> values;
  /// A number above `bounds[i]` has a higher code than i; the last bound is
  /// never used. A bound is half way to the next value, but that of a zero at
  /// the beginning is zero: no other number becomes zero.
  std::array<float, 256> bounds;
};

/// `isSigned`: from -0.993 to 1; else from 0 to 1.
StateCode dynamicStateCode(bool isSigned);

} // namespace hone
