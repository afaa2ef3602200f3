//===- ModuleIdentity.cpp - The facts that decide a module's numbers ------===//

#include "compiler/emit/ModuleIdentity.h"
#include "base/Sha256.h"
#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Sizes.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <set>

using namespace hone;
using namespace mlir;

/// Whether a person can compare the value: names are for the digest.
static bool isFigure(Attribute attribute) {
  return !isa<StringAttr, SymbolRefAttr, TypeAttr>(attribute);
}

/// Numbers as short as reads back to the bit.
static std::string textOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    char text[32];
    auto [end, error] =
        std::to_chars(text, text + sizeof(text), number.getValueAsDouble());
    return std::string(text, end);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream, /*elideType=*/true);
  return text;
}

IdentityFields hone::describeModel(ModuleOp imported) {
  std::map<std::string, std::set<std::string>> figures;
  int64_t calls = 0;
  imported.getBody()->walk([&](Operation *op) {
    std::string name = "model." + op->getName().stripDialect().str();
    for (NamedAttribute attribute : op->getAttrs()) {
      if (!isFigure(attribute.getValue()))
        continue;
      figures[name + "." + attribute.getName().str()].insert(
          textOf(attribute.getValue()));
    }
    if (auto parameter = dyn_cast<ParameterOp>(op))
      figures[name + ".shape"].insert(llvm::join(
          llvm::map_range(parameter.getType().getShape(),
                          [](int64_t size) { return std::to_string(size); }),
          "x"));
    calls += isa<CallOp>(op);
  });

  IdentityFields fields{{"model.calls", std::to_string(calls)}};
  for (auto &[name, values] : figures)
    fields[name] = llvm::join(values, ",");
  OwningOpRef<ModuleOp> ofAnyBatch = imported.clone();
  (*ofAnyBatch)->removeAttr(HoneDialect::getMaxRowsAttrName());
  (*ofAnyBatch)->removeAttr(HoneDialect::getMaxPositionsAttrName());
  // Numbers of layers change none of a step; settings that have them are told.
  (*ofAnyBatch)->removeAttr(HoneDialect::getLayersAttrName());
  // The settings that ask for it are told by name.
  (*ofAnyBatch)->removeAttr(HoneDialect::getRoundedProductsAttrName());
  // The target is told by name.
  (*ofAnyBatch)->removeAttr(kLossColumnsAttrName);
  (*ofAnyBatch)->removeAttr(kAttentionIterationsAttrName);
  (*ofAnyBatch)->removeAttr(kProductTilesAttrName);
  std::string text;
  llvm::raw_string_ostream(text) << **ofAnyBatch;
  fields["model"] = rt::Sha256::hex(text);
  return fields;
}

/// Columns of the bfloat16 tensors among `values`.
static int64_t roundedColumns(ValueRange values) {
  int64_t columns = 0;
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType());
        type && type.getElementType().isBF16())
      columns += type.getShape().back();
  return columns;
}

std::string hone::describeRounding(ModuleOp derived) {
  std::string text;
  derived.walk([&](CallOp call) {
    if (int64_t columns = roundedColumns(call.getResults()))
      text += (text.empty() ? "bfloat16 in " : ",") + std::to_string(columns) +
              " columns of " + call.getPrefix().str();
  });
  return text.empty() ? "float32" : text;
}
