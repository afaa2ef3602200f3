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
    %g = hone.gated_activation silu %dy, %dy : tensor<?x8xf32>
    %dg, %du = hone.gated_activation_adjoint silu %dy, %dy, %dy : tensor<?x8xf32>
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
    %2 = hone.gated_activation_tangent silu %y, %y tup %y : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = hone.rms_norm_tangent %x, %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %4 = hone.linear_cross_entropy_tangent %x, %table, %ids tx %x : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<f64>
    %5 = hone.dot %x, %x : tensor<?x4xf32>
    hone.return
  })";

/// Gradients of the model's own parameters.
static constexpr llvm::StringLiteral parameters = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %dy: tensor<?x8xf32>,
                    %ids: tensor<?xi32>, %table: tensor<9x4xf32>,
                    %r: tensor<?x1xf32>, %d: tensor<f64>) {
    %0 = hone.linear_parameter_adjoint %dy, %x : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
    %1 = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf32>
    %2 = hone.bias_tangent %1 : (tensor<8xf32>) -> tensor<?x8xf32>
    %3 = hone.rms_norm_parameter_adjoint %x, %x rstd %r eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<4xf32>
    %4 = hone.embedding_parameter_adjoint %x, %ids : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    %5 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %table, %ids : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    hone.return
  })";

/// Attention in a window of three keys.
static constexpr llvm::StringLiteral windows = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %y: tensor<?x8xf32>,
                    %ids: tensor<?xi32>) {
    %o = hone.attention %y, %x, %x, %ids heads 2 kv_heads 1 window 3 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %do:3 = hone.attention_adjoint %y, %y, %x, %x, %o, %x, %ids heads 2 kv_heads 1 window 3 scale 1.0 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
    %t = hone.attention_tangent %y, %x, %x, %ids tv %x heads 2 kv_heads 1 window 3 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x8xf32>
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

TEST(HoneCosts, SmoothedLabelsAddUpTheHeadForTheirAdjoint) {
  auto costOf = [](const std::string &results, const std::string &types) {
    return flops<LinearCrossEntropyOp>(10, R"(
      hone.block @layer(%x: tensor<?x4xf32>, %ids: tensor<?xi32>,
                        %table: tensor<9x4xf32>) {
        )" + results + R"( = hone.linear_cross_entropy %x, %table, %ids
            smoothing 0.1 : (tensor<?x4xf32>, tensor<9x4xf32>,
            tensor<?xi32>) -> )" + types +
                                               R"(
        hone.return
      })");
  };
  EXPECT_EQ(costOf("%l", "tensor<f64>"), 2 * 10 * 9 * 4);
  EXPECT_EQ(costOf("%l, %dx", "(tensor<f64>, tensor<?x4xf32>)"),
            2 * (2 * 10 + 1) * 9 * 4);
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

TEST(HoneCosts, AdjointsThatShareTheInsideOfAnAdapterMakeItOnce) {
  constexpr llvm::StringLiteral shared = R"(
    hone.block @layer(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                      %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                      %dy: tensor<?x8xf32>) {
      %u = hone.lora_inner_adjoint %dy, %b scale 1.0 : (tensor<?x8xf32>, tensor<8x2xf32>) -> tensor<?x2xf32>
      %dx = hone.lora_linear_adjoint %dy, %w, %a, %b u %u scale 1.0 : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
      %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b u %u scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<?x2xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
      hone.return
    })";
  const int64_t inner = 2 * 10 * (8 * 2);
  EXPECT_EQ(flops<LoraInnerAdjointOp>(10, shared), inner);
  EXPECT_EQ(flops<LoraLinearAdjointOp>(10, shared),
            flops<LoraLinearAdjointOp>(10) - inner);
  EXPECT_EQ(flops<LoraParameterAdjointOp>(10, shared),
            flops<LoraParameterAdjointOp>(10) - inner);
}

TEST(HoneCosts, CausalAttentionSeesHalfOfTheSquare) {
  // Two products of 2 * rows^2 / 2 * heads * d.
  EXPECT_EQ(flops<AttentionOp>(10), 2 * 10 * 10 * 8);
}

TEST(HoneCosts, AWindowCostsWhatItReads) {
  // Rows 0, 1, 2, ... of 10 see 1, 2, 3, 3, ... keys; as above, the diagonal
  // counts half.
  EXPECT_EQ(flops<AttentionOp>(10, windows), 2 * (3 * (20 - 3)) * 8);
  EXPECT_EQ(flops<AttentionAdjointOp>(10, windows), 5 * (3 * (20 - 3)) * 8);
  EXPECT_EQ(flops<AttentionTangentOp>(10, windows), 2 * (3 * (20 - 3)) * 8);
  // Longer than the batch, it bounds nothing.
  EXPECT_EQ(flops<AttentionOp>(2, windows), flops<AttentionOp>(2));
}

/// `text` in a module whose sequences have at most four rows.
static std::string inShortSequences(llvm::StringRef text) {
  return "module attributes {hone.max_positions = 4 : i64} {" + text.str() +
         "}";
}

TEST(HoneCosts, NoRowSeesAnotherSequence) {
  // Ten rows are sequences of 4, 4, and 2 rows: squares of 16, 16, and 4.
  const std::string source4 = inShortSequences(source);
  EXPECT_EQ(flops<AttentionOp>(10, source4), 2 * (16 + 16 + 4) * 8);
  EXPECT_EQ(flops<AttentionAdjointOp>(10, source4), 5 * (16 + 16 + 4) * 8);
  EXPECT_EQ(flops<AttentionOp>(4, source4), flops<AttentionOp>(4));
  EXPECT_EQ(flops<AttentionOp>(3, source4), flops<AttentionOp>(3));
  // With a window of three keys: rows 0, 1, 2, 3 see 1, 2, 3, 3.
  const std::string windows4 = inShortSequences(windows);
  EXPECT_EQ(flops<AttentionOp>(10, windows4), 2 * (15 + 15 + 4) * 8);
  EXPECT_EQ(flops<AttentionTangentOp>(10, windows4), 2 * (15 + 15 + 4) * 8);
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
  EXPECT_EQ(flops<GatedActivationOp>(10), 5 * 10 * 8);
  EXPECT_EQ(flops<GatedActivationAdjointOp>(10), 10 * 10 * 8);
}

TEST(HoneCosts, ATangentCostsWhatItsDirectionsNeed) {
  // x ta^T, that times B^T, and the kept h times tb^T.
  EXPECT_EQ(flops<LoraParameterTangentOp>(10, tangents),
            2 * 10 * (2 * 4 + 2 * (8 * 2)));
  // Scores, those of tq, and the sums of v and tv.
  EXPECT_EQ(flops<AttentionTangentOp>(10, tangents), 4 * 10 * 10 * 8);
  EXPECT_EQ(flops<GatedActivationTangentOp>(10, tangents), 11 * 10 * 8);
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

/// Ops of decoders before Llama.
static constexpr llvm::StringLiteral gpt = R"(
  hone.block @layer(%x: tensor<?x8xf32>, %w: tensor<8xf32>, %s: tensor<?xi32>,
                    %table: tensor<9x8xf32>) {
    %0 = hone.activation gelu %x : tensor<?x8xf32>
    %1 = hone.activation_adjoint gelu_tanh %x, %x : tensor<?x8xf32>
    %2 = hone.layer_norm %x, %w, %w eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %3 = hone.layer_norm_adjoint %x, %x, %w eps 1.0e-5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %4:2 = hone.layer_norm_parameter_adjoint %x, %x eps 1.0e-5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %5 = hone.layer_norm_tangent %x, %w tx %x tb %w eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %6 = hone.position_embedding %s, %table offset 0 : (tensor<?xi32>, tensor<9x8xf32>) -> tensor<?x8xf32>
    %7 = hone.position_embedding_parameter_adjoint %x, %s offset 0 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<9x8xf32>
    %8 = hone.columns %x from 4 : tensor<?x8xf32> -> tensor<?x4xf32>
    %9 = hone.columns_adjoint %8 from 4 : tensor<?x4xf32> -> tensor<?x8xf32>
    hone.return
  })";

TEST(HoneCosts, OpsOfDecodersBeforeLlamaCostAFewOperationsAnElement) {
  // Quotient, erf, sum, product, half.
  EXPECT_EQ(flops<ActivationOp>(10, gpt), 5 * 10 * 8);
  EXPECT_EQ(flops<ActivationAdjointOp>(10, gpt), (16 + 1) * 10 * 8);
  // Two sums, difference, its square, and the four of the result.
  EXPECT_EQ(flops<LayerNormOp>(10, gpt), 8 * 10 * 8);
  EXPECT_EQ(flops<LayerNormAdjointOp>(10, gpt), 10 * 10 * 8);
  EXPECT_EQ(flops<LayerNormParameterAdjointOp>(10, gpt), 5 * 10 * 8);
  EXPECT_EQ(flops<LayerNormTangentOp>(10, gpt), 11 * 10 * 8);
  EXPECT_EQ(flops<PositionEmbeddingOp>(10, gpt), 0);
  EXPECT_EQ(flops<PositionEmbeddingParameterAdjointOp>(10, gpt), 10 * 8);
  EXPECT_EQ(flops<ColumnsOp>(10, gpt), 0);
  EXPECT_EQ(flops<ColumnsAdjointOp>(10, gpt), 0);
}

/// Element-wise ops, DoRA, noise and the ops of text generation.
static constexpr llvm::StringLiteral others = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %y: tensor<?x8xf32>,
                    %w: tensor<8x4xf32>, %a: tensor<2x4xf32>,
                    %b: tensor<8x2xf32>, %n: tensor<8xf32>, %f: tensor<f64>,
                    %s: tensor<?xi32>, %key: tensor<4xi32>) {
    %0 = hone.add %x, %x : tensor<?x4xf32>
    %1 = hone.scale %x, %f : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    %2 = hone.convert %x : tensor<?x4xf32> to tensor<?x4xbf16>
    %3 = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<8xf32>
    %4 = hone.rescale %y, %n, %n bias %n : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %5 = hone.rescale_parameter_adjoint %y, %y, %n : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %6 = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key : tensor<?x4xf32>, tensor<?xi32>
    %keys = hone.cache "keys" : tensor<32x4xf32>
    %values = hone.cache "values" : tensor<32x4xf32>
    %7 = hone.cached_attention %y, %x, %x, %s, %keys, %values heads 2 kv_heads 1 scale 1.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<?x8xf32>
    %8 = hone.logits %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<8xf32>
    hone.return
  })";

TEST(HoneCosts, ElementWiseOpsCostAnOperationAnElement) {
  EXPECT_EQ(flops<AddOp>(10, others), 10 * 4);
  EXPECT_EQ(flops<ScaleOp>(10, others), 10 * 4);
  EXPECT_EQ(flops<ConvertOp>(10, others), 10 * 4);
}

TEST(HoneCosts, DoraAddsWhatItsLengthsTake) {
  // B A, its sum with the weight, squares and their sum, for any number of
  // rows.
  EXPECT_EQ(flops<RowLengthsOp>(10, others), (2 * 2 + 3) * 8 * 4);
  EXPECT_EQ(flops<RowLengthsOp>(1, others), (2 * 2 + 3) * 8 * 4);
  // Factor and bias; product, quotient, sum.
  EXPECT_EQ(flops<RescaleOp>(10, others), 2 * 10 * 8);
  EXPECT_EQ(flops<RescaleParameterAdjointOp>(10, others), 3 * 10 * 8);
}

TEST(HoneCosts, NoiseCostsARandomWordAnElement) {
  // Twenty products, each with four other operations, make four words.
  EXPECT_EQ(flops<EmbeddingNoiseOp>(10, others), 25 * 10 * 4);
}

TEST(HoneCosts, GenerationReadsAFullCacheAndOneRowOfTheHead) {
  // Scores and sums.
  EXPECT_EQ(flops<CachedAttentionOp>(10, others), 2 * (2 * 10 * 32 * 8));
  EXPECT_EQ(flops<LogitsOp>(10, others), 2 * 8 * 4);
}

TEST(HoneCosts, ALookUpComputesItsScaleAlone) {
  EXPECT_EQ(flops<EmbeddingOp>(10), 0);
  EXPECT_EQ(flops<EmbeddingOp>(10, R"(
    hone.block @layer(%i: tensor<?xi32>, %t: tensor<9x4xf32>) {
      %e = hone.embedding %i, %t scale 2.0 : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
      hone.return
    })"),
            10 * 4);
}

TEST(HoneCosts, ActivationsCostTheirFormulas) {
  auto costs = [](const char *kind) {
    std::string text = R"(
      hone.block @layer(%x: tensor<?x4xf32>) {
        %y = hone.gated_activation KIND %x, %x : tensor<?x4xf32>
        %g, %u = hone.gated_activation_adjoint KIND %x, %x, %x : tensor<?x4xf32>
        hone.return
      })";
    for (size_t at; (at = text.find("KIND")) != std::string::npos;)
      text.replace(at, 4, kind);
    return std::pair(flops<GatedActivationOp>(10, text) / 40,
                     flops<GatedActivationAdjointOp>(10, text) / 40);
  };
  EXPECT_EQ(costs("relu"), std::pair(2l, 5l));
  EXPECT_EQ(costs("gelu"), std::pair(6l, 14l));
  EXPECT_EQ(costs("gelu_tanh"), std::pair(9l, 19l));
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
