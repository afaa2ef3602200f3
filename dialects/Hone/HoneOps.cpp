//===- HoneOps.cpp - What tablegen writes of the ops ----------------------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Hone/HoneOps.cpp.inc"
