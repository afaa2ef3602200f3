//===- JoinAdapters.h - One adapter of those of the parts -----------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct JoinRequest {
  std::vector<std::string> parts; ///< folders of adapters, 2 or more
  std::string output;             ///< a folder, new or empty
};

struct JoinSummary {
  uint64_t parts = 0, layers = 0, tensors = 0;

  void print(const std::string &output) const;
};

/// Writes the adapter that one program of all the parts would have written, to
/// the byte. A part that is missing above the highest layer cannot be seen.
/// Errors: NotParts for settings that differ, a tensor that two have and a
/// layer that none has; as PeftAdapter::open; CannotCreate, IoError.
Result<JoinSummary> joinAdapters(const JoinRequest &request);

} // namespace hone
