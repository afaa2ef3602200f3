//===- HoneOps.cpp - Definitions of the ops by tablegen -------------------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Hone/HoneOps.cpp.inc"
