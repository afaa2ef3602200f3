//===- MachineProfileFile.h - Measured rates of a machine -----------------===//
//
// What `./dev bench --profile FILE` writes and `target.profile` names:
// {"flops_per_second": 4.75e11, "bfloat16_flops_per_second": 9e11,
// "other_flops_per_second": 2.1e11, "bytes_per_second": 6e10,
// "fills_per_second": 3e10}; a machine without bfloat16 products leaves theirs
// out. A device's has "launch_seconds", too: what a launch costs. See
// passes/plan/CostEstimate.h for their meaning.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "passes/plan/CostEstimate.h"

namespace hone {

/// Errors: NoInput; BadData for what is not such an object of positive numbers.
/// What the file may leave out and does is `profile`'s.
Result<MachineProfile> readProfile(const std::string &path,
                                   MachineProfile profile = {});

} // namespace hone
