//===- RandomSource.h - Which random stream an op reads -------------------===//

#pragma once

#include "runtime/src/base/Philox.h"

#include "llvm/ADT/StringRef.h"

namespace hone {

/// The parts of a RandomStream beside seed and step. The stream's name is the
/// prefix of the layer that runs the block, and `name`.
struct RandomSource {
  rt::RandomPurpose purpose;
  llvm::StringRef name;

  bool operator==(const RandomSource &other) const {
    return purpose == other.purpose && name == other.name;
  }
};

} // namespace hone
