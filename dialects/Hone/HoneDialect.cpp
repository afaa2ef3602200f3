//===- HoneDialect.cpp - Registration and module-level rules --------------===//

#include "dialects/Hone/HoneOps.h"

#include "dialects/Hone/Sizes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

#include "dialects/Hone/HoneDialect.cpp.inc"
#include "dialects/Hone/HoneEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Hone/HoneAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Hone/HoneTypes.cpp.inc"

namespace hone {

#include "dialects/Hone/HoneInterfaces.cpp.inc"

void HoneDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Hone/HoneOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Hone/HoneTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Hone/HoneAttrs.cpp.inc"
      >();
}

LogicalResult
Llama3RopeScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              FloatAttr factor, FloatAttr lowFreqFactor,
                              FloatAttr highFreqFactor,
                              int64_t originalMaxPositionEmbeddings) {
  // (C1)
  for (auto [name, number] : {std::pair("factor", factor),
                              {"low_freq_factor", lowFreqFactor},
                              {"high_freq_factor", highFreqFactor}})
    if (!number.getType().isF64() || !number.getValue().isFinite() ||
        number.getValueAsDouble() <= 0)
      return emitError() << "expects '" << name
                         << "' to be a positive f64 but got " << number;
  // (C2)
  if (lowFreqFactor.getValueAsDouble() >= highFreqFactor.getValueAsDouble())
    return emitError() << "expects 'low_freq_factor' to be below "
                          "'high_freq_factor', but got "
                       << lowFreqFactor << " and " << highFreqFactor;
  // (C3)
  if (originalMaxPositionEmbeddings < 1)
    return emitError() << "expects 'original_max_position_embeddings' to be "
                          "positive but got "
                       << originalMaxPositionEmbeddings;
  return success();
}

LogicalResult StorageAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StoredType type, int64_t group) {
  // (C1)
  bool isGrouped = type != StoredType::BFloat16;
  bool isKnownGroup = group == 32 || group == 64 || group == 128;
  if (isGrouped ? isKnownGroup : group == 0)
    return success();
  if (!isGrouped)
    return emitError() << "expects no 'group' for bfloat16 but got " << group;
  return emitError() << "expects 'group' to be 32, 64 or 128 but got " << group;
}

int64_t StorageAttr::getBits() const {
  switch (getType()) {
  case StoredType::BFloat16:
    return 16;
  case StoredType::Int8:
    return 8;
  case StoredType::Int4:
    return 4;
  }
  llvm_unreachable("unknown stored type");
}

/// Number `index` of `fewer`, or `otherwise` if there are not so many.
static int64_t numberIn(DenseI64ArrayAttr fewer, size_t index,
                        int64_t otherwise) {
  return fewer && index < static_cast<size_t>(fewer.size()) ? fewer[index]
                                                            : otherwise;
}

int64_t SlotAttr::offsetIn(unsigned placement) const {
  return placement == 0 ? getOffset()
                        : numberIn(getFewer(), 2 * placement - 2, getOffset());
}

int64_t SlotAttr::bytesIn(unsigned placement) const {
  return placement == 0 ? getBytes()
                        : numberIn(getFewer(), 2 * placement - 1, getBytes());
}

LogicalResult HoneDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == getMaxRowsAttrName() || name == getArenaBytesAttrName() ||
      name == kLossColumnsAttrName || name == kAttentionIterationsAttrName ||
      name == kProductTilesAttrName) {
    // A batch has a row; a module without values needs no memory. Inputs number
    // rows in 32 bits.
    const bool isBytes = name == getArenaBytesAttrName();
    const int64_t least = isBytes ? 0 : 1;
    const int64_t most = isBytes ? std::numeric_limits<int64_t>::max()
                                 : std::numeric_limits<int32_t>::max();
    auto value = dyn_cast<IntegerAttr>(attr.getValue());
    if (!isa<ModuleOp>(op) || !value || value.getInt() < least ||
        value.getInt() > most)
      return op->emitError()
             << "expects '" << name << "' to be an integer from " << least
             << " to " << most << " on a module, but got " << attr.getValue();
  }
  if (name == getFewerRowsAttrName()) {
    auto fewer = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    auto most = op->getAttrOfType<IntegerAttr>(getMaxRowsAttrName());
    int64_t before = most ? most.getInt() : 0;
    if (!isa<ModuleOp>(op) || !fewer ||
        !llvm::all_of(fewer.asArrayRef(), [&](int64_t rows) {
          return rows >= 1 && rows < std::exchange(before, rows);
        }))
      return op->emitError() << "expects '" << name
                             << "' to be numbers that decrease, from below '"
                             << getMaxRowsAttrName()
                             << "', on a module, but got " << attr.getValue();
  }
  if (name == getLayersAttrName()) {
    auto prefixes = dyn_cast<ArrayAttr>(attr.getValue());
    llvm::SmallPtrSet<Attribute, 8> known;
    if (!isa<ModuleOp>(op) || !prefixes ||
        !llvm::all_of(prefixes, [&](Attribute prefix) {
          return isa<StringAttr>(prefix) && known.insert(prefix).second;
        }))
      return op->emitError()
             << "expects '" << name
             << "' to be different strings on a module, but got "
             << attr.getValue();
  }
  return success();
}

} // namespace hone
