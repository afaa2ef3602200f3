//===- ParameterTable.cpp - Every tensor of the model, by name ------------===//

#include "passes/module/ParameterTable.h"

#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"

using namespace mlir;

namespace hone {

/// "frozen 'tensor<8x64xf32>' stored #hone.storage<int4, group = 64>"
static std::string describe(bool trainable, RankedTensorType type,
                            StorageAttr storage, bool transposed = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (trainable ? "trainable '" : "frozen '") << type << "'";
  if (storage)
    os << " stored " << storage;
  if (transposed)
    os << " transposed";
  return text;
}

namespace {
/// A block's declaration of a parameter; its attributes are looked up once,
/// however many layers run it.
struct Declared {
  explicit Declared(ParameterOp op)
      : op(op), name(op.getName()), type(cast<RankedTensorType>(op.getType())),
        trainable(op.getTrainable()), transposed(op.getTransposed()),
        init(op.getInit().value_or(Init::Zero)), storage(op.getStoredAttr()) {}

  ParameterOp op;
  StringRef name;
  RankedTensorType type;
  bool trainable, transposed;
  Init init;
  StorageAttr storage;
};
} // namespace

FailureOr<ParameterTable> ParameterTable::build(ModuleOp module) {
  ParameterTable table;
  SymbolTable symbols(module);
  llvm::StringMap<int64_t> layers;
  auto add = [&](StringRef prefix, const Declared &own) -> LogicalResult {
    ParameterOp op = own.op;
    RankedTensorType type = own.type;
    std::string name = (prefix + own.name).str();
    auto &list = own.trainable ? table.trainableList : table.frozenList;
    auto [at, isNew] =
        table.byName.try_emplace(name, Ref{own.trainable, list.size()});
    if (!isNew) {
      const Ref &ref = at->second;
      const Parameter &known =
          (ref.trainable ? table.trainableList : table.frozenList)[ref.index];
      if (known.type == type && known.trainable == own.trainable &&
          known.storage == own.storage && known.transposed == own.transposed)
        return success();
      return op.emitOpError("reads '")
             << name << "' as "
             << describe(own.trainable, type, own.storage, own.transposed)
             << ", but another layer reads it as "
             << describe(known.trainable, known.type, known.storage,
                         known.transposed);
    }
    Parameter parameter{name,          type,
                        own.trainable, own.init,
                        own.storage,   static_cast<int64_t>(list.size())};
    parameter.transposed = own.transposed;
    if (parameter.trainable) {
      if (!list.empty() &&
          (list.front().type.getElementType() != type.getElementType() ||
           list.front().storage != parameter.storage))
        return op.emitOpError("expects trainable parameters to have one "
                              "element type and storage, since they are one "
                              "vector, but '")
               << name << "' is " << describe(true, type, parameter.storage)
               << " and '" << list.front().name << "' is "
               << describe(true, list.front().type, list.front().storage);
      auto [layer, isNewLayer] =
          layers.try_emplace(prefix, table.layerList.size());
      if (isNewLayer)
        table.layerList.push_back({prefix.str()});
      parameter.layer = layer->second;
    } else {
      parameter.index = table.weights;
      table.weights += storedTensors(type, parameter.storage).size();
    }
    list.push_back(std::move(parameter));
    return success();
  };

  llvm::DenseMap<Operation *, std::vector<Declared>> parametersOf;
  // Another entry calls the same block for the same layer.
  llvm::DenseSet<std::pair<Operation *, Attribute>> seen;
  for (EntryOp entry : module.getOps<EntryOp>()) {
    LogicalResult added = success();
    auto addAll = [&](CallOp call, BlockOp block) {
      if (!seen.insert({block, call.getPrefixAttr()}).second)
        return;
      auto [list, isNew] = parametersOf.try_emplace(block);
      if (isNew)
        for (ParameterOp op : block.getBody().getOps<ParameterOp>())
          list->second.emplace_back(op);
      for (const Declared &own : list->second)
        if (succeeded(added))
          added = add(call.getPrefix(), own);
    };
    if (failed(forEachCall(entry, symbols, addAll)) || failed(added))
      return failure();
  }
  table.layOutTheta();
  return table;
}

std::vector<Parameter> ParameterTable::pretrained() const {
  std::vector<Parameter> list = frozenList;
  llvm::copy_if(trainableList, std::back_inserter(list),
                [](const Parameter &p) { return p.init == Init::Pretrained; });
  return list;
}

std::vector<Parameter> ParameterTable::loaded() const {
  std::vector<Parameter> list = frozenList;
  llvm::copy_if(trainableList, std::back_inserter(list),
                [](const Parameter &p) { return p.isLoaded(); });
  return list;
}

Type ParameterTable::thetaElement() const {
  if (trainableList.empty())
    return {};
  const Parameter &any = trainableList.front();
  return storedTensors(any.type, any.storage).front().type.getElementType();
}

Type ParameterTable::gradientElement() const {
  return trainableList.empty() ? Type()
                               : trainableList.front().type.getElementType();
}

void ParameterTable::layOutTheta() {
  llvm::sort(trainableList, [](const Parameter &a, const Parameter &b) {
    return std::tie(a.layer, a.index) < std::tie(b.layer, b.index);
  });
  for (auto [index, parameter] : llvm::enumerate(trainableList)) {
    byName[parameter.name].index = index;
    parameter.index = static_cast<int64_t>(index);
    parameter.offset = elements;
    TrainableLayer &layer = layerList[parameter.layer];
    if (layer.elements == 0)
      layer.offset = elements;
    layer.elements += parameter.type.getNumElements();
    elements += parameter.type.getNumElements();
  }
}

ArrayRef<Parameter> ParameterTable::ofLayer(int64_t layer) const {
  ArrayRef<Parameter> list = trainableList;
  return list.take_until([&](const Parameter &p) { return p.layer > layer; })
      .drop_until([&](const Parameter &p) { return p.layer == layer; });
}

const TrainableLayer *ParameterTable::findLayer(StringRef prefix) const {
  auto layer = llvm::find_if(layerList, [&](const TrainableLayer &layer) {
    return layer.prefix == prefix;
  });
  return layer == layerList.end() ? nullptr : &*layer;
}

std::optional<ThetaSlice> ParameterTable::slice(ArrayAttr prefixes) const {
  if (!prefixes)
    return ThetaSlice{0, elements, trainableList};
  ThetaSlice found{0, 0, {}};
  int64_t end = 0;
  llvm::SmallPtrSet<const TrainableLayer *, 8> known;
  for (StringRef prefix : prefixes.getAsValueRange<StringAttr>()) {
    const TrainableLayer *layer = findLayer(prefix);
    if (!layer)
      continue;
    if (!known.insert(layer).second)
      return std::nullopt;
    if (found.elements == 0)
      found.offset = layer->offset;
    found.offset = std::min(found.offset, layer->offset);
    end = std::max(end, layer->offset + layer->elements);
    found.elements += layer->elements;
  }
  if (end > found.offset + found.elements)
    return std::nullopt;
  found.parameters =
      ArrayRef(trainableList)
          .drop_until(
              [&](const Parameter &p) { return p.offset >= found.offset; })
          .take_while([&](const Parameter &p) { return p.offset < end; });
  return found;
}

const Parameter *ParameterTable::find(StringRef prefix, StringRef name) const {
  auto found = byName.find((prefix + name).str());
  if (found == byName.end())
    return nullptr;
  const Ref &ref = found->second;
  return &(ref.trainable ? trainableList : frozenList)[ref.index];
}

} // namespace hone
