//===- HoneDialect.cpp - Registration and module-level rules --------------===//

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/Hone/HoneDialect.cpp.inc"
#include "dialects/Hone/HoneEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Hone/HoneAttrs.cpp.inc"

namespace hone {

#include "dialects/Hone/HoneInterfaces.cpp.inc"

void HoneDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Hone/HoneOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Hone/HoneAttrs.cpp.inc"
      >();
}

LogicalResult HoneDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == getMaxRowsAttrName() || name == getArenaBytesAttrName()) {
    // A batch has a row; a module without values needs no memory.
    int64_t least = name == getMaxRowsAttrName() ? 1 : 0;
    auto value = dyn_cast<IntegerAttr>(attr.getValue());
    if (!isa<ModuleOp>(op) || !value || value.getInt() < least)
      return op->emitError() << "expects '" << name
                             << "' to be an integer of at least " << least
                             << " on a module";
  }
  return success();
}

} // namespace hone
