//===- HoneOps.td - All ops of the hone dialect ---------------------------===//
//
// An op stands with its derivatives in one file of ops/, and its rules in the
// .cpp beside it. Tablegen wants one file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_OPS_TD
#define HONE_OPS_TD

include "dialects/Hone/ops/Activation.td"
include "dialects/Hone/ops/Attention.td"
include "dialects/Hone/ops/Elementwise.td"
include "dialects/Hone/ops/Embedding.td"
include "dialects/Hone/ops/Linear.td"
include "dialects/Hone/ops/Lora.td"
include "dialects/Hone/ops/Loss.td"
include "dialects/Hone/ops/Norm.td"
include "dialects/Hone/ops/Offload.td"
include "dialects/Hone/ops/Optimizer.td"
include "dialects/Hone/ops/Schedule.td"
include "dialects/Hone/ops/Step.td"
include "dialects/Hone/ops/Structure.td"

#endif // HONE_OPS_TD
