//===- ModuleIdentityTest.cpp - The identity of a module ------------------===//

#include "compiler/emit/ModuleIdentity.h"
#include "dialects/Hone/Sizes.h"
#include "passes/module/Layers.h"
#include "test/unit/ParsedModule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace hone;

/// A model of at most `rows` rows, whose norm has `eps` and the weight `name`.
/// `step`: more calls.
static std::string model(int rows, const char *eps,
                         const char *name = "norm.weight",
                         const char *step = "") {
  return llvm::formatv(R"(module attributes {{hone.max_rows = {0} : i64} {{
  hone.block @embed() -> tensor<?x8xf32> {{
    %ids = hone.input "input_ids" : tensor<?xi32>
    %table = hone.parameter "table" : tensor<5x8xf32>
    %x = hone.embedding %ids, %table
      : (tensor<?xi32>, tensor<5x8xf32>) -> tensor<?x8xf32>
    hone.return %x : tensor<?x8xf32>
  }
  hone.block @norm(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {{
    %w = hone.parameter "{2}" : tensor<8xf32>
    %y = hone.rms_norm %x, %w eps {1}
      : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    hone.return %y : tensor<?x8xf32>
  }
  hone.block @round(%x: tensor<?x8xf32>) -> tensor<?x8xbf16> {{
    %y = hone.convert %x : tensor<?x8xf32> to tensor<?x8xbf16>
    hone.return %y : tensor<?x8xbf16>
  }
  hone.entry @loss() {{
    %x = hone.call @embed "" () : () -> tensor<?x8xf32>
    %y = hone.call @norm "layers.3." (%x)
      : (tensor<?x8xf32>) -> tensor<?x8xf32>
    {3}
  }
})",
                       rows, eps, name, step);
}

static IdentityFields fieldsOf(const std::string &text) {
  return describeModel(ParsedModule(text).get());
}

TEST(ModuleIdentity, NamesTheAttributesOfOps) {
  IdentityFields fields = fieldsOf(model(4, "1.0e-5"));
  EXPECT_EQ(fields["model.rms_norm.eps"], "1e-05");
  EXPECT_EQ(fields["model.parameter.shape"], "5x8,8");
  EXPECT_EQ(fields["model.calls"], "2");
  IdentityFields other = fieldsOf(model(4, "1.1e-5"));
  EXPECT_EQ(other["model.rms_norm.eps"], "1.1e-05");
  EXPECT_NE(other["model"], fields["model"]);
}

TEST(ModuleIdentity, HasADigestOfWhatHasNoName) {
  IdentityFields fields = fieldsOf(model(4, "1.0e-5"));
  IdentityFields other = fieldsOf(model(4, "1.0e-5", "norm.scale"));
  EXPECT_NE(other["model"], fields["model"]);
  other["model"] = fields["model"];
  EXPECT_EQ(other, fields);
}

TEST(ModuleIdentity, IsOfAnyBatch) {
  EXPECT_EQ(fieldsOf(model(4, "1.0e-5")), fieldsOf(model(64, "1.0e-5")));
}

TEST(ModuleIdentity, IsTheSameWhereLayersHaveNumbers) {
  ParsedModule module(model(4, "1.0e-5"));
  IdentityFields fields = describeModel(module.get());
  Layers({"layers.3."}).writeTo(module.get());
  EXPECT_EQ(describeModel(module.get()), fields);
}

/// Checkpoints cross to another target, which is told by name.
TEST(ModuleIdentity, IsOfAnyTarget) {
  ParsedModule module(model(4, "1.0e-5"));
  IdentityFields fields = describeModel(module.get());
  setLossColumns(module.get(), 4096);
  setAttentionIterations(module.get(), 8);
  setProductTiles(module.get(), 132);
  EXPECT_EQ(describeModel(module.get()), fields);
}

TEST(ModuleIdentity, SaysWhatIsKeptRounded) {
  auto rounding = [](const char *step) {
    ParsedModule module(model(4, "1.0e-5", "norm.weight", step));
    return describeRounding(module.get());
  };
  EXPECT_EQ(rounding(""), "float32");
  EXPECT_EQ(rounding("%z = hone.call @round \"layers.3.\" (%y) "
                     ": (tensor<?x8xf32>) -> tensor<?x8xbf16>"),
            "bfloat16 in 8 columns of layers.3.");
}
