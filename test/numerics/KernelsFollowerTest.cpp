//===- KernelsFollowerTest.cpp - Element-wise ops in products -------------===//
//
// Whether an element-wise op runs after a product or in a loop of its own is
// decided by where values are in memory, which plans differ in. So both must
// give the same bits. A product that the block returns too is stored, so that
// the op after it has a loop. A GPU takes the longest product in parts.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/HoneProgram.h"
#include "test/numerics/KernelCase.h"

#include "targets/Target.h"

#include <regex>

using namespace hone;

namespace {
struct Operand {
  const char *name, *type;
  int64_t elements; ///< of one row, or all
  bool hasRows = false;
};
constexpr int64_t kRows = 37, kIn = 4136, kOut = 200;
constexpr Operand kOperands[] = {
    {"x", "?x4136xf32", kIn, true},    {"z", "?x200xf32", kOut, true},
    {"dy", "?x200xf32", kOut, true},   {"w", "200x4136xf32", kOut * kIn},
    {"v", "200x200xf32", kOut * kOut}, {"a", "8x4136xf32", 8 * kIn},
    {"b", "200x8xf32", kOut * 8},      {"bias", "200xf32", kOut},
    {"a2", "8x200xf32", 8 * kOut},
};
constexpr const char *kLinear =
    "%p = hone.linear %x, %w bias %bias : (tensor<?x4136xf32>, "
    "tensor<200x4136xf32>, tensor<200xf32>) -> tensor<?x200xf32>";
constexpr const char *kLinearAdjoint =
    "%p = hone.linear_adjoint %dy, %v : (tensor<?x200xf32>, "
    "tensor<200x200xf32>) -> tensor<?x200xf32>";
constexpr const char *kLoraLinear =
    "%p = hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5 : "
    "(tensor<?x4136xf32>, tensor<200x4136xf32>, tensor<8x4136xf32>, "
    "tensor<200x8xf32>, tensor<200xf32>) -> tensor<?x200xf32>";
constexpr const char *kLoraLinearAdjoint =
    "%p = hone.lora_linear_adjoint %dy, %v, %a2, %b scale 1.5 : "
    "(tensor<?x200xf32>, tensor<200x200xf32>, tensor<8x200xf32>, "
    "tensor<200x8xf32>) -> tensor<?x200xf32>";
constexpr const char *kLast =
    "%y = hone.gated_activation silu %p, %q : tensor<?x200xf32>";
} // namespace

/// `product` makes %p and `follower` %y from %p and %q, a copy of z.
static std::string moduleText(llvm::StringRef product, llvm::StringRef follower,
                              bool storesProduct) {
  std::string inputs;
  for (const Operand &operand : kOperands)
    inputs += std::string("%") + operand.name + " = hone.input \"" +
              operand.name + "\" : tensor<" + operand.type + ">\n";
  std::string type = "tensor<?x200xf32>";
  std::string values = storesProduct ? "%y, %p" : "%y";
  std::string types = storesProduct ? type + ", " + type : type;
  return "module attributes {hone.max_rows = 64 : i64} {\nhone.block @op() -> "
         "(" +
         types + ") {\n" + inputs +
         "%q = hone.linear %z, %v : (tensor<?x200xf32>, tensor<200x200xf32>) "
         "-> " +
         type + "\n" + product.str() + "\n" + follower.str() +
         "\nhone.return " + values + " : " + types +
         "\n}\nhone.entry @test() -> " + type + " {\n" + values +
         " = hone.call @op \"\" () : () -> (" + types +
         ")\nhone.return %y : " + type + "\n}\n}\n";
}

/// With activations of bf16: values with rows.
static std::string inBFloat16(const std::string &ir) {
  static const std::regex rows("(\\?x[0-9]+x)f32");
  return std::regex_replace(ir, rows, "$1bf16");
}

static std::vector<double> run(const std::string &ir, bool bfloat16Products) {
  HoneProgram program(ir, bfloat16Products);
  program.reset();
  unsigned seed = 0;
  for (const Operand &operand : kOperands) {
    int64_t rows = operand.hasRows ? kRows : 1;
    program.write(std::string("input.") + operand.name,
                  randomMatrix(rows, operand.elements, ++seed, "f32").values);
  }
  program.run(kRows, 2);
  return program.read("result.0", kRows * kOut);
}

static void checkFollower(const char *product, const char *follower,
                          bool isBFloat16, bool rounds) {
  SCOPED_TRACE(follower);
  std::string together = moduleText(product, follower, false);
  std::string apart = moduleText(product, follower, true);
  if (isBFloat16) {
    together = inBFloat16(together);
    apart = inBFloat16(apart);
  }
  ASSERT_EQ(run(together, rounds), run(apart, rounds));
}

static bool hasBFloat16Products() {
  llvm::ExitOnError check("error: ");
  return check(createTarget(TargetRequest::parse(targetUnderTest())))
      ->hasBFloat16Products();
}

static void checkFollowers(const char *product) {
  for (const char *follower :
       {"%y = hone.add %q, %p : tensor<?x200xf32>",
        "%y = hone.gated_activation gelu %q, %p : tensor<?x200xf32>",
        "%y = hone.gated_activation gelu_tanh %p, %q : tensor<?x200xf32>",
        "%y = hone.gated_activation silu %q, %p : tensor<?x200xf32>", kLast})
    checkFollower(product, follower, /*isBFloat16=*/false, /*rounds=*/false);
  checkFollower(product, kLast, /*isBFloat16=*/true, /*rounds=*/false);
}

/// A product that rounds does so before the same followers.
static void checkRoundedFollowers(const char *product) {
  if (!hasBFloat16Products())
    GTEST_SKIP() << "the target has no products of bfloat16";
  for (bool isBFloat16 : {false, true})
    checkFollower(product, kLast, isBFloat16, /*rounds=*/true);
}

TEST(KernelsFollower, Linear) { checkFollowers(kLinear); }
TEST(KernelsFollower, LinearAdjoint) { checkFollowers(kLinearAdjoint); }
TEST(KernelsFollower, LoraLinear) { checkFollowers(kLoraLinear); }
TEST(KernelsFollower, LoraLinearAdjoint) { checkFollowers(kLoraLinearAdjoint); }

TEST(KernelsFollower, RoundedLinear) { checkRoundedFollowers(kLinear); }
TEST(KernelsFollower, RoundedLinearAdjoint) {
  checkRoundedFollowers(kLinearAdjoint);
}
TEST(KernelsFollower, RoundedLoraLinear) { checkRoundedFollowers(kLoraLinear); }
TEST(KernelsFollower, RoundedLoraLinearAdjoint) {
  checkRoundedFollowers(kLoraLinearAdjoint);
}
