//===- Layers.cpp - The layers of a model, by number ----------------------===//

#include "passes/module/Layers.h"

#include "passes/module/Schedule.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

Layers::Layers(ArrayRef<StringRef> prefixes) {
  for (StringRef prefix : prefixes)
    if (numbers.try_emplace(prefix, count()).second)
      this->prefixes.push_back(prefix.str());
}

static SmallVector<StringRef> saidBy(ModuleOp module) {
  auto said =
      module->getAttrOfType<ArrayAttr>(HoneDialect::getLayersAttrName());
  return llvm::to_vector(said.getAsValueRange<StringAttr>());
}

Layers Layers::of(EntryOp loss) {
  auto module = loss->getParentOfType<ModuleOp>();
  if (module->hasAttr(HoneDialect::getLayersAttrName()))
    return Layers(saidBy(module));
  Value returned = loss.getBodyBlock().getTerminator()->getOperand(0);
  llvm::StringSet<> sources;
  SmallVector<StringRef> prefixes;
  for (CallOp call : loss.getBody().getOps<CallOp>())
    if (call.getValues().empty())
      sources.insert(call.getPrefix());
    else if (call != returned.getDefiningOp() &&
             !sources.contains(call.getPrefix()))
      prefixes.push_back(call.getPrefix());
  return Layers(prefixes);
}

Layers Layers::of(ModuleOp module) {
  if (module->hasAttr(HoneDialect::getLayersAttrName()))
    return Layers(saidBy(module));
  // Passes that need a loss report that there is none.
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<EntryOp> loss = findLossEntry(module);
  return succeeded(loss) ? of(*loss) : Layers();
}

std::optional<int64_t> Layers::numberOf(StringRef prefix) const {
  auto found = numbers.find(prefix);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

void Layers::writeTo(ModuleOp module) const {
  SmallVector<StringRef> names(prefixes.begin(), prefixes.end());
  module->setAttr(HoneDialect::getLayersAttrName(),
                  Builder(module.getContext()).getStrArrayAttr(names));
}

} // namespace hone
