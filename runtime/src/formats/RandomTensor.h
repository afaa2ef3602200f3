//===- RandomTensor.h - Random elements of a named tensor -----------------===//
//
// An element is a function of seed, tensor name and index alone: the same on
// every machine, in whatever pieces it is made.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"

#include <string_view>

namespace hone::rt {

/// Element i is center + width * u, u uniform in [-1, 1). Of packed integers
/// (U8) all bits are uniform.
struct Distribution {
  float center = 0, width = 0;
};

/// Elements [first, first + count) of the tensor called `name`, as F32, F64
/// (the same numbers), BF16 (rounded) or U8; `first` is a multiple of 16, the
/// bytes of a Philox block.
void fillRandom(uint64_t seed, std::string_view name, Distribution distribution,
                uint64_t first, uint64_t count, Dtype dtype, char *out);

} // namespace hone::rt
