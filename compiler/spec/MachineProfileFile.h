//===- MachineProfileFile.h - Measured rates of a machine -----------------===//
//
// The file that `./dev bench --profile FILE` writes and `target.profile` names:
// {"flops_per_second": 4.75e11, "bfloat16_flops_per_second": 9e11,
// "other_flops_per_second": 2.1e11, "bytes_per_second": 6e10,
// "fills_per_second": 3e10}; a machine without bfloat16 products leaves theirs
// out. "disk_bytes_per_second" is of a file that activations rest in. The
// profile of a device has "launch_seconds", too, the cost of a launch. Families
// of kernels have costs that were measured: {"threads": 2, "step_seconds":
// 1e-3, "families": {"lora_linear f32 int4": {"flop": 2e-12, "byte": 0, "fill":
// 3e-11, "launch": 0}}}, all of them seconds. passes/plan/MachineCosts.h has
// their meaning.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "passes/plan/MachineCosts.h"

namespace hone {

/// Errors: as MappedFile::open, Json::parse; BadProfile for text that is not
/// such an object of numbers, or has another key: rates are positive, costs of
/// families not negative, and times of a step that follow from them finite.
/// Optional keys that the file leaves out are those of `rates`.
Result<MachineCosts> readProfile(const std::string &path,
                                 MachineProfile rates = {});

} // namespace hone
