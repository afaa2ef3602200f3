//===- AdjointIdentityTest.cpp - <u, J v> = <J' u, v> for every op --------===//
//
// J v is the result of an op's tangent, J' u of its adjoint, both compiled, in
// double. Neither a reference nor a step size is involved, so the two must
// agree to rounding. The check is the one that `honec --self-check` runs on a
// user's model.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/OpChecks.h"
#include "test/numerics/HoneProgram.h"

#include "compiler/driver/Registration.h"
#include "dialects/Hone/HoneOps.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace hone;
using namespace hone::selfcheck;
using mlir::Operation;

namespace {
struct IdentityCase {
  const char *name;
  /// Ops of a block, in double; the last one is differentiated.
  const char *text;
  /// Operands of it that have derivatives.
  std::vector<unsigned> operands;
};

void PrintTo(const IdentityCase &test, std::ostream *stream) {
  *stream << test.name;
}

class AdjointIdentityTest : public testing::TestWithParam<IdentityCase> {};
} // namespace

static mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                               const IdentityCase &test) {
  std::string text =
      "hone.block @op() {\n" + std::string(test.text) + "\nhone.return\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    llvm::report_fatal_error("invalid IR");
  return module;
}

/// The last op before the return.
static Operation *differentiated(mlir::ModuleOp module) {
  BlockOp block = *module.getOps<BlockOp>().begin();
  return block.getBody().front().back().getPrevNode();
}

static llvm::BitVector bits(Operation *op, llvm::ArrayRef<unsigned> operands) {
  llvm::BitVector active(op->getNumOperands());
  for (unsigned index : operands)
    active.set(index);
  return active;
}

TEST_P(AdjointIdentityTest, HoldsAlongEveryOperand) {
  const IdentityCase &test = GetParam();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parse(context, test);
  Operation *op = differentiated(*module);
  std::vector<OpSubject> subjects = {{op, bits(op, test.operands), "all"}};
  if (test.operands.size() > 1)
    for (unsigned operand : test.operands)
      subjects.push_back(
          {op, bits(op, operand), "operand #" + std::to_string(operand)});

  auto target = cantFail(createTarget(TargetRequest::parse(targetUnderTest())));
  auto pool = rt::Pool::create(2);
  Report report;
  llvm::Error error =
      checkOps(*module, subjects, {5, 27, 100}, *target, *pool.value(), report);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  EXPECT_EQ(report.checks.size(), 2 * subjects.size());
  EXPECT_TRUE(report.holds()) << report.table();
}

static const IdentityCase cases[] = {
    {"rms_norm",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %w = hone.input "w" : tensor<75xf64>
        %y = hone.rms_norm %x, %w eps 1.0e-5
          : (tensor<?x75xf64>, tensor<75xf64>) -> tensor<?x75xf64>)",
     {0, 1}},
    {"rms_norm_heads",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %w = hone.input "w" : tensor<15xf64>
        %y = hone.rms_norm %x, %w heads 5 offset 1.0 eps 1.0e-5
          : (tensor<?x75xf64>, tensor<15xf64>) -> tensor<?x75xf64>)",
     {0, 1}},
    {"linear",
     R"(%x = hone.input "x" : tensor<?x48xf64>
        %w = hone.input "w" : tensor<72x48xf64>
        %b = hone.input "b" : tensor<72xf64>
        %y = hone.linear %x, %w bias %b
          : (tensor<?x48xf64>, tensor<72x48xf64>, tensor<72xf64>)
          -> tensor<?x72xf64>)",
     {0, 1, 2}},
    {"lora_linear",
     R"(%x = hone.input "x" : tensor<?x48xf64>
        %w = hone.input "w" : tensor<72x48xf64>
        %a = hone.input "a" : tensor<4x48xf64>
        %b = hone.input "b" : tensor<72x4xf64>
        %bias = hone.input "bias" : tensor<72xf64>
        %y = hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5
          : (tensor<?x48xf64>, tensor<72x48xf64>, tensor<4x48xf64>,
             tensor<72x4xf64>, tensor<72xf64>) -> tensor<?x72xf64>)",
     {0, 2, 3, 4}},
    {"rescale",
     R"(%x = hone.input "x" : tensor<?x72xf64>
        %m = hone.input "m" : tensor<72xf64>
        %n = hone.input "n" : tensor<72xf64>
        %b = hone.input "b" : tensor<72xf64>
        %y = hone.rescale %x, %m, %n bias %b
          : (tensor<?x72xf64>, tensor<72xf64>, tensor<72xf64>, tensor<72xf64>)
          -> tensor<?x72xf64>)",
     {0, 1, 3}},
    {"lora_linear_dropout",
     R"(%x = hone.input "x" : tensor<?x148xf64>
        %w = hone.input "w" : tensor<72x148xf64>
        %a = hone.input "a" : tensor<4x148xf64>
        %b = hone.input "b" : tensor<72x4xf64>
        %bias = hone.input "bias" : tensor<72xf64>
        %key = hone.input "random_key" : tensor<4xi32>
        %y = hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5
          dropout 0.25 of "q_proj" by %key
          : (tensor<?x148xf64>, tensor<72x148xf64>, tensor<4x148xf64>,
             tensor<72x4xf64>, tensor<72xf64>, tensor<4xi32>)
          -> tensor<?x72xf64>)",
     {0, 2, 3, 4}},
    {"rope",
     R"(%x = hone.input "x" : tensor<?x72xf64>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %y = hone.rope %x, %s heads 3 theta 1.0e4
          : (tensor<?x72xf64>, tensor<?xi32>) -> tensor<?x72xf64>)",
     {0}},
    {"rope_inverse",
     R"(%x = hone.input "x" : tensor<?x72xf64>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %y = hone.rope %x, %s heads 3 theta 1.0e4 inverse
          : (tensor<?x72xf64>, tensor<?xi32>) -> tensor<?x72xf64>)",
     {0}},
    {"attention",
     R"(%q = hone.input "q" : tensor<?x96xf64>
        %k = hone.input "k" : tensor<?x32xf64>
        %v = hone.input "v" : tensor<?x32xf64>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %y = hone.attention %q, %k, %v, %s heads 6 kv_heads 2 scale 0.3
          : (tensor<?x96xf64>, tensor<?x32xf64>, tensor<?x32xf64>,
             tensor<?xi32>) -> tensor<?x96xf64>)",
     {0, 1, 2}},
    {"attention_window",
     R"(%q = hone.input "q" : tensor<?x96xf64>
        %k = hone.input "k" : tensor<?x32xf64>
        %v = hone.input "v" : tensor<?x32xf64>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %y = hone.attention %q, %k, %v, %s heads 6 kv_heads 2 window 7 scale 0.3
          : (tensor<?x96xf64>, tensor<?x32xf64>, tensor<?x32xf64>,
             tensor<?xi32>) -> tensor<?x96xf64>)",
     {0, 1, 2}},
    // Not relu: across its kink no finite difference is a slope.
    {"gated_gelu",
     R"(%g = hone.input "gate" : tensor<?x75xf64>
        %u = hone.input "up" : tensor<?x75xf64>
        %y = hone.gated_activation gelu %g, %u : tensor<?x75xf64>)",
     {0, 1}},
    {"gated_gelu_tanh",
     R"(%g = hone.input "gate" : tensor<?x75xf64>
        %u = hone.input "up" : tensor<?x75xf64>
        %y = hone.gated_activation gelu_tanh %g, %u : tensor<?x75xf64>)",
     {0, 1}},
    {"gated_silu",
     R"(%g = hone.input "gate" : tensor<?x75xf64>
        %u = hone.input "up" : tensor<?x75xf64>
        %y = hone.gated_activation silu %g, %u : tensor<?x75xf64>)",
     {0, 1}},
    {"add",
     R"(%a = hone.input "a" : tensor<?x75xf64>
        %b = hone.input "b" : tensor<?x75xf64>
        %y = hone.add %a, %b : tensor<?x75xf64>)",
     {0, 1}},
    {"linear_cross_entropy",
     R"(%x = hone.input "x" : tensor<?x24xf64>
        %w = hone.input "w" : tensor<100x24xf64>
        %t = hone.input "targets" : tensor<?xi32>
        %loss = hone.linear_cross_entropy %x, %w, %t
          : (tensor<?x24xf64>, tensor<100x24xf64>, tensor<?xi32>)
          -> tensor<f64>)",
     {0, 1}},
    {"linear_cross_entropy_smoothed",
     R"(%x = hone.input "x" : tensor<?x24xf64>
        %w = hone.input "w" : tensor<100x24xf64>
        %t = hone.input "targets" : tensor<?xi32>
        %loss = hone.linear_cross_entropy %x, %w, %t smoothing 0.1
          : (tensor<?x24xf64>, tensor<100x24xf64>, tensor<?xi32>)
          -> tensor<f64>)",
     {0, 1}},
    {"relu",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %y = hone.activation relu %x : tensor<?x75xf64>)",
     {0}},
    {"gelu",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %y = hone.activation gelu %x : tensor<?x75xf64>)",
     {0}},
    {"gelu_tanh",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %y = hone.activation gelu_tanh %x : tensor<?x75xf64>)",
     {0}},
    {"silu",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %y = hone.activation silu %x : tensor<?x75xf64>)",
     {0}},
    {"layer_norm",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %w = hone.input "w" : tensor<75xf64>
        %b = hone.input "b" : tensor<75xf64>
        %y = hone.layer_norm %x, %w, %b eps 1.0e-5
          : (tensor<?x75xf64>, tensor<75xf64>, tensor<75xf64>)
          -> tensor<?x75xf64>)",
     {0, 1, 2}},
    {"position_embedding",
     R"(%s = hone.input "sequence_starts" : tensor<?xi32>
        %t = hone.input "table" : tensor<105x24xf64>
        %y = hone.position_embedding %s, %t offset 2
          : (tensor<?xi32>, tensor<105x24xf64>) -> tensor<?x24xf64>)",
     {1}},
    {"columns",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %y = hone.columns %x from 20 : tensor<?x75xf64> -> tensor<?x33xf64>)",
     {0}},
    {"embedding_noise",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %key = hone.input "random_key" : tensor<4xi32>
        %y = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key
          : tensor<?x75xf64>, tensor<?xi32>)",
     {0}},
    {"embedding",
     R"(%i = hone.input "input_ids" : tensor<?xi32>
        %t = hone.input "t" : tensor<50x75xf64>
        %y = hone.embedding %i, %t scale 3.0
          : (tensor<?xi32>, tensor<50x75xf64>) -> tensor<?x75xf64>)",
     {1}},
};

INSTANTIATE_TEST_SUITE_P(Ops, AdjointIdentityTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

TEST(AdjointIdentity, CoversEveryOpThatHasAnAdjoint) {
  mlir::MLIRContext context;
  context.loadDialect<HoneDialect>();
  llvm::StringSet<> covered;
  for (const IdentityCase &test : cases) {
    auto module = parse(context, test);
    covered.insert(differentiated(*module)->getName().getStringRef());
  }
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<AdjointOpInterface>())
      EXPECT_TRUE(covered.contains(name.getStringRef()))
          << name.getStringRef().str();
}
