//===- CompareGradients.cpp - Tensors of a run against golden figures -----===//
//
// compare-gradients DUMP FIGURES.json [BATCH [REFERENCE]]
//
// With a reference: each gradient against the float64 one. Without: against
// the norm and the four random projections in the figures, for models that are
// not part of the project or whose gradients are large. BATCH: of which of the
// figures. A model's file is compared in the same way with figures of its
// parameters, which have no loss and a "limit" of their own. Criteria and
// formulas: test/reference/README.md.
// Prints the largest errors; exit 1 if any exceeds its limit.
//
//===----------------------------------------------------------------------===//

#include "HashValues.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "formats/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace hone::rt;
using namespace hone::test;

namespace {

struct Limits {
  double gradient; ///< beside `torchErrors` of torch's own float32 errors
  double loss;
  double torchErrors;
};

struct Worst {
  double ratio = 0; ///< error over limit
  double error = 0;
  std::string name = "none";

  void add(double newError, double limit, const std::string &newName) {
    double newRatio = newError / limit;
    // Not-a-number is the worst of all, whether it comes first or later.
    if (newRatio <= ratio || std::isnan(ratio))
      return;
    ratio = newRatio;
    error = newError;
    name = newName;
  }
};

} // namespace

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "compare-gradients: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> static T require(Result<T> result) {
  if (!result.isOk())
    fail(result.status().render());
  return std::move(result.value());
}

static const Json &member(const Json &object, const char *key) {
  if (const Json *value = object.find(key))
    return *value;
  fail(std::string("the figures lack '") + key + "'");
}

static std::vector<double> values(const SafetensorsFile &file,
                                  const TensorInfo &tensor) {
  std::vector<double> out(tensor.elements());
  const char *data = file.data(tensor);
  for (size_t i = 0; i < out.size(); ++i) {
    if (tensor.dtype == Dtype::F64) {
      std::memcpy(&out[i], data + 8 * i, 8);
      continue;
    }
    float value;
    std::memcpy(&value, data + 4 * i, 4);
    out[i] = value;
  }
  return out;
}

static double norm(const std::vector<double> &v) {
  double sum = 0;
  for (double x : v)
    sum += x * x;
  return std::sqrt(sum);
}

/// |g - r| / |r|; 0 where both are zero.
static double differenceFrom(const std::vector<double> &found,
                             const std::vector<double> &reference) {
  std::vector<double> difference(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    difference[i] = found[i] - reference[i];
  double error = norm(difference);
  return error == 0 ? 0 : error / norm(reference);
}

/// The estimate of |g - r| / |r| from four projections, or the error of the
/// norm if that is larger. Where |r| is zero but for rounding the figures have
/// a scale in its place.
static double differenceFrom(const std::vector<double> &found,
                             const std::string &name, const Json &figures) {
  double expectedNorm = member(figures, "norm").number();
  const std::vector<Json> &projections = member(figures, "projections").array();
  double squares = 0;
  for (size_t k = 0; k < projections.size(); ++k) {
    double projection = 0;
    for (size_t i = 0; i < found.size(); ++i)
      projection += sign(name, k, i) * found[i];
    double difference = projection - projections[k].number();
    squares += difference * difference / projections.size();
  }
  const Json *scale = figures.find("scale");
  return std::max(std::sqrt(squares), std::fabs(norm(found) - expectedNorm)) /
         (scale ? scale->number() : expectedNorm);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 5)
    fail("usage: compare-gradients DUMP FIGURES.json [BATCH [REFERENCE]]");
  SafetensorsFile dump = require(SafetensorsFile::open(argv[1]));
  MappedFile text = require(MappedFile::open(argv[2]));
  Json root =
      require(Json::parse(std::string_view(text.data(), text.size()), argv[2]));
  bool hasReference = argc == 5;
  const Json &figures = argc > 3 ? member(root, argv[3]) : root;
  SafetensorsFile reference;
  if (hasReference)
    reference = require(SafetensorsFile::open(argv[4]));

  const std::vector<Json::Member> &expected =
      member(figures, "tensors").object();
  if (dump.tensors().size() != expected.size() || expected.empty())
    fail("expected " + std::to_string(expected.size()) + " tensors, found " +
         std::to_string(dump.tensors().size()));
  bool isDouble = dump.tensors()[0].dtype == Dtype::F64;
  Limits limits = isDouble ? Limits{1e-10, 1e-10, 0} : Limits{1e-5, 1e-6, 2};
  // AdamW makes whole steps of the rounding errors of gradients that are zero,
  // such as those of keys' biases: no two programs agree there.
  if (const Json *limit = figures.find("limit"); limit && !isDouble)
    limits = {limit->number(), 0, 4};

  Worst worst;
  for (const auto &[name, tensorFigures] : expected) {
    const TensorInfo &info = *require(dump.require(name));
    std::vector<double> found = values(dump, info);
    double error =
        hasReference
            ? differenceFrom(
                  found, values(reference, *require(reference.require(name))))
            : differenceFrom(found, name, tensorFigures);
    double limit = limits.gradient;
    if (limits.torchErrors > 0)
      limit = std::max(
          limit, limits.torchErrors *
                     member(tensorFigures, "torch_float32_error").number());
    worst.add(error, limit, name);
  }

  std::printf("%zu tensors in %s, largest error %.2e (%.0f %% of its limit, "
              "%s)\n",
              expected.size(), isDouble ? "float64" : "float32", worst.error,
              100 * worst.ratio, worst.name.c_str());
  bool holds = worst.ratio <= 1;
  if (const Json *expectedLoss = figures.find("loss")) {
    const std::string *lossText = dump.findMetadata("loss");
    if (!lossText)
      fail("the dump has no metadata 'loss'");
    double loss = std::strtod(lossText->c_str(), nullptr);
    double error = std::fabs(loss / expectedLoss->number() - 1);
    std::printf("loss %.12f, error %.2e\n", loss, error);
    holds = holds && error <= limits.loss;
  }
  std::printf("%s\n", holds ? "within limits" : "BEYOND LIMITS");
  return holds ? 0 : 1;
}
