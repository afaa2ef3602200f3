//===- RouteChecks.h - Gradients that do not go through every layer -------===//
//
// Selections and parts derive blocks beside the plain backward: they pass a
// cotangent on where a layer is left out, without its gradients or unchanged.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/ModelChecks.h"
#include "compiler/selfcheck/ModelProgram.h"

namespace hone::selfcheck {

/// Appends a check for each layer: that parameters which train on `route` have
/// the gradient of the route's loss, and all others none. `gradient` is that of
/// the whole model at theta. An error if the route cannot be derived or run.
llvm::Error checkRoute(Route route, const ModelCheckRequest &request,
                       const CheckValues &values,
                       const ParameterTable &parameters,
                       const std::vector<double> &gradient, rt::Pool &pool,
                       Report &report);

} // namespace hone::selfcheck
