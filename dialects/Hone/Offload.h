//===- Offload.h - Values that rest in a file between two calls -----------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#define GET_OP_CLASSES
#include "dialects/Hone/Offload.h.inc"
