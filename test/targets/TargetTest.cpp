//===- TargetTest.cpp - The choice of a target and its features -----------===//

#include "targets/Target.h"

#include "passes/Passes.h"
#include "passes/kernels/TargetKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace hone;

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

TEST(Target, RefusesWhatNoneKnows) {
  for (const char *text : {"riscv64-linux-gnu", "nonsense"}) {
    auto target = createTarget(TargetRequest::parse(text));
    ASSERT_FALSE(bool(target));
    std::string message = llvm::toString(target.takeError());
    EXPECT_NE(message.find(text), std::string::npos);
    EXPECT_NE(message.find(
                  "there are: reference, nvptx64-nvidia-cuda, metal, native"),
              std::string::npos)
        << message;
  }
  auto target = createTarget(TargetRequest::parse("x86-64-v9"));
  ASSERT_FALSE(bool(target));
  EXPECT_NE(llvm::toString(target.takeError()).find("'x86-64-v9'"),
            std::string::npos);
}

TEST(Target, RefusesAColonThatNothingFollows) {
  TargetRequest onGpu = TargetRequest::parse("nvptx64-nvidia-cuda:sm_80");
  onGpu.host = "x86_64-linux-gnu:";
  for (const TargetRequest &request :
       {TargetRequest::parse("nvptx64-nvidia-cuda:"),
        TargetRequest::parse("aarch64-linux-gnu:"), onGpu}) {
    auto target = createTarget(request);
    ASSERT_FALSE(bool(target)) << request.triple;
    const std::string message = llvm::toString(target.takeError());
    EXPECT_NE(message.find(":' expects a CPU after ':'"), std::string::npos)
        << message;
  }
}

TEST(TargetRequest, ReadsLevelsAndTriples) {
  EXPECT_EQ(TargetRequest::parse("native").triple, "native");
  TargetRequest level = TargetRequest::parse("x86-64-v3");
  EXPECT_EQ(level.triple, "x86_64-unknown-linux-gnu");
  EXPECT_EQ(level.cpu, "x86-64-v3");
  TargetRequest phone = TargetRequest::parse("aarch64-linux-gnu:cortex-x2");
  EXPECT_EQ(phone.triple, "aarch64-linux-gnu");
  EXPECT_EQ(phone.cpu, "cortex-x2");
}

// On this machine they are added to its own.
TEST(Target, FeaturesAddAndRemove) {
  auto native = llvm::cantFail(createTarget(TargetRequest::parse("native")));
  std::vector<std::string> own = native->features();
  ASSERT_FALSE(own.empty());
  TargetRequest request = TargetRequest::parse("native");
  request.features = "+" + own.front();
  EXPECT_EQ(llvm::cantFail(createTarget(request))->features(), own);
  // Nothing else implies it.
  if (!llvm::is_contained(own, "gfni"))
    GTEST_SKIP() << "needs gfni";
  request.features = "-gfni";
  llvm::erase(own, "gfni");
  EXPECT_EQ(llvm::cantFail(createTarget(request))->features(), own);
}

// The spec's text for the same code.
TEST(Target, SaysHowToGetIt) {
  auto requestOf = [](const char *text) {
    return llvm::cantFail(createTarget(TargetRequest::parse(text)))->request();
  };
  EXPECT_EQ(requestOf("x86-64-v3").triple, "x86_64-unknown-linux-gnu");
  EXPECT_EQ(requestOf("x86-64-v3").cpu, "x86-64-v3");
  EXPECT_EQ(requestOf("reference").triple, "reference");
  EXPECT_NE(requestOf("native").triple, "native");
}

//===----------------------------------------------------------------------===//
// Kernels of its own
//===----------------------------------------------------------------------===//

namespace {
/// A product as exp(log(a) + log(b)), which no other kernel would.
class OwnProducts : public TargetKernels {
  bool emit(mlir::Operation *op, KernelBuilder &k) const override {
    auto gated = llvm::dyn_cast<GatedActivationOp>(op);
    if (!gated)
      return false;
    k.forEachElement(8, [&](mlir::Value row, mlir::Value column) {
      auto logAt = [&](mlir::Value matrix) -> mlir::Value {
        return mlir::math::LogOp::create(
            k, k.load(k.buffer(matrix), {row, column}));
      };
      mlir::Value sum =
          k.add(logAt(op->getOperand(0)), logAt(op->getOperand(1)));
      k.store(k.exp(sum), k.buffer(op->getResult(0)), {row, column});
    });
    return true;
  }
};
} // namespace

TEST(TargetKernels, TakeThePlaceOfTheOpsTheyKnow) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
module attributes {hone.max_rows = 16 : i64} {
  hone.block @both(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %0 = hone.gated_activation silu %x, %x : tensor<?x8xf32>
    %1 = hone.add %0, %x : tensor<?x8xf32>
    hone.return %1 : tensor<?x8xf32>
  }
})",
                                                        &context);
  ASSERT_TRUE(module);
  OwnProducts kernels;
  mlir::PassManager passes(&context);
  passes.addPass(createPlace());
  passes.addPass(createConvertToTiles(tile::Blocks(), &kernels));
  passes.addPass(createVerifyTiles());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  unsigned logs = 0, sums = 0, products = 0;
  module->walk([&](mlir::math::LogOp) { ++logs; });
  module->walk([&](mlir::arith::AddFOp) { ++sums; });
  module->walk([&](mlir::arith::MulFOp) { ++products; });
  EXPECT_EQ(logs, 2u);
  EXPECT_EQ(sums, 2u); // of logarithms, and hone.add
  EXPECT_EQ(products, 0u);
}

namespace {
/// Has code for a product and not for the op after it.
class Forgetful : public TargetKernels {
  bool emit(mlir::Operation *op, KernelBuilder &) const override {
    return llvm::isa<LinearOp>(op);
  }
};
} // namespace

TEST(TargetKernels, DoWhatFollowsTheOp) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
module attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>, %up: tensor<?x8xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %gate = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = hone.gated_activation silu %gate, %up : tensor<?x8xf32>
    hone.return
  }
})",
                                                        &context);
  ASSERT_TRUE(module);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    said = d.str();
    return mlir::success();
  });
  Forgetful kernels;
  mlir::PassManager passes(&context);
  passes.addPass(createPlace());
  passes.addPass(createConvertToTiles(tile::Blocks(), &kernels));
  EXPECT_TRUE(failed(passes.run(*module)));
  EXPECT_NE(said.find("expects its kernel to do its follower's work"),
            std::string::npos)
      << said;
}
