//===- KernelsGenerationTest.cpp - Rows that continue a sequence ----------===//
//
// A sequence that is computed piece by piece, with its keys and values in
// caches, against one that is computed whole. Memory of positions that nobody
// wrote is NaN.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "test/numerics/KernelCase.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cmath>

using namespace hone;
using namespace hone::reference;

/// How sequences are cut; 0: the rest.
static const std::vector<std::vector<int64_t>> pieces = {
    {0}, {1, 0}, {5, 1, 1, 33, 0}, {32, 32, 0}, {31, 2, 7, 7, 0}};

namespace {
struct Shape {
  int64_t heads, kvHeads, headDim, window; ///< 0: no window
};

class KernelsGenerationTest : public KernelTest {
protected:
  /// Grouped heads and not, windows shorter and longer than a block of rows.
  static constexpr Shape shapes[] = {{2, 2, 8, 0},  {6, 2, 16, 0},
                                     {3, 1, 40, 0}, {2, 1, 16, 1},
                                     {4, 2, 8, 13}, {2, 2, 8, 300}};
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsGenerationTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));
} // namespace

/// Rows of one sequence, each over the keys of its window.
static Matrix attend(const Matrix &q, const Matrix &k, const Matrix &v,
                     const Shape &shape, double scale) {
  Matrix y(q.rows, q.columns);
  int64_t size = shape.headDim, group = shape.heads / shape.kvHeads;
  for (int64_t i = 0; i < q.rows; ++i)
    for (int64_t head = 0; head < shape.heads; ++head) {
      int64_t first =
          shape.window ? std::max<int64_t>(0, i - shape.window + 1) : 0;
      int64_t column = head / group * size;
      std::vector<double> weights;
      double most = -INFINITY, sum = 0;
      for (int64_t j = first; j <= i; ++j) {
        double dot = 0;
        for (int64_t c = 0; c < size; ++c)
          dot += q(i, head * size + c) * k(j, column + c);
        weights.push_back(scale * dot);
        most = std::max(most, weights.back());
      }
      for (double &weight : weights)
        sum += weight = std::exp(weight - most);
      for (int64_t j = first; j <= i; ++j)
        for (int64_t c = 0; c < size; ++c)
          y(i, head * size + c) += weights[j - first] / sum * v(j, column + c);
    }
  return y;
}

/// The element type as IR has it.
static std::string typeOf(const std::string &element) {
  return element.substr(0, element.find('-'));
}

static std::string attentionText(const Shape &shape, const std::string &element,
                                 int64_t positions) {
  std::string type = typeOf(element);
  auto matrix = [&](const std::string &rows, int64_t columns) {
    return "tensor<" + rows + "x" + std::to_string(columns) + "x" + type + ">";
  };
  std::string q = matrix("?", shape.heads * shape.headDim);
  std::string kv = matrix("?", shape.kvHeads * shape.headDim);
  std::string cache =
      matrix(std::to_string(positions), shape.kvHeads * shape.headDim);
  std::string window =
      shape.window ? " window " + std::to_string(shape.window) : "";
  return "module attributes {hone.max_rows = " + std::to_string(kMaxRows) +
         " : i64} {\nhone.block @b() -> " + q +
         " {\n%q = hone.input \"q\" : " + q +
         "\n%k = hone.input \"k\" : " + kv + "\n%v = hone.input \"v\" : " + kv +
         "\n%s = hone.input \"starts\" : tensor<?xi32>\n" +
         "%keys = hone.cache \"keys\" : " + cache +
         "\n%values = hone.cache \"values\" : " + cache +
         "\n%y = hone.cached_attention %q, %k, %v, %s, %keys, %values heads " +
         std::to_string(shape.heads) + " kv_heads " +
         std::to_string(shape.kvHeads) + window + " scale 0.3 : (" + q + ", " +
         kv + ", " + kv + ", tensor<?xi32>, " + cache + ", " + cache + ") -> " +
         q + "\nhone.return %y : " + q + "\n}\nhone.entry @main() -> " + q +
         " {\n%y = hone.call @b \"l.\" () : () -> " + q +
         "\nhone.return %y : " + q + "\n}\n}\n";
}

static std::vector<double> rowsOf(const Matrix &matrix, int64_t first,
                                  int64_t count) {
  auto begin = matrix.values.begin() + first * matrix.columns;
  return {begin, begin + count * matrix.columns};
}

/// How many rows the piece at `at` has.
static int64_t sizeOf(const std::vector<int64_t> &cut, size_t piece, int64_t at,
                      int64_t rows) {
  int64_t size = cut[std::min(piece, cut.size() - 1)];
  if (size == 0) // the rest, in one or one by one
    size = cut.size() == 2 ? 1 : rows - at;
  return std::min({size, rows - at, kMaxRows});
}

TEST_P(KernelsGenerationTest, CachedAttentionIsAttentionHoweverCut) {
  for (const Shape &shape : shapes) {
    constexpr int64_t rows = 100, positions = 104;
    HoneProgram program(attentionText(shape, element(), positions),
                        element() == kMedium || element() == kPairs);
    Matrix q = scale(random(rows, shape.heads * shape.headDim), 4);
    Matrix k = random(rows, shape.kvHeads * shape.headDim);
    Matrix v = random(rows, shape.kvHeads * shape.headDim);
    Matrix want = attend(q, k, v, shape, 0.3), first;
    for (const std::vector<int64_t> &cut : pieces) {
      program.reset();
      Matrix got(0, q.columns);
      for (size_t piece = 0; got.rows < rows; ++piece) {
        int64_t size = sizeOf(cut, piece, got.rows, rows);
        program.write("input.q", rowsOf(q, got.rows, size));
        program.write("input.k", rowsOf(k, got.rows, size));
        program.write("input.v", rowsOf(v, got.rows, size));
        program.write("input.starts",
                      std::vector<int32_t>(size, -int32_t(got.rows)));
        program.run(size, 1 + piece % 3);
        std::vector<double> y = program.read("result.0", size * q.columns);
        got.values.insert(got.values.end(), y.begin(), y.end());
        got.rows += size;
      }
      expectClose(got, want, element(), rows, "cached attention");
      if (first.rows == 0)
        first = got;
      // Text is generated on the processor, where the bits are the same.
      if (!addsOnMatrixUnits(element()))
        EXPECT_EQ(got.values, first.values)
            << "cut into pieces of " << cut.front() << ", ...";
    }
  }
}

//===----------------------------------------------------------------------===//
// A model
//===----------------------------------------------------------------------===//

static constexpr int64_t kVocabulary = 23, kHidden = 24, kPositions = 40;

/// Embedding and two layers; `head` of the last hidden state is returned as
/// `result`.
static std::string modelText(const std::string &head,
                             const std::string &result) {
  std::string text = R"(
module attributes {hone.max_rows = 40 : i64} {
  hone.block @embed() -> tensor<?x24xT> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed" : tensor<23x24xT>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<23x24xT>) -> tensor<?x24xT>
    hone.return %x : tensor<?x24xT>
  }
  hone.block @layer(%x: tensor<?x24xT>) -> tensor<?x24xT> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %n = hone.parameter "norm" : tensor<24xT>
    %wq = hone.parameter "q" : tensor<24x24xT>
    %wk = hone.parameter "k" : tensor<12x24xT>
    %wv = hone.parameter "v" : tensor<12x24xT>
    %h = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x24xT>, tensor<24xT>) -> tensor<?x24xT>
    %q0 = hone.linear %h, %wq : (tensor<?x24xT>, tensor<24x24xT>) -> tensor<?x24xT>
    %k0 = hone.linear %h, %wk : (tensor<?x24xT>, tensor<12x24xT>) -> tensor<?x12xT>
    %v = hone.linear %h, %wv : (tensor<?x24xT>, tensor<12x24xT>) -> tensor<?x12xT>
    %q = hone.rope %q0, %s heads 4 theta 100.0 : (tensor<?x24xT>, tensor<?xi32>) -> tensor<?x24xT>
    %k = hone.rope %k0, %s heads 2 theta 100.0 : (tensor<?x12xT>, tensor<?xi32>) -> tensor<?x12xT>
    %a = hone.attention %q, %k, %v, %s heads 4 kv_heads 2 scale 0.9 : (tensor<?x24xT>, tensor<?x12xT>, tensor<?x12xT>, tensor<?xi32>) -> tensor<?x24xT>
    %g = hone.linear %a, %wq : (tensor<?x24xT>, tensor<24x24xT>) -> tensor<?x24xT>
    %b = hone.attention %g, %k, %v, %s heads 4 kv_heads 2 scale 0.4 : (tensor<?x24xT>, tensor<?x12xT>, tensor<?x12xT>, tensor<?xi32>) -> tensor<?x24xT>
    %r = hone.add %x, %b : tensor<?x24xT>
    %y = hone.add %r, %g : tensor<?x24xT>
    hone.return %y : tensor<?x24xT>
  }
  hone.block @head(%x: tensor<?x24xT>) -> RESULT {
    %n = hone.parameter "norm" : tensor<24xT>
    %t = hone.parameter "embed" : tensor<23x24xT>
    %h = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x24xT>, tensor<24xT>) -> tensor<?x24xT>
    HEAD
    hone.return %y : RESULT
  }
  hone.entry @loss() -> RESULT {
    %x = hone.call @embed "" () : () -> tensor<?x24xT>
    %y = hone.call @layer "0." (%x) : (tensor<?x24xT>) -> tensor<?x24xT>
    %z = hone.call @layer "1." (%y) : (tensor<?x24xT>) -> tensor<?x24xT>
    %r = hone.call @head "" (%z) : (tensor<?x24xT>) -> RESULT
    hone.return %r : RESULT
  }
})";
  auto replace = [&](llvm::StringRef from, const std::string &to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("HEAD", head);
  replace("RESULT", result);
  replace("xT>", "xf64>");
  return text;
}

/// The same model as derivation makes it, without its schedule.
static std::string cachedText(int64_t rows) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      modelText("%targets = hone.input \"targets\" : tensor<?xi32>\n"
                "%y = hone.linear_cross_entropy %h, %t, %targets : "
                "(tensor<?x24xT>, tensor<23x24xT>, tensor<?xi32>) -> "
                "tensor<f64>",
                "tensor<f64>"),
      &context);
  mlir::PassManager passes(&context);
  passes.addPass(createDeriveGeneration({rows, kPositions}));
  std::string text;
  if (!module || failed(passes.run(*module)))
    return text;
  for (ScheduleOp op : llvm::make_early_inc_range(module->getOps<ScheduleOp>()))
    op.erase();
  llvm::raw_string_ostream(text) << *module;
  return text;
}

TEST(Generation, LogitsOfCachesAreThoseOfTheWholeForward) {
  std::vector<std::vector<double>> weights;
  for (int64_t size : {kVocabulary * kHidden, kHidden, kHidden * kHidden,
                       12 * kHidden, 12 * kHidden, kHidden, kHidden * kHidden,
                       12 * kHidden, 12 * kHidden, kHidden})
    weights.push_back(
        randomMatrix(1, size, unsigned(weights.size()) + 1, "f64").values);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kPositions; ++i)
    ids.push_back(int32_t((i * i + 3 * i + 7) % kVocabulary));

  // The forward of each beginning of the text, without caches.
  HoneProgram whole(modelText("%y = hone.logits %h, %t : (tensor<?x24xT>, "
                              "tensor<23x24xT>) -> tensor<23xT>",
                              "tensor<23xT>"));
  whole.setWeights(weights);
  std::vector<std::vector<double>> want;
  for (int64_t rows = 1; rows <= kPositions; ++rows) {
    whole.reset();
    whole.write("input.input_ids", ids);
    whole.write("input.sequence_starts", std::vector<int32_t>(rows, 0));
    whole.run(rows, 1);
    want.push_back(whole.read("result.0", kVocabulary));
  }

  for (int64_t most : {int64_t(1), int64_t(7), kPositions}) {
    HoneProgram cached(cachedText(most));
    cached.setWeights(weights);
    for (int64_t size : {int64_t(1), int64_t(3), most}) {
      cached.reset();
      for (int64_t past = 0; past < kPositions;) {
        int64_t count = std::min({size, most, kPositions - past});
        cached.write("input.input_ids",
                     std::vector<int32_t>(ids.begin() + past,
                                          ids.begin() + past + count));
        cached.write("input.sequence_starts",
                     std::vector<int32_t>(count, -int32_t(past)));
        cached.run(count, 2);
        past += count;
        std::vector<double> got = cached.read("result.0", kVocabulary);
        for (int64_t i = 0; i < kVocabulary; ++i)
          ASSERT_NEAR(got[i], want[past - 1][i], 1e-12)
              << "token " << i << " after " << past << " in pieces of "
              << count;
      }
    }
  }
}
