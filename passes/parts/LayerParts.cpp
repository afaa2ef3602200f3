//===- LayerParts.cpp - The parts of a model, by layers -------------------===//

#include "passes/parts/LayerParts.h"

#include "passes/module/Layers.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

/// The given names, or default ones if there are none.
static std::vector<std::string> namesOf(size_t count,
                                        ArrayRef<std::string> given) {
  if (!given.empty())
    return given.vec();
  if (count == 2)
    return {"lower", "upper"};
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back("part" + std::to_string(i + 1));
  return names;
}

static LogicalResult checkNames(EntryOp loss, ArrayRef<std::string> names,
                                size_t count) {
  if (count > LayerParts::mostParts)
    return loss.emitOpError("is cut into ")
           << count << " parts; at most " << LayerParts::mostParts
           << " can train together";
  if (names.size() != count)
    return loss.emitOpError("has ")
           << names.size() << " names for " << count << " parts";
  llvm::StringSet<> known;
  for (StringRef name : names)
    if (name.empty() || !known.insert(name).second)
      return loss.emitOpError("expects parts of different names but got '")
             << name << "'";
  return success();
}

FailureOr<LayerParts> LayerParts::cut(EntryOp loss, ArrayRef<int64_t> ends,
                                      ArrayRef<std::string> names) {
  LayerParts result;
  result.order = namesOf(ends.size() + 1, names);
  if (failed(checkNames(loss, result.order, ends.size() + 1)))
    return failure();
  const Layers layers = Layers::of(loss);
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] > layers.count())
      return loss.emitOpError("has ")
             << layers.count() << " layers, so the cut after layer " << ends[i]
             << " leaves none above";
    if (ends[i] < 0 || (i > 0 && ends[i] <= ends[i - 1]))
      return loss.emitOpError("expects cuts that rise but got one after layer ")
             << ends[i];
  }
  size_t part = 0;
  Operation *lossCall =
      loss.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp();
  for (CallOp call : loss.getBody().getOps<CallOp>()) {
    std::optional<int64_t> number = layers.numberOf(call.getPrefix());
    if (call == lossCall)
      part = ends.size();
    while (number && part < ends.size() && *number >= ends[part])
      ++part;
    auto [known, isNew] = result.parts.try_emplace(call.getPrefix(), part);
    if (!isNew && known->second != part)
      return call.emitOpError("has the prefix of a layer on the other side of "
                              "the cut");
  }
  return result;
}

} // namespace hone
