//===- HoneCostsTest.cpp - Operations and bytes of each op ----------------===//
//
// Counts by hand for small shapes: a multiply-add is two operations.
//
//===----------------------------------------------------------------------===//

#include "test/unit/ParsedModule.h"

using namespace hone;

static constexpr llvm::StringLiteral source = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                    %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                    %dy: tensor<?x8xf32>, %ids: tensor<?xi32>,
                    %table: tensor<9x4xf32>, %n: tensor<4xf32>) {
    %e = hone.embedding %ids, %table : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %0 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %1 = hone.lora_linear %x, %w, %a, %b scale 1.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
    %2 = hone.linear_adjoint %dy, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    %3 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 1.0 : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x4xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
    %o = hone.attention %dy, %x, %x, %ids heads 2 kv_heads 1 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %do:3 = hone.attention_adjoint %dy, %dy, %x, %x, %o, %x, %ids heads 2 kv_heads 1 scale 1.0 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
    %r = hone.rope %dy, %ids heads 2 theta 1.0e4 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %g = hone.swiglu %dy, %dy : tensor<?x8xf32>
    %dg, %du = hone.swiglu_adjoint %dy, %dy, %dy : tensor<?x8xf32>
    %m = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %dm = hone.rms_norm_adjoint %x, %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %l = hone.linear_cross_entropy %x, %table, %ids : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return
  })";

/// The tangents of the same layer.
static constexpr llvm::StringLiteral tangents = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                    %b: tensor<8x2xf32>, %h: tensor<?x2xf32>,
                    %y: tensor<?x8xf32>, %ids: tensor<?xi32>,
                    %table: tensor<9x4xf32>, %n: tensor<4xf32>) {
    %0 = hone.lora_parameter_tangent %x, %a, %b ta %a tb %b h %h scale 1.0 : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
    %1 = hone.attention_tangent %y, %x, %x, %ids tq %y tv %x heads 2 kv_heads 1 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    %2 = hone.swiglu_tangent %y, %y tup %y : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = hone.rms_norm_tangent %x, %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %4 = hone.linear_cross_entropy_tangent %x, %table, %ids tx %x : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<f64>
    %5 = hone.dot %x, %x : tensor<?x4xf32>
    hone.return
  })";

/// Gradients of the model's own parameters.
static constexpr llvm::StringLiteral parameters = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %dy: tensor<?x8xf32>,
                    %ids: tensor<?xi32>, %table: tensor<9x4xf32>,
                    %r: tensor<?xf32>, %d: tensor<f64>) {
    %0 = hone.linear_parameter_adjoint %dy, %x : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
    %1 = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf32>
    %2 = hone.bias_tangent %1 : (tensor<8xf32>) -> tensor<?x8xf32>
    %3 = hone.rms_norm_parameter_adjoint %x, %x rstd %r eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>) -> tensor<4xf32>
    %4 = hone.embedding_parameter_adjoint %x, %ids : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    %5 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %table, %ids : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    hone.return
  })";

template <typename OpTy>
static int64_t flops(int64_t rows, llvm::StringRef text = source) {
  ParsedModule module(text);
  return module.only<OpTy>(module.block("layer")).getFlops(rows);
}

TEST(HoneCosts, AProductIsTwoOperationsAWeight) {
  EXPECT_EQ(flops<LinearOp>(10), 2 * 10 * 8 * 4);
  EXPECT_EQ(flops<LinearAdjointOp>(10), 2 * 10 * 8 * 4);
}

TEST(HoneCosts, AnAdapterAddsItsTwoThinProducts) {
  int64_t thin = 2 * 10 * (2 * 4 + 8 * 2);
  EXPECT_EQ(flops<LoraLinearOp>(10), 2 * 10 * 8 * 4 + thin);
  EXPECT_EQ(flops<LoraLinearAdjointOp>(10), 2 * 10 * 8 * 4 + thin);
}

TEST(HoneCosts, TheParameterAdjointIsFourThinProducts) {
  // dy B, (dy B)^T x, x A^T and dy^T h.
  EXPECT_EQ(flops<LoraParameterAdjointOp>(10),
            2 * 10 * (2 * (8 * 2) + 2 * (2 * 4)));
}

TEST(HoneCosts, CausalAttentionSeesHalfOfTheSquare) {
  // Two products of 2 * rows^2 / 2 * heads * d.
  EXPECT_EQ(flops<AttentionOp>(10), 2 * 10 * 10 * 8);
}

TEST(HoneCosts, TheAttentionAdjointIsFiveProducts) {
  // Scores again, dy v^T, dq, dk and dv.
  EXPECT_EQ(flops<AttentionAdjointOp>(10), 5 * 10 * 10 * 8);
}

TEST(HoneCosts, RowOpsCostAFewOperationsAnElement) {
  // x^2, its sum, times 1/rms, times the weight.
  EXPECT_EQ(flops<RmsNormOp>(10), 4 * 10 * 4);
  EXPECT_EQ(flops<RmsNormAdjointOp>(10), 8 * 10 * 4);
  // Two products and a sum.
  EXPECT_EQ(flops<RopeOp>(10), 3 * 10 * 8);
  // Negation, exponential, sum, quotient, product.
  EXPECT_EQ(flops<SwigluOp>(10), 5 * 10 * 8);
  EXPECT_EQ(flops<SwigluAdjointOp>(10), 10 * 10 * 8);
}

TEST(HoneCosts, ATangentCostsWhatItsDirectionsNeed) {
  // x ta^T, that times B^T, and the kept h times tb^T.
  EXPECT_EQ(flops<LoraParameterTangentOp>(10, tangents),
            2 * 10 * (2 * 4 + 2 * (8 * 2)));
  // Scores, those of tq, and the sums of v and tv.
  EXPECT_EQ(flops<AttentionTangentOp>(10, tangents), 4 * 10 * 10 * 8);
  EXPECT_EQ(flops<SwigluTangentOp>(10, tangents), 11 * 10 * 8);
  EXPECT_EQ(flops<RmsNormTangentOp>(10, tangents), 8 * 10 * 4);
  // Logits and their tangents.
  EXPECT_EQ(flops<LinearCrossEntropyTangentOp>(10, tangents),
            2 * (2 * 10 * 9 * 4));
  EXPECT_EQ(flops<DotOp>(10, tangents), 2 * 10 * 4);
}

TEST(HoneCosts, AWeightsGradientIsOneProduct) {
  EXPECT_EQ(flops<LinearParameterAdjointOp>(10, parameters), 2 * 10 * 8 * 4);
  // The logits twice.
  EXPECT_EQ(flops<LinearCrossEntropyParameterAdjointOp>(10, parameters),
            3 * (2 * 10 * 9 * 4));
}

TEST(HoneCosts, AVectorsGradientIsSomeSums) {
  EXPECT_EQ(flops<BiasAdjointOp>(10, parameters), 10 * 8);
  EXPECT_EQ(flops<BiasTangentOp>(10, parameters), 0);
  // x r dy and its sum.
  EXPECT_EQ(flops<RmsNormParameterAdjointOp>(10, parameters), 3 * 10 * 4);
  EXPECT_EQ(flops<EmbeddingParameterAdjointOp>(10, parameters), 10 * 4);
}

TEST(HoneCosts, ALookUpComputesNothing) {
  EXPECT_EQ(flops<EmbeddingOp>(10), 0);
}

TEST(HoneCosts, TheHeadIsOneProductWithoutItsGradient) {
  EXPECT_EQ(flops<LinearCrossEntropyOp>(10), 2 * 10 * 9 * 4);
}

TEST(HoneCosts, BytesAreOperandsAndResultsOnce) {
  ParsedModule module(source);
  auto op = module.only<LinearOp>(module.block("layer"));
  EXPECT_EQ(op.getBytes(10), 4 * (10 * 4 + 8 * 4 + 10 * 8));
}

TEST(HoneCosts, RowsReplaceTheDynamicDimension) {
  ParsedModule module("");
  mlir::Builder builder(module.get());
  auto type = mlir::RankedTensorType::get({mlir::ShapedType::kDynamic, 3},
                                          builder.getF64Type());
  EXPECT_EQ(elementsAtRows(type, 5), 15);
  EXPECT_EQ(bytesAtRows(type, 5), 120);
}
