//===- KernelCase.cpp - One hone op on random inputs against the reference ===//
//
// See KernelCase.h.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"
#include "runtime/src/base/Dtype.h"
#include "targets/Target.h"

#include <cmath>
#include <random>

using namespace hone;
using reference::Matrix;
using reference::Rows;

Rows hone::sequenceStarts(int64_t rows) {
  Rows starts(rows);
  for (int64_t i = 0; i < rows; ++i)
    starts[i] = i < 3 ? 0 : i < 40 ? 3 : 40;
  return starts;
}

std::string hone::smoothed(double smoothing) {
  return smoothing > 0 ? " smoothing " + std::to_string(smoothing) : "";
}

static bool isBFloat16(const std::string &element) {
  return element.rfind("bf16", 0) == 0;
}

Matrix hone::randomMatrix(int64_t rows, int64_t columns, unsigned seed,
                          const std::string &element) {
  std::mt19937 generator(seed);
  Matrix result(rows, columns);
  for (double &value : result.values) {
    value = (generator() + 0.5) / 2147483648.0 - 1;
    if (element != "f64")
      value = static_cast<float>(value);
    if (isBFloat16(element))
      value = rt::bfloat16ToFloat(rt::floatToBfloat16(value));
  }
  return result;
}

/// "?x32xT" to "tensor<?x32xf32>".
static std::string tensorType(std::string type, const std::string &element) {
  std::string name = element.substr(0, element.find('-'));
  if (type.back() == 'C' && isBFloat16(element))
    name = "f32";
  if (type.back() == 'T' || type.back() == 'C')
    type.replace(type.size() - 1, 1, name);
  return "tensor<" + type + ">";
}

static std::string moduleText(const std::string &element,
                              const std::vector<KernelCase::Operand> &inputs,
                              const std::vector<std::string> &results,
                              const std::string &text, int64_t maxRows) {
  std::string ir, names, types;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string comma = i ? ", " : "";
    names += comma + "%r" + std::to_string(i);
    types += comma + tensorType(results[i], element);
  }
  ir += "module attributes {hone.max_rows = " + std::to_string(maxRows) +
        " : i64} {\nhone.block @op() -> (" + types + ") {\n";
  std::string operands, operandTypes;
  for (const KernelCase::Operand &input : inputs) {
    std::string type = tensorType(input.type, element);
    ir += "%" + input.name + " = hone.input \"" + input.name + "\" : " + type +
          "\n";
    operandTypes += (operandTypes.empty() ? "" : ", ") + type;
  }
  ir += names + " = " + text + " : (" + operandTypes + ") -> (" + types +
        ")\nhone.return " + names + " : " + types + "\n}\n";
  return ir + "hone.entry @test() -> (" + types + ") {\n" + names +
         " = hone.call @op \"\" () : () -> (" + types + ")\nhone.return " +
         names + " : " + types + "\n}\n}\n";
}

KernelCase::KernelCase(std::string element, std::vector<Operand> inputs,
                       std::vector<std::string> results,
                       const std::string &text, int64_t maxRows)
    : elementName(element), resultTypes(results),
      program(moduleText(element, inputs, results, text, maxRows),
              /*bfloat16Products=*/element == kMedium || element == kPairs) {}

/// Rows and columns of a type such as "?x32xT", "?xT", "f64".
static Matrix resultMatrix(const std::string &type, int64_t rows) {
  std::vector<int64_t> shape;
  size_t at = 0;
  for (size_t x; (x = type.find('x', at)) != std::string::npos; at = x + 1) {
    std::string size = type.substr(at, x - at);
    shape.push_back(size == "?" ? rows : std::stoll(size));
  }
  return Matrix(shape.size() > 0 ? shape[0] : 1,
                shape.size() > 1 ? shape[1] : 1);
}

std::vector<Matrix> KernelCase::runOnce(int64_t rows, unsigned threads) {
  program.reset();
  for (const auto &[name, value] : matrices)
    program.write("input." + name, value.values);
  for (const auto &[name, value] : rowInputs)
    program.write("input." + name, value);
  program.run(rows, threads);
  std::vector<Matrix> results;
  for (size_t i = 0; i < resultTypes.size(); ++i) {
    Matrix result = resultMatrix(resultTypes[i], rows);
    result.values =
        program.read("result." + std::to_string(i), result.values.size());
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<Matrix> KernelCase::run(int64_t rows) {
  std::vector<Matrix> results = runOnce(rows, 1);
  if (program.isForDevice())
    return results;
  for (unsigned threads : {2, 3}) {
    std::vector<Matrix> again = runOnce(rows, threads);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(memcmp(again[i].values.data(), results[i].values.data(),
                       results[i].values.size() * sizeof(double)),
                0)
          << "result " << i << " differs with " << threads << " threads";
  }
  return results;
}

void KernelTest::SetUp() {
  llvm::ExitOnError check("error: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));
  bool needsProducts = element() == kMedium || element() == kPairs;
  if (needsProducts && !target->hasBFloat16Products())
    GTEST_SKIP() << "needs products of bfloat16";
}

std::string KernelTest::computed() const {
  return element() == "bf16"   ? "f32"
         : element() == kPairs ? kMedium
                               : element();
}

void hone::expectClose(const Matrix &actual, const Matrix &expected,
                       const std::string &element, int64_t length,
                       const std::string &what) {
  ASSERT_EQ(actual.values.size(), expected.values.size()) << what;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < actual.values.size(); ++i) {
    difference += std::pow(actual.values[i] - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  double error = norm > 0 ? std::sqrt(difference / norm) : difference;
  double unit = element == "f32" ? std::ldexp(1.0, -24) : 1e-14;
  double most = unit * (8 + 2 * std::sqrt(double(length)));
  // Up to two products in a row; each rounds both operands by up to 2^-9.
  if (element == kMedium || element == kPairs)
    most = std::ldexp(1.0, -7);
  if (element == "bf16")
    most = std::ldexp(1.0, -8);
  EXPECT_LE(error, most) << what << ", " << element;
}
