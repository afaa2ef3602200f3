//===- ControlFlow.h - Where lanes that part meet again -------------------===//

#pragma once

#include "Program.h"

namespace hone::ptx {

/// Each conditional branch gets the first instruction of its block's immediate
/// post-dominator; kNone where there is none but the end.
void findReconvergence(std::vector<Instruction> &code);

} // namespace hone::ptx
