//===- Lifetimes.cpp - When values are in use -----------------------------===//

#include "passes/Lifetimes.h"

using namespace mlir;

namespace hone {

Lifetimes::Lifetimes(mlir::Block &body) {
  int64_t next = 0;
  for (Operation &op : body)
    positions[&op] = next++;
}

bool Lifetimes::needsMemory(OpResult value) const {
  if (value.getOwner()->hasTrait<Ambient>())
    return false;
  return llvm::none_of(value.getUsers(),
                       [](Operation *user) { return isa<ReturnOp>(user); });
}

Buffer Lifetimes::buffer(OpResult value, int64_t rows) const {
  int64_t first = position(value.getOwner()), last = first;
  for (Operation *user : value.getUsers())
    last = std::max(last, position(user));
  return {bytesAtRows(value.getType(), rows), first, last};
}

Buffer Lifetimes::during(Operation *op, int64_t bytes) const {
  return {bytes, position(op), position(op)};
}

FailureOr<int64_t> maxRows(Operation *module) {
  auto rows =
      module->getAttrOfType<IntegerAttr>(HoneDialect::getMaxRowsAttrName());
  if (!rows)
    return module->emitError("expects the attribute '")
           << HoneDialect::getMaxRowsAttrName() << "'";
  return rows.getInt();
}

RegionOp findRegion(ModuleOp module, StringRef name) {
  for (RegionOp region : module.getOps<RegionOp>())
    if (region.getName() == name)
      return region;
  return {};
}

} // namespace hone
