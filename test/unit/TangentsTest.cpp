//===- TangentsTest.cpp - Which ops the tangent of an op is made of -------===//
//
// The structure that buildTangent makes, and the values that it reads in place.
// That the values are right is tested by numerics/AdjointIdentityTest.
//
//===----------------------------------------------------------------------===//

#include "test/unit/ParsedModule.h"

#include "mlir/IR/Verifier.h"

using namespace hone;
using mlir::Operation;
using mlir::Value;

static constexpr llvm::StringLiteral source = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                    %bias: tensor<8xf32>, %a: tensor<2x4xf32>,
                    %b: tensor<8x2xf32>, %n: tensor<4xf32>,
                    %ids: tensor<?xi32>, %table: tensor<9x4xf32>,
                    %f: tensor<f64>) {
    %e = hone.embedding %ids, %table : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %0, %rstd = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf32>)
    %1 = hone.linear %x, %w bias %bias : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %2, %h = hone.lora_linear %x, %w, %a, %b bias %bias scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>)
    %3 = hone.rope %x, %ids heads 1 theta 1.0e4 inverse : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %4, %normalizer = hone.attention %1, %x, %x, %ids heads 2 kv_heads 1 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x4xf32>)
    %5 = hone.gated_activation silu %x, %x : tensor<?x4xf32>
    %6 = hone.add %x, %x : tensor<?x4xf32>
    %7 = hone.scale %x, %f : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    %loss, %dx = hone.linear_cross_entropy %x, %table, %ids : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> (tensor<f64>, tensor<?x4xf32>)
    hone.return
  })";

namespace {
class TangentsTest : public testing::Test {
protected:
  template <typename OpTy> OpTy op() {
    return ParsedModule::only<OpTy>(module.block("layer"));
  }

  /// The tangent of `op` along `operands`, or null if it has none. A tangent
  /// of an operand is an input of its type.
  Value tangent(Operation *op, llvm::ArrayRef<unsigned> operands) {
    mlir::OpBuilder builder(
        module.block("layer").getBody().front().getTerminator());
    directions.assign(op->getNumOperands(), Value());
    for (unsigned index : operands)
      directions[index] = InputOp::create(builder, op->getLoc(),
                                          op->getOperand(index).getType(), "t");
    auto built =
        llvm::cast<TangentOpInterface>(op).buildTangent(builder, directions);
    return succeeded(built) ? *built : Value();
  }

  ParsedModule module{source};
  llvm::SmallVector<Value> directions;
};
} // namespace

TEST_F(TangentsTest, EveryOpThatHasAnAdjointHasATangent) {
  unsigned count = 0;
  for (mlir::RegisteredOperationName name :
       module.get().getContext()->getRegisteredOperations()) {
    if (!name.hasInterface<AdjointOpInterface>())
      continue;
    ++count;
    EXPECT_TRUE(name.hasInterface<TangentOpInterface>())
        << name.getStringRef().str();
  }
  EXPECT_GE(count, 9u);
}

TEST_F(TangentsTest, LinearIsItselfWithoutTheBias) {
  auto built = tangent(op<LinearOp>(), 0).getDefiningOp<LinearOp>();
  ASSERT_TRUE(built);
  EXPECT_EQ(built.getX(), directions[0]);
  EXPECT_FALSE(built.getBias());
}

TEST_F(TangentsTest, RopeKeepsItsDirection) {
  auto built = tangent(op<RopeOp>(), 0).getDefiningOp<RopeOp>();
  ASSERT_TRUE(built);
  EXPECT_TRUE(built.getInverse());
}

TEST_F(TangentsTest, LoraLinearAlongItsInputIsItselfWithoutTheBias) {
  auto built = tangent(op<LoraLinearOp>(), 0).getDefiningOp<LoraLinearOp>();
  ASSERT_TRUE(built);
  EXPECT_FALSE(built.getBias());
  EXPECT_FALSE(built.getH());
}

TEST_F(TangentsTest, LoraLinearAlongItsParametersReadsH) {
  LoraLinearOp lora = op<LoraLinearOp>();
  auto built = tangent(lora, 3).getDefiningOp<LoraParameterTangentOp>();
  ASSERT_TRUE(built);
  EXPECT_FALSE(built.getTa());
  EXPECT_EQ(built.getTb(), directions[3]);
  EXPECT_EQ(built.getH(), lora.getH());
}

TEST_F(TangentsTest, LoraLinearAlongAllIsASum) {
  auto built = tangent(op<LoraLinearOp>(), {0, 2, 3}).getDefiningOp<AddOp>();
  ASSERT_TRUE(built);
  EXPECT_TRUE(built.getLhs().getDefiningOp<LoraLinearOp>());
  EXPECT_TRUE(built.getRhs().getDefiningOp<LoraParameterTangentOp>());
}

TEST_F(TangentsTest, ReadsAuxiliaryResultsInPlace) {
  RmsNormOp norm = op<RmsNormOp>();
  auto normTangent = tangent(norm, 0).getDefiningOp<RmsNormTangentOp>();
  ASSERT_TRUE(normTangent);
  EXPECT_EQ(normTangent.getRstd(), norm.getRstd());

  AttentionOp attention = op<AttentionOp>();
  auto attentionTangent =
      tangent(attention, {0, 2}).getDefiningOp<AttentionTangentOp>();
  ASSERT_TRUE(attentionTangent);
  EXPECT_EQ(attentionTangent.getNormalizer(), attention.getNormalizer());
  EXPECT_FALSE(attentionTangent.getTk());

  LinearCrossEntropyOp loss = op<LinearCrossEntropyOp>();
  auto lossTangent = tangent(loss, 0).getDefiningOp<DotOp>();
  ASSERT_TRUE(lossTangent);
  EXPECT_EQ(lossTangent.getA(), loss.getDx());
}

TEST_F(TangentsTest, ASumWithOneTangentPassesItOn) {
  Value built = tangent(op<AddOp>(), 1);
  EXPECT_EQ(built, directions[1]);
}

TEST_F(TangentsTest, ScaleIsLinearInEachOperand) {
  ScaleOp scale = op<ScaleOp>();
  auto built = tangent(scale, {0, 1}).getDefiningOp<AddOp>();
  ASSERT_TRUE(built);
  auto alongX = built.getLhs().getDefiningOp<ScaleOp>();
  auto alongFactor = built.getRhs().getDefiningOp<ScaleOp>();
  ASSERT_TRUE(alongX && alongFactor);
  EXPECT_EQ(alongX.getFactor(), scale.getFactor());
  EXPECT_EQ(alongFactor.getX(), scale.getX());
}

TEST_F(TangentsTest, ABuiltTangentVerifies) {
  // Collected first: a tangent is an op that may itself have one.
  llvm::SmallVector<Operation *> ops;
  for (Operation &op : module.block("layer").getBody().front())
    if (llvm::isa<TangentOpInterface>(op) && !llvm::isa<EmbeddingOp>(op))
      ops.push_back(&op);
  for (Operation *op : ops)
    EXPECT_TRUE(tangent(op, 0)) << op->getName().getStringRef().str();
  EXPECT_TRUE(succeeded(mlir::verify(module.get())));
}

TEST_F(TangentsTest, RefusesAFrozenOperand) {
  EXPECT_FALSE(tangent(op<LoraLinearOp>(), 1));
  EXPECT_EQ(module.messages,
            (std::vector<std::string>{
                "'hone.lora_linear' op has no tangent with respect to operand "
                "#1, but a trainable parameter reaches it"}));
}
