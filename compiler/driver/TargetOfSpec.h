//===- TargetOfSpec.h - The target that a spec names ----------------------===//

#ifndef HONE_COMPILER_DRIVER_TARGETOFSPEC_H
#define HONE_COMPILER_DRIVER_TARGETOFSPEC_H

#include "compiler/spec/Spec.h"
#include "targets/Target.h"

#include <memory>

namespace hone {

/// Settles train.bfloat16_products: auto too. Errors: UnknownTarget, naming the
/// key that is wrong; TargetLacksProducts.
rt::Result<std::unique_ptr<Target>> targetOf(Spec &spec);

} // namespace hone

#endif
