//===- HoneOps.td - All ops of the hone dialect ---------------------------===//
//
// Readers want the model, the step, gradients of its parameters, its schedule,
// tangents and generation apart, tablegen wants one file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_OPS_TD
#define HONE_OPS_TD

include "dialects/Hone/HoneDoraOps.td"
include "dialects/Hone/HoneGenerationOps.td"
include "dialects/Hone/HoneGptOps.td"
include "dialects/Hone/HoneModelOps.td"
include "dialects/Hone/HoneParameterOps.td"
include "dialects/Hone/HoneScheduleOps.td"
include "dialects/Hone/HoneStepOps.td"
include "dialects/Hone/HoneTangentOps.td"

#endif // HONE_OPS_TD
