//===- CpuDialect.h - Panels and register tiles of a CPU ------------------===//
//
// See CpuOps.td, which is the manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/TileDialect.h"

#include "targets/cpu/CpuDialect.h.inc"

#define GET_OP_CLASSES
#include "targets/cpu/CpuOps.h.inc"
