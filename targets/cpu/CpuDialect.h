//===- CpuDialect.h - Panels and register tiles of a CPU ------------------===//
//
// See CpuOps.td, which is the manual.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_CPUDIALECT_H
#define HONE_TARGETS_CPU_CPUDIALECT_H

#include "dialects/Tile/TileDialect.h"

#include "targets/cpu/CpuDialect.h.inc"

#define GET_OP_CLASSES
#include "targets/cpu/CpuOps.h.inc"

#endif // HONE_TARGETS_CPU_CPUDIALECT_H
