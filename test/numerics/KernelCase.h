//===- KernelCase.h - One hone op on random inputs against the reference --===//
//
// All operands are named inputs, so a case is an op's text and its types. Each
// run is repeated with 1, 2 and 3 threads and must give the same bits. Inputs
// are rounded to the element type before the reference sees them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "test/numerics/HoneProgram.h"
#include "test/reference/Reference.h"

#include "gtest/gtest.h"

#include <map>
#include <string>
#include <vector>

namespace hone {

/// f32 with products of operands that are rounded to bfloat16, where the
/// machine has them.
inline constexpr const char *kMedium = "f32-medium";
/// bf16 with such products; "bf16" alone is widened.
inline constexpr const char *kPairs = "bf16-pairs";

/// Rows that batches are run with; the module allows kMaxRows.
constexpr int64_t kMaxRows = 100;
constexpr int64_t kRowCounts[] = {1, 5, 27, 64, 100};

/// Where the sequences of a batch of `rows` rows begin: three of them, as far
/// as rows allow.
reference::Rows sequenceStarts(int64_t rows);

/// " smoothing 0.1", or nothing for 0.
std::string smoothed(double smoothing);

/// Uniform in (-1, 1), a function of `seed` alone, rounded to `element`: f32,
/// f64, bf16, kMedium or kPairs.
reference::Matrix randomMatrix(int64_t rows, int64_t columns, unsigned seed,
                               const std::string &element);

class KernelCase {
public:
  struct Operand {
    /// As in "?x32xT": T is the element type, C the type of the computation.
    std::string name, type;
  };

  /// `text` is the op; its results are %r0, %r1, ...
  KernelCase(std::string element, std::vector<Operand> inputs,
             std::vector<std::string> results, const std::string &text,
             int64_t maxRows = kMaxRows);

  void set(const std::string &name, reference::Matrix value) {
    matrices[name] = std::move(value);
  }
  void set(const std::string &name, reference::Rows value) {
    rowInputs[name] = std::move(value);
  }
  /// Runs on the inputs that were set and returns the results.
  std::vector<reference::Matrix> run(int64_t rows);

  const std::string &element() const { return elementName; }

private:
  std::vector<reference::Matrix> runOnce(int64_t rows, unsigned threads);

  std::string elementName;
  std::vector<std::string> resultTypes;
  HoneProgram program;
  std::map<std::string, reference::Matrix> matrices;
  std::map<std::string, reference::Rows> rowInputs;
};

/// Expects the relative error in the Frobenius norm to be within that of sums
/// of `length` terms in this element type; with kMedium, within that of rounded
/// operands, which does not grow with their number; with bf16, within that of a
/// rounded result. NaN fails.
void expectClose(const reference::Matrix &actual,
                 const reference::Matrix &expected, const std::string &element,
                 int64_t length, const std::string &what);

/// Tests that run in several element types.
class KernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
  std::string element() const { return GetParam(); }
  /// The same for results of the type that elements are computed in.
  std::string computed() const;
  reference::Matrix random(int64_t rows, int64_t columns) {
    return randomMatrix(rows, columns, ++seed, element());
  }

private:
  unsigned seed = 0;
};

} // namespace hone
