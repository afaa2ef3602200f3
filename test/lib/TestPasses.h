//===- TestPasses.h - Passes that only tests run --------------------------===//

#pragma once

#include "mlir/Pass/Pass.h"

namespace hone {

/// test-select-layers; `slots` of its pool.
std::unique_ptr<mlir::Pass> createSelectLayers(int64_t slots);

/// test-set-method.
void registerSetMethod();

/// test-edit-exchange.
void registerEditExchange();

/// All of this folder, for hone-opt.
void registerTestPasses();

} // namespace hone
