//===- MachineProfileFile.h - Measured rates of a machine -----------------===//
//
// What `./dev bench --profile FILE` writes and `target.profile` names:
// {"flops_per_second": 5e11, "bytes_per_second": 4e10, "fills_per_second":
// 1.5e10}. See passes/CostEstimate.h for their meaning.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_MACHINEPROFILEFILE_H
#define HONE_COMPILER_MACHINEPROFILEFILE_H

#include "base/Status.h"
#include "passes/CostEstimate.h"

namespace hone {

/// Errors: NoInput; BadData for what is not such an object of positive numbers.
rt::Result<MachineProfile> readProfile(const std::string &path);

} // namespace hone

#endif
