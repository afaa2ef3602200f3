//===- CheckModel.cpp - The user's model, small enough to check -----------===//
//
// See CheckModel.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/CheckModel.h"

#include "base/Dtype.h"
#include "base/Philox.h"
#include "compiler/weights/Quantizer.h"
#include "passes/module/WeightStorage.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// The operands that stand for the results of `call` where its layer is left
/// out; empty if there is none for one of them.
static SmallVector<Value> inPlaceOf(CallOp call) {
  SmallVector<Value> operands(call.getOperands()), stand;
  for (Type type : call.getResultTypes()) {
    auto *found = llvm::find_if(
        operands, [&](Value operand) { return operand.getType() == type; });
    if (found == operands.end())
      return {};
    stand.push_back(*found);
    operands.erase(found);
  }
  return stand;
}

static void leaveOutLayers(EntryOp loss) {
  llvm::StringMap<int64_t> counts;
  for (CallOp call :
       llvm::make_early_inc_range(loss.getBody().getOps<CallOp>())) {
    if (counts[call.getBlock()]++ < kLayersOfAKind)
      continue;
    SmallVector<Value> stand = inPlaceOf(call);
    if (stand.empty())
      continue;
    call.getResults().replaceAllUsesWith(stand);
    call.erase();
  }
}

/// `table` has a row for each token.
static void cutVocabulary(Value table) {
  auto type = cast<RankedTensorType>(table.getType());
  if (isa_and_present<ParameterOp>(table.getDefiningOp()) &&
      type.getDimSize(0) > kVocabulary)
    table.setType(type.clone({kVocabulary, type.getDimSize(1)}));
}

/// Makes values that derivatives take for constant depend on frozen parameters
/// alone, so that they are constant in differences of the loss, too.
static void holdDetached(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!op->hasTrait<Detached>())
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      auto parameter = operand.get().getDefiningOp<ParameterOp>();
      if (!parameter || !parameter.getTrainable())
        continue;
      auto held =
          cast<ParameterOp>(OpBuilder(op).clone(*parameter.getOperation()));
      held.setName((parameter.getName() + ".held").str());
      held.setTrainable(false);
      held.removeInitAttr();
      operand.set(held);
    }
  });
}

void selfcheck::shrink(ModuleOp module) {
  Builder builder(module.getContext());
  for (EntryOp entry : module.getOps<EntryOp>())
    leaveOutLayers(entry);
  module.walk([](EmbeddingOp op) { cutVocabulary(op.getTable()); });
  module.walk([](LinearCrossEntropyOp op) { cutVocabulary(op.getWeight()); });
  holdDetached(module);
  module->setAttr(HoneDialect::getMaxRowsAttrName(),
                  builder.getI64IntegerAttr(kRows));
  module->setAttr(HoneDialect::getMaxPositionsAttrName(),
                  builder.getI64IntegerAttr(kRows));
}

std::string selfcheck::describeModel() {
  return "up to " + std::to_string(kLayersOfAKind) + " layers of each kind, " +
         std::to_string(kRows) + " rows, up to " + std::to_string(kVocabulary) +
         " ids, random values";
}

static Type inFloat64(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return type;
  return tensor.clone(Float64Type::get(type.getContext()));
}

static FunctionType inFloat64(FunctionType type) {
  SmallVector<Type> inputs, results;
  for (Type input : type.getInputs())
    inputs.push_back(inFloat64(input));
  for (Type result : type.getResults())
    results.push_back(inFloat64(result));
  return FunctionType::get(type.getContext(), inputs, results);
}

void selfcheck::convertToFloat64(ModuleOp module) {
  module->removeAttr(HoneDialect::getRoundedProductsAttrName());
  module.walk([](Operation *op) {
    for (Value result : op->getResults())
      result.setType(inFloat64(result.getType()));
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        argument.setType(inFloat64(argument.getType()));
    if (auto parameter = dyn_cast<ParameterOp>(op))
      parameter.removeStoredAttr();
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      function.setType(
          inFloat64(cast<FunctionType>(function.getFunctionType())));
  });
}

void selfcheck::removeKinks(ModuleOp module) {
  auto smooth = [](auto op) {
    if (op.getActivation() == Activation::Relu)
      op.setActivation(Activation::Gelu);
  };
  module.walk([&](ActivationOp op) { smooth(op); });
  module.walk([&](GatedActivationOp op) { smooth(op); });
}

//===----------------------------------------------------------------------===//
// The values
//===----------------------------------------------------------------------===//

RandomNumbers::RandomNumbers(const std::string &name)
    : key(rt::hashStream(rt::RandomPurpose::Test, name)) {}

double RandomNumbers::operator[](uint64_t index) const {
  auto bits = rt::philox4x32({uint32_t(index), uint32_t(index >> 32), 0, 0},
                             {uint32_t(key), uint32_t(key >> 32)});
  return (bits[0] >> 8) * 0x1p-23 - 1.0;
}

std::vector<double> RandomNumbers::take(size_t count) const {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = (*this)[i];
  return values;
}

std::vector<int32_t> selfcheck::integersOf(InputOp input, int64_t vocabulary,
                                           int64_t rows) {
  StringRef name = input.getName();
  int64_t count = elementsAtRows(input.getType(), rows);
  std::vector<int32_t> values(count);
  for (int64_t i = 0; i < count; ++i) {
    if (name == "sequence_starts")
      values[i] = i < kSecondSequence ? 0 : kSecondSequence;
    else if (name == "targets")
      values[i] = i % 5 == 3 ? -100 : (i * 31 + 7) % vocabulary;
    else
      values[i] = (i * 17 + 3) % vocabulary;
  }
  return values;
}

/// 1 for the factors of a norm and for DoRA's lengths; else 0.
static double centerOf(ParameterOp op) {
  for (Operation *user : op->getUsers()) {
    if (auto norm = dyn_cast<RmsNormOp>(user))
      return 1.0 - norm.getOffset().convertToDouble();
    if (auto norm = dyn_cast<LayerNormOp>(user))
      return norm.getWeight() == op.getResult() ? 1.0 : 0.0;
    if (auto rescale = dyn_cast<RescaleOp>(user))
      return rescale.getMagnitude() == op.getResult() ? 1.0 : 0.0;
  }
  return 0.0;
}

/// Of a B: with a large alpha scores would be, too, and a softmax whose rows
/// are nearly 0 and 1 tells roundings apart, not derivatives.
static double scaleOf(ParameterOp op) {
  double scale = 1.0;
  auto consider = [&](auto user) {
    if (user && user.getB() == op.getResult())
      scale = std::abs(user.getScale().convertToDouble());
  };
  for (Operation *user : op->getUsers()) {
    consider(dyn_cast<LoraLinearOp>(user));
    consider(dyn_cast<RowLengthsOp>(user));
  }
  return std::max(1.0, scale);
}

CheckValues::CheckValues(ModuleOp module, const ParameterTable &table)
    : parameters(table) {
  std::map<Operation *, std::string> firstNames;
  SymbolTable symbols(module);
  for (EntryOp entry : module.getOps<EntryOp>())
    for (CallOp call : entry.getBody().getOps<CallOp>())
      for (ParameterOp op : symbols.lookup<BlockOp>(call.getBlock())
                                .getBody()
                                .getOps<ParameterOp>()) {
        std::string name = (call.getPrefix() + op.getName()).str();
        auto first = firstNames.try_emplace(op, name).first;
        sources.insert({name, {first->second, centerOf(op), scaleOf(op)}});
      }
  trainable.resize(table.trainableElements());
  for (const Parameter &parameter : table.trainable()) {
    // Each layer has one of its own.
    Source own = sources.at(parameter.name);
    own.name = parameter.name;
    std::vector<float> values = random(parameter, own);
    for (size_t i = 0; i < values.size(); ++i)
      trainable[parameter.offset + i] =
          table.thetaElement().isBF16()
              ? rt::bfloat16ToFloat(rt::floatToBfloat16(values[i]))
              : values[i];
  }
}

/// An activation that is multiplied by it keeps its size.
std::vector<float> CheckValues::random(const Parameter &parameter,
                                       const Source &source) const {
  RandomNumbers numbers(source.name);
  RankedTensorType type = parameter.type;
  double width = type.getRank() == 2
                     ? std::sqrt(3.0 / type.getDimSize(1)) / source.scale
                     : 0.3;
  std::vector<float> values(type.getNumElements());
  constexpr size_t chunk = 1 << 16;
  llvm::parallelFor(0, llvm::divideCeil(values.size(), chunk), [&](size_t n) {
    size_t end = std::min(values.size(), (n + 1) * chunk);
    for (size_t i = n * chunk; i < end; ++i)
      values[i] = static_cast<float>(source.center + width * numbers[i]);
  });
  return values;
}

template <typename T>
static std::vector<char> bytesOf(const std::vector<T> &v) {
  std::vector<char> bytes(v.size() * sizeof(T));
  std::memcpy(bytes.data(), v.data(), bytes.size());
  return bytes;
}

static std::vector<uint16_t> toBfloat16(const std::vector<float> &values) {
  std::vector<uint16_t> rounded(values.size());
  llvm::transform(values, rounded.begin(), rt::floatToBfloat16);
  return rounded;
}

static QuantizedGroups quantized(const std::vector<float> &values,
                                 StorageAttr storage) {
  QuantizedGroups groups;
  (void)Quantizer(storage.getBits(), storage.getGroup())
      .quantize(values.data(), values.size(), groups); // which are finite
  return groups;
}

CheckValues::Tensors CheckValues::make(
    llvm::function_ref<std::vector<std::vector<char>>(const Parameter &,
                                                      const Source &)>
        encode) const {
  Tensors result;
  std::map<std::string, std::pair<size_t, size_t>> made; // by source
  for (const Parameter &parameter : parameters.frozen()) {
    const Source &source = sources.at(parameter.name);
    auto [at, isNew] = made.try_emplace(source.name);
    if (isNew) {
      at->second.first = result.bytes.size();
      for (std::vector<char> &tensor : encode(parameter, source))
        result.bytes.push_back(std::move(tensor));
      at->second.second = result.bytes.size();
    }
    for (size_t i = at->second.first; i < at->second.second; ++i)
      result.table.push_back(result.bytes[i].data());
  }
  return result;
}

CheckValues::Tensors CheckValues::stored() const {
  return make([&](const Parameter &parameter,
                  const Source &source) -> std::vector<std::vector<char>> {
    std::vector<float> values = random(parameter, source);
    StorageAttr storage = parameter.storage;
    if (storage && !storage.isGrouped())
      return {bytesOf(toBfloat16(values))};
    if (!storage && parameter.type.getElementType().isF64())
      return {bytesOf(std::vector<double>(values.begin(), values.end()))};
    if (!storage)
      return {bytesOf(values)};
    QuantizedGroups groups = quantized(values, storage);
    return {bytesOf(groups.packed), bytesOf(groups.scales),
            bytesOf(groups.biases)};
  });
}

CheckValues::Tensors CheckValues::decoded() const {
  return make([&](const Parameter &parameter,
                  const Source &source) -> std::vector<std::vector<char>> {
    std::vector<float> values = random(parameter, source);
    StorageAttr storage = parameter.storage;
    if (storage && storage.isGrouped())
      Quantizer(storage.getBits(), storage.getGroup())
          .dequantize(quantized(values, storage), values.data());
    else if (storage)
      llvm::transform(toBfloat16(values), values.begin(), rt::bfloat16ToFloat);
    return {bytesOf(std::vector<double>(values.begin(), values.end()))};
  });
}
