//===- ScalarFunctionsTest.cpp - The compiled formulas of a step ----------===//
//
// Rates: values by hand from the formulas of transformers/optimization.py. The
// rest against the runtime's functions of the same specification, to the bit.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/ScalarFunctions.h"
#include "passes/module/Schedule.h"
#include "test/numerics/HoneProgram.h"
#include "test/reference/ScalarFormulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hone;

namespace {

/// One formula, compiled. `types`: 'd' for each f64, 'l' for each i64.
class Formula {
public:
  Formula(const std::string &name, const std::string &types)
      : program(ir(name, types)) {}

  double operator()(const std::vector<double> &arguments) {
    for (size_t i = 0; i < arguments.size(); ++i)
      program.write("argument." + std::to_string(i),
                    std::vector<double>{arguments[i]});
    program.run(1, 1);
    return program.read("result.0", 1)[0];
  }

private:
  static std::string ir(const std::string &name, const std::string &types) {
    mlir::MLIRContext context;
    context.loadDialect<HoneDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
    mlir::OwningOpRef<mlir::ModuleOp> module(
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
    auto function = getScalarFunction(*module, name, {}, {});
    EXPECT_TRUE(succeeded(function));
    std::string text = "module attributes {hone.max_rows = 1 : i64} {\n",
                operands, operandTypes;
    llvm::raw_string_ostream os(text);
    for (mlir::Operation &op : *module->getBody())
      os << op << "\n";
    os << "hone.schedule train {\n";
    for (size_t i = 0; i < types.size(); ++i) {
      std::string type = types[i] == 'd' ? "tensor<f64>" : "tensor<i64>";
      os << "%a" << i << " = hone.setting \"a" << i << "\" : " << type << "\n";
      operands += (i ? ", %a" : "%a") + std::to_string(i);
      operandTypes += (i ? ", " : "") + type;
    }
    os << "%r = hone.scalar @scalar." << name << "(" << operands << ") : ("
       << operandTypes << ") -> tensor<f64>\n}\n}\n";
    return text;
  }

  HoneProgram program;
};

class Rate {
public:
  double at(hone_lr_scheduler scheduler, double peak, double warmup,
            double steps, double completed) {
    return formula({peak, double(scheduler), warmup, steps, completed});
  }

private:
  Formula formula{"learning_rate", "dllll"};
};

} // namespace

TEST(ScalarFunctions, LinearFallsFromThePeakToZero) {
  Rate rate;
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 0, 4, 0), 1.0);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 0, 4, 1), 0.75);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 0, 4, 3), 0.25);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 0, 4, 4), 0.0);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 0, 4, 9), 0.0);
}

TEST(ScalarFunctions, LinearDecaysOverWhatTheWarmupLeaves) {
  Rate rate;
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 2.0, 2, 6, 0), 0.0);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 2.0, 2, 6, 1), 1.0);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 2.0, 2, 6, 2), 2.0);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 2.0, 2, 6, 3), 1.5);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 2.0, 2, 6, 5), 0.5);
  EXPECT_EQ(rate.at(HONE_LR_LINEAR, 1.0, 10, 4, 3), 0.3);
}

TEST(ScalarFunctions, CosineIsHalfAWave) {
  Rate rate;
  EXPECT_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 0), 0.0);
  EXPECT_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 1), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 2), 0.8535533905932737);
  EXPECT_DOUBLE_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 3), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 4), 0.14644660940672627);
  EXPECT_EQ(rate.at(HONE_LR_COSINE, 1.0, 1, 5, 5), 0.0);
}

TEST(ScalarFunctions, ConstantStaysAfterTheWarmup) {
  Rate rate;
  EXPECT_EQ(rate.at(HONE_LR_CONSTANT, 3.0, 3, 5, 0), 0.0);
  EXPECT_EQ(rate.at(HONE_LR_CONSTANT, 3.0, 3, 5, 1), 3.0 * (1.0 / 3.0));
  EXPECT_EQ(rate.at(HONE_LR_CONSTANT, 3.0, 3, 5, 3), 3.0);
  EXPECT_EQ(rate.at(HONE_LR_CONSTANT, 3.0, 3, 5, 100), 3.0);
}

TEST(ScalarFunctions, CosineAndPowerHaveTheSpecifiedBits) {
  Formula cosine("cos_pi", "d"), correction("bias_correction", "dl");
  for (int i = 0; i <= 400; ++i) {
    double y = i / 160.0 + 1e-3;
    EXPECT_EQ(cosine({y}), reference::cosPi(y)) << y;
  }
  for (int completed : {0, 1, 2, 9, 198, 12345})
    for (double beta : {0.9, 0.999})
      EXPECT_EQ(correction({beta, double(completed)}),
                1 - reference::power(beta, uint64_t(completed) + 1));
}

TEST(ScalarFunctions, PowersOfStepsHaveTheSpecifiedBits) {
  Formula power("step_power", "dl");
  for (double exponent : {-1.0, -0.8, -0.5, 0.0})
    for (int64_t step : {1, 2, 3, 7, 10, 100, 1023, 12345, 1 << 30}) {
      double found = power({exponent, double(step - 1)});
      EXPECT_EQ(found,
                rt::portableExp(exponent * rt::portableLog(double(step))));
      EXPECT_NEAR(found, std::pow(double(step), exponent), 1e-14 * found);
    }
}

TEST(ScalarFunctions, ClippingFollowsTorch) {
  Formula clip("clip", "dd");
  EXPECT_EQ(clip({4.0, 1.0}), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(clip({0.5, 1.0}), 1.0);
  EXPECT_EQ(clip({4.0, 0.0}), 1.0);
  Formula inverse("inverse", "d");
  EXPECT_EQ(inverse({8.0}), 0.125);
  EXPECT_EQ(inverse({0.0}), 0.0);
}
