//===- RoundedStore.h - Doubles as elements of a file ---------------------===//

#pragma once

#include "base/Dtype.h"

#include <cstdint>

namespace hone {

/// The nearest of the type's numbers, ties to even, rounded once: by way of a
/// float a double could be rounded twice.
uint16_t doubleToHalf(double value);
uint16_t doubleToBfloat16(double value);

/// Writes `count` values as F64, F32, BF16 or F16. `to` may be misaligned.
void storeRounded(const double *values, uint64_t count, rt::Dtype dtype,
                  char *to);

} // namespace hone
