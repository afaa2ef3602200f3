//===- HoneProgram.cpp - Compile hone IR and run it in this process -------===//
//
// See HoneProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/HoneProgram.h"

#include "dialects/Hone/HoneOps.h"
#include "targets/Target.h"
#include "test/device/GuardedDevice.h"
#include "test/numerics/BuildProgram.h"
#include "test/numerics/KernelCase.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

using namespace hone;

std::string hone::targetUnderTest() {
  const char *given = std::getenv("HONE_TARGET");
  return given ? given : "native";
}

bool hone::addsOnMatrixUnits(const std::string &element) {
  if (element != kMedium && element != kPairs)
    return false;
  llvm::ExitOnError check("error: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));
  return !target->hasHostKernels() && target->hasBFloat16Products();
}

EntryProgram hone::buildProgram(llvm::StringRef ir, const Target &target,
                                bool bfloat16Products) {
  llvm::ExitOnError check("cannot build the program under test: ");
  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  if (!module)
    check(llvm::createStringError("invalid IR:\n" + ir));
  if (bfloat16Products)
    (*module)->setAttr(HoneDialect::getRoundedProductsAttrName(),
                       mlir::UnitAttr::get(&context));
  auto built = EntryProgram::build(*module, target);
  if (!built)
    check(llvm::joinErrors(built.takeError(),
                           llvm::createStringError("of the IR:\n" + ir)));
  return std::move(*built);
}

/// Whether the running test is of kernels with the same bits everywhere:
/// products, element-wise kernels, and those without sums. Other sums have an
/// order of their own on a device, and their results have other bits; so has
/// float64 where exp or log is part of it. An adapter's gradients are sums on
/// matrix units where activations are bfloat16, for ranks with code for them.
static bool promisesBits() {
  const testing::TestInfo *test =
      testing::UnitTest::GetInstance()->current_test_info();
  const llvm::StringRef suite = test->test_suite_name(), name = test->name();
  if (const char *given = test->value_param()) {
    std::string element = llvm::StringRef(given).trim('"').str();
    bool isProduct = name.starts_with("LoraParameterAdjoint")
                         ? element == kPairs && !name.contains("OfRanks")
                         : !name.starts_with("LoraParameter") &&
                               (suite.ends_with("KernelsMatmulTest") ||
                                name.starts_with("LoraLinear") ||
                                name.starts_with("TilesOfRows"));
    if (isProduct && addsOnMatrixUnits(element))
      return false;
  }
  constexpr llvm::StringLiteral suites[] = {
      "KernelsMatmulTest",   "KernelsDropoutTest", "PerturbedTest",
      "DirectionsTest",      "KernelsUpdateTest",  "KernelsRoundedUpdateTest",
      "KernelsOptimizerTest"};
  constexpr llvm::StringLiteral names[] = {"AddAndScale",
                                           "Convert",
                                           "Rope",
                                           "Embedding",
                                           "Bias",
                                           "LinearParameterAdjoint",
                                           "EmbeddingParameterAdjoint",
                                           "Rescale"};
  return llvm::any_of(suites,
                      [&](auto each) { return suite.ends_with(each); }) ||
         llvm::any_of(names,
                      [&](auto each) { return name.split('/').first == each; });
}

static bool showsBits() { return std::getenv("HONE_SHOW_BITS") != nullptr; }

HoneProgram::HoneProgram(llvm::StringRef ir, bool bfloat16Products) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));
  program = buildProgram(ir, *target, bfloat16Products);
  // Functions of scalars are the host's everywhere.
  isOnDevice = !target->hasHostKernels() && program.compiled().kernel_count > 0;
  // Compiling for the processor takes most of a test's time, so it is done only
  // where its bits are asked for.
  if (isOnDevice && (promisesBits() || showsBits()))
    beside =
        buildProgram(ir, *check(createTarget(TargetRequest::parse("native"))),
                     bfloat16Products);
}

void HoneProgram::setWeights(const std::vector<std::vector<double>> &values) {
  weights = values;
  rounded.clear();
  std::vector<const void *> tensors;
  for (const std::vector<double> &tensor : weights) {
    rounded.emplace_back(tensor.begin(), tensor.end());
    tensors.push_back(program.hasFloat32Gradients()
                          ? static_cast<const void *>(rounded.back().data())
                          : tensor.data());
  }
  if (beside)
    beside->setWeights(tensors);
  program.setWeights(std::move(tensors));
}

void HoneProgram::run(int64_t rows, unsigned threads) {
  auto pool = rt::Pool::create(threads);
  if (!pool.isOk())
    llvm::report_fatal_error("cannot start threads");
  if (isOnDevice) {
    if (beside)
      beside->run(rows, *pool.value());
    return program.run(rows, *pool.value());
  }
  const std::string before = program.memory().str();
  test::GuardedDevice guarded(*pool.value());
  program.run(rows, guarded, program.threadBytes() * threads);
  const std::string there = program.memory().str();
  program.setMemory(before);
  program.run(rows, *pool.value());
  if (program.memory() != there)
    llvm::report_fatal_error("two devices leave other bits");
}

std::vector<double> HoneProgram::read(llvm::StringRef region,
                                      size_t count) const {
  std::vector<double> values = program.read(region, count);
  if (!beside)
    return values;
  const std::vector<double> there = beside->read(region, count);
  // The bits of a NaN are each machine's own.
  bool isSame = true;
  for (size_t i = 0; i < count; ++i)
    isSame &= memcmp(&values[i], &there[i], sizeof(double)) == 0 ||
              (std::isnan(values[i]) && std::isnan(there[i]));
  if (showsBits()) {
    const testing::TestInfo *test =
        testing::UnitTest::GetInstance()->current_test_info();
    fprintf(stderr, "bits %s %s.%s %s\n", isSame ? "same" : "OTHER",
            test->test_suite_name(), test->name(), region.str().c_str());
  }
  EXPECT_TRUE(isSame || !promisesBits())
      << region.str() << " has other bits than the processor's";
  return values;
}
