//===- ModelBuilder.cpp - hone IR in the words of a model -----------------===//

#include "compiler/import/ModelBuilder.h"
#include "passes/module/Layers.h"

using namespace hone;
using namespace mlir;

int64_t hone::featuresOf(Value rows) {
  return cast<RankedTensorType>(rows.getType()).getDimSize(1);
}

ModelBuilder::ModelBuilder(ModuleOp module, Type element,
                           int64_t longestSequence)
    : module(module), builder(OpBuilder::atBlockEnd(module.getBody())),
      element(element), mostPositions(longestSequence) {}

double ModelBuilder::rounded(double value) const {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(element).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

RankedTensorType ModelBuilder::rowsOf(int64_t features) const {
  return RankedTensorType::get({ShapedType::kDynamic, features}, element);
}

Location ModelBuilder::at(const llvm::Twine &name) {
  return NameLoc::get(builder.getStringAttr(name));
}

void ModelBuilder::block(StringRef name, TypeRange arguments,
                         llvm::function_ref<Value(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto block = BlockOp::create(builder, at(name), name,
                               builder.getFunctionType(arguments, {}));
  builder.setInsertionPointToEnd(&block.getBody().front());
  Value result = body(block.getBody().getArguments());
  ReturnOp::create(builder, at(name), ValueRange(result));
  block.setFunctionType(builder.getFunctionType(arguments, result.getType()));
}

void ModelBuilder::loss(llvm::function_ref<Value()> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto entry = EntryOp::create(builder, at("loss"), "loss", Phase::Forward, {},
                               scalarType(builder.getContext()));
  builder.setInsertionPointToEnd(&entry.getBodyBlock());
  ReturnOp::create(builder, at("loss"), body());
  Layers(llvm::to_vector_of<StringRef>(layers)).writeTo(module);
}

Value ModelBuilder::call(StringRef block, const std::string &prefix,
                         ValueRange operands) {
  auto callee = module.lookupSymbol<BlockOp>(block);
  return CallOp::create(builder, at(prefix.empty() ? block : prefix),
                        callee.getResultTypes(), block, prefix, operands)
      .getResult(0);
}

Value ModelBuilder::layer(StringRef block, const std::string &prefix, Value x) {
  layers.push_back(prefix);
  return call(block, prefix, x);
}

Value ModelBuilder::rowInput(StringRef name) {
  auto indices =
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  return InputOp::create(builder, at(name), indices, name);
}

Value ModelBuilder::parameter(const llvm::Twine &name,
                              ArrayRef<int64_t> shape) {
  return ParameterOp::create(builder, at(name),
                             RankedTensorType::get(shape, computeType(element)),
                             builder.getStringAttr(name),
                             /*trainable=*/false, InitAttr(), StorageAttr(),
                             /*transposed=*/false);
}

Value ModelBuilder::embedding(StringRef name, int64_t vocabulary,
                              int64_t features, FloatAttr scale) {
  Value ids = rowInput("input_ids");
  Value table = parameter(name + ".weight", {vocabulary, features});
  return EmbeddingOp::create(builder, at(name), rowsOf(features), ids, table,
                             scale, /*streamed=*/UnitAttr());
}

Value ModelBuilder::linear(StringRef name, Value x, int64_t out, bool hasBias) {
  Value weight = parameter(name + ".weight", {out, featuresOf(x)});
  Value bias = hasBias ? parameter(name + ".bias", {out}) : Value();
  return LinearOp::create(builder, at(name), rowsOf(out), x, weight, bias);
}

Value ModelBuilder::conv1d(StringRef name, Value x, int64_t out) {
  auto weight = parameter(name + ".weight", {out, featuresOf(x)})
                    .getDefiningOp<ParameterOp>();
  weight.setTransposed(true);
  Value bias = parameter(name + ".bias", {out});
  return LinearOp::create(builder, at(name), rowsOf(out), x, weight, bias);
}

Value ModelBuilder::layerNorm(StringRef name, Value x, double epsilon) {
  int64_t features = featuresOf(x);
  Value weight = parameter(name + ".weight", {features});
  Value bias = parameter(name + ".bias", {features});
  return LayerNormOp::create(builder, at(name), x.getType(),
                             /*statistics=*/Type(), x, weight, bias,
                             f64(epsilon))
      .getY();
}

Value ModelBuilder::activation(StringRef name, Activation function, Value x) {
  return ActivationOp::create(builder, at(name), x.getType(), function, x);
}

Value ModelBuilder::columns(StringRef name, Value x, int64_t from,
                            int64_t count) {
  return ColumnsOp::create(builder, at(name), rowsOf(count), x, i64(from));
}

Value ModelBuilder::rmsNorm(StringRef name, Value x, double epsilon,
                            int64_t heads, double offset) {
  Value weight = parameter(name + ".weight", {featuresOf(x) / heads});
  return RmsNormOp::create(builder, at(name), x.getType(), /*rstd=*/Type(), x,
                           weight, i64(heads), f64(offset), f64(epsilon))
      .getY();
}

Value ModelBuilder::add(StringRef name, Value a, Value b) {
  return AddOp::create(builder, at(name), a, b);
}

Value ModelBuilder::attention(StringRef name, const Attention &attention) {
  return AttentionOp::create(
             builder, at(name), attention.q.getType(), /*normalizer=*/Type(),
             attention.q, attention.k, attention.v, attention.starts,
             i64(attention.heads), i64(attention.keyValueHeads),
             attention.window ? i64(*attention.window) : IntegerAttr(),
             f64(attention.scale))
      .getY();
}

Value ModelBuilder::crossEntropy(StringRef name, Value x, StringRef weight,
                                 int64_t vocabulary) {
  Value targets = rowInput("targets");
  return LinearCrossEntropyOp::create(
             builder, at(name), scalarType(builder.getContext()),
             /*dx=*/Type(), x, parameter(weight, {vocabulary, featuresOf(x)}),
             targets, /*smoothing=*/FloatAttr(), /*streamed=*/UnitAttr())
      .getLoss();
}
