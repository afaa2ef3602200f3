//===- KernelsTangentTest.cpp - Tangents against the reference ------------===//
//
// Each tangent with all of its directions, with each alone, and with and
// without values that the forward pass may have kept.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cmath>

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsTangentTest : public KernelTest {
protected:
  using Operands = std::vector<KernelCase::Operand>;

  /// The optional operand ` name %name` of an op's text, if `given`.
  static std::string optional(Operands &operands, bool given,
                              const std::string &name,
                              const std::string &type) {
    if (!given)
      return "";
    operands.push_back({name, type});
    return " " + name + " %" + name;
  }
  static const Matrix *given(bool given, const Matrix &tangent) {
    return given ? &tangent : nullptr;
  }
  static Matrix rowOf(const Matrix &matrix, int64_t row) {
    Matrix result(1, matrix.columns);
    for (int64_t j = 0; j < matrix.columns; ++j)
      result(0, j) = matrix(row, j);
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsTangentTest,
                         testing::Values("f32", "f64", "bf16"));
} // namespace

TEST_P(KernelsTangentTest, RmsNorm) {
  for (const Norm &norm : {Norm{1e-5}, Norm{1e-5, 5, 1}})
    for (bool keptRstd : {false, true}) {
      std::string heads = std::to_string(norm.heads);
      Operands operands = {{"tx", "?x75xT"},
                           {"x", "?x75xT"},
                           {"w", std::to_string(75 / norm.heads) + "xC"}};
      std::string rstd =
          optional(operands, keptRstd, "rstd", "?x" + heads + "xC");
      KernelCase kernel(element(), operands, {"?x75xT"},
                        "hone.rms_norm_tangent %tx, %x, %w" + rstd + " heads " +
                            heads + " offset " + std::to_string(norm.offset) +
                            " eps 1.0e-5");
      Matrix w = random(1, 75 / norm.heads);
      kernel.set("w", w);
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, 75), tx = random(rows, 75);
        kernel.set("x", x);
        kernel.set("tx", tx);
        if (keptRstd)
          kernel.set("rstd", reciprocalRms(x, norm));
        expectClose(kernel.run(rows)[0], rmsNormTangent(tx, x, w, norm),
                    element(), 75, "rms_norm_tangent");
      }
    }
}

TEST_P(KernelsTangentTest, GatedActivation) {
  for (const reference::Activation &f : activations)
    for (auto [withGate, withUp] :
         {std::pair{true, true}, {true, false}, {false, true}}) {
      Operands operands = {{"g", "?x75xT"}, {"u", "?x75xT"}};
      std::string tangents = optional(operands, withGate, "tgate", "?x75xT") +
                             optional(operands, withUp, "tup", "?x75xT");
      KernelCase kernel(element(), operands, {"?x75xT"},
                        std::string("hone.gated_activation_tangent ") + f.name +
                            " %g, %u" + tangents);
      for (int64_t rows : kRowCounts) {
        Matrix g = scale(random(rows, 75), 16), u = random(rows, 75);
        Matrix tgate = random(rows, 75), tup = random(rows, 75);
        // The tails, where exp overflows in single precision.
        g(0, 0) = -100;
        g(0, 1) = 100;
        kernel.set("g", g);
        kernel.set("u", u);
        if (withGate)
          kernel.set("tgate", tgate);
        if (withUp)
          kernel.set("tup", tup);
        expectClose(kernel.run(rows)[0],
                    gatedActivationTangent(f, g, u, given(withGate, tgate),
                                           given(withUp, tup)),
                    element(), 0, "gated_activation_tangent");
      }
    }
}

TEST_P(KernelsTangentTest, LoraParameters) {
  struct Given {
    bool ta, tb, h;
  };
  // Each choice of operands at one shape, the others with the first of them.
  const Given all[] = {{true, true, true},
                       {true, true, false},
                       {true, false, false},
                       {false, true, false},
                       {false, true, true}};
  for (auto [in, out, rank, choices] :
       {std::tuple{48, 200, 4, 1}, {72, 40, 8, 2}, {1100, 40, 20, 5}})
    for (Given with : llvm::ArrayRef(all).take_front(choices)) {
      std::string i = std::to_string(in), o = std::to_string(out);
      std::string r = std::to_string(rank);
      std::string typeOfA = r + "x" + i + "xC", typeOfB = o + "x" + r + "xC";
      Operands operands = {
          {"x", "?x" + i + "xT"}, {"a", typeOfA}, {"b", typeOfB}};
      std::string tangents = optional(operands, with.ta, "ta", typeOfA) +
                             optional(operands, with.tb, "tb", typeOfB) +
                             optional(operands, with.h, "h", "?x" + r + "xC");
      KernelCase kernel(element(), operands, {"?x" + o + "xT"},
                        "hone.lora_parameter_tangent %x, %a, %b" + tangents +
                            " scale 1.5");
      Lora lora{Matrix(), random(rank, in), random(out, rank), 1.5};
      Matrix ta = random(rank, in), tb = random(out, rank);
      kernel.set("a", lora.a);
      kernel.set("b", lora.b);
      if (with.ta)
        kernel.set("ta", ta);
      if (with.tb)
        kernel.set("tb", tb);
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, in);
        kernel.set("x", x);
        if (with.h)
          kernel.set("h", scale(product(x, transpose(lora.a)), lora.scale));
        expectClose(kernel.run(rows)[0],
                    loraParameterTangent(x, lora, given(with.ta, ta),
                                         given(with.tb, tb)),
                    element(), in, "lora_parameter_tangent");
      }
    }
}

namespace {
struct AttentionGiven {
  bool tq, tk, tv, normalizer;
};
} // namespace

TEST_P(KernelsTangentTest, Attention) {
  // One head each; grouped; one key head for all and more than one panel wide
  // in f64.
  const Heads shapes[] = {
      {2, 2, 0.3}, {6, 2, 0.3}, {3, 1, 0.3}, {6, 2, 0.3, 11}, {3, 1, 0.3, 40}};
  const int64_t headDims[] = {8, 16, 40, 16, 8};
  const AttentionGiven all[] = {
      {true, true, true, false},   {true, true, true, true},
      {true, false, false, false}, {false, true, false, true},
      {false, false, true, true},  {false, false, true, false}};
  // Each choice at one shape, each other shape with one that keeps nothing or
  // the normalizer.
  for (int shape : {0, 1, 2, 3, 4})
    for (const AttentionGiven &with :
         shape == 3 ? llvm::ArrayRef(all) : llvm::ArrayRef(all[shape % 2])) {
      const Heads &heads = shapes[shape];
      int64_t wide = heads.heads * headDims[shape];
      int64_t narrow = heads.kvHeads * headDims[shape];
      std::string q = "?x" + std::to_string(wide) + "xT";
      std::string kv = "?x" + std::to_string(narrow) + "xT";
      Operands operands = {{"q", q}, {"k", kv}, {"v", kv}, {"starts", "?xi32"}};
      std::string tangents =
          optional(operands, with.tq, "tq", q) +
          optional(operands, with.tk, "tk", kv) +
          optional(operands, with.tv, "tv", kv) +
          optional(operands, with.normalizer, "normalizer",
                   "?x" + std::to_string(2 * heads.heads) + "xC");
      KernelCase kernel(
          element(), operands, {q},
          "hone.attention_tangent %q, %k, %v, %starts" + tangents + " heads " +
              std::to_string(heads.heads) + " kv_heads " +
              std::to_string(heads.kvHeads) +
              (heads.window ? " window " + std::to_string(heads.window) : "") +
              " scale 0.3");
      for (int64_t rows : kRowCounts) {
        Matrix query = random(rows, wide), key = random(rows, narrow);
        Matrix value = random(rows, narrow), tq = random(rows, wide);
        Matrix tk = random(rows, narrow), tv = random(rows, narrow);
        Rows starts = sequenceStarts(rows);
        kernel.set("q", query);
        kernel.set("k", key);
        kernel.set("v", value);
        kernel.set("starts", starts);
        if (with.tq)
          kernel.set("tq", tq);
        if (with.tk)
          kernel.set("tk", tk);
        if (with.tv)
          kernel.set("tv", tv);
        if (with.normalizer)
          kernel.set("normalizer",
                     attention(query, key, value, starts, heads).normalizer);
        Matrix got = kernel.run(rows)[0];
        // A row that sees one key follows its value alone: only the others have
        // a scale.
        if (rows == 1 && !with.tv)
          continue;
        expectClose(got,
                    attentionTangent(query, key, value, starts,
                                     {given(with.tq, tq), given(with.tk, tk),
                                      given(with.tv, tv)},
                                     heads),
                    element(), rows, "attention_tangent");
      }
    }
}

// More keys than one partial sum takes.
TEST_P(KernelsTangentTest, AttentionOfALongSequence) {
  constexpr int64_t rows = 600;
  Heads heads{2, 1, 0.3};
  Matrix q = random(rows, 32), k = random(rows, 16), v = random(rows, 16);
  Matrix tq = random(rows, 32), tk = random(rows, 16), tv = random(rows, 16);
  Rows starts(rows, 0);
  std::fill(starts.begin() + 20, starts.end(), 20);
  KernelCase kernel(element(),
                    {{"q", "?x32xT"},
                     {"k", "?x16xT"},
                     {"v", "?x16xT"},
                     {"starts", "?xi32"},
                     {"tq", "?x32xT"},
                     {"tk", "?x16xT"},
                     {"tv", "?x16xT"}},
                    {"?x32xT"},
                    "hone.attention_tangent %q, %k, %v, %starts tq %tq tk %tk "
                    "tv %tv heads 2 kv_heads 1 scale 0.3",
                    /*maxRows=*/700);
  kernel.set("q", q);
  kernel.set("k", k);
  kernel.set("v", v);
  kernel.set("starts", starts);
  kernel.set("tq", tq);
  kernel.set("tk", tk);
  kernel.set("tv", tv);
  expectClose(kernel.run(rows)[0],
              attentionTangent(q, k, v, starts, {&tq, &tk, &tv}, heads),
              element(), rows, "attention_tangent");
}

TEST_P(KernelsTangentTest, LinearCrossEntropy) {
  for (auto [vocabulary, smoothing] : {std::pair(9, 0.0),
                                       {100, 0.0},
                                       {2048, 0.0},
                                       {4500, 0.0},
                                       {9, 0.25},
                                       {4500, 0.1}}) {
    std::string v = std::to_string(vocabulary);
    KernelCase kernel(
        element(),
        {{"x", "?x24xT"}, {"w", v + "x24xT"}, {"t", "?xi32"}, {"tx", "?x24xT"}},
        {"f64"},
        "hone.linear_cross_entropy_tangent %x, %w, %t tx %tx" +
            smoothed(smoothing));
    Matrix w = random(vocabulary, 24);
    kernel.set("w", w);
    for (int64_t rows : kRowCounts) {
      Matrix x = scale(random(rows, 24), 2), tx = random(rows, 24);
      Rows targets(rows);
      for (int64_t i = 0; i < rows; ++i)
        targets[i] = i % 3 == 1 ? -100 : (i * 31) % vocabulary;
      kernel.set("x", x);
      kernel.set("tx", tx);
      kernel.set("t", targets);
      // Rows cancel: the tangent's error is relative to its terms.
      double got = kernel.run(rows)[0](0, 0);
      double want = 0, size = 0;
      for (int64_t i = 0; i < rows; ++i) {
        double term = linearCrossEntropyTangent(rowOf(tx, i), rowOf(x, i), w,
                                                {targets[i]}, smoothing);
        want += term;
        size += std::abs(term);
      }
      expectClose(Matrix(1, 1, got - want + size), Matrix(1, 1, size),
                  element(), vocabulary, "linear_cross_entropy_tangent");
    }
  }
}

TEST_P(KernelsTangentTest, ChunkWithoutTargets) {
  KernelCase kernel(
      element(),
      {{"x", "?x24xT"}, {"w", "100x24xT"}, {"t", "?xi32"}, {"tx", "?x24xT"}},
      {"f64"}, "hone.linear_cross_entropy_tangent %x, %w, %t tx %tx");
  Matrix w = random(100, 24), x = random(kMaxRows, 24);
  Matrix tx = random(kMaxRows, 24);
  Rows targets(kMaxRows, -100);
  targets[70] = 5;
  kernel.set("w", w);
  kernel.set("x", x);
  kernel.set("tx", tx);
  kernel.set("t", targets);
  expectClose(kernel.run(kMaxRows)[0],
              Matrix(1, 1, linearCrossEntropyTangent(tx, x, w, targets)),
              element(), 100, "linear_cross_entropy_tangent");
}

TEST_P(KernelsTangentTest, Dot) {
  KernelCase kernel(element(), {{"a", "?x75xT"}, {"b", "?x75xT"}}, {"f64"},
                    "\"hone.dot\"(%a, %b)");
  for (int64_t rows : kRowCounts) {
    Matrix a = random(rows, 75), b = random(rows, 75);
    kernel.set("a", a);
    kernel.set("b", b);
    // Products of floats are exact in double, so f32 is as close as f64.
    expectClose(kernel.run(rows)[0], Matrix(1, 1, dot(a, b)), "f64", 75 * rows,
                "dot");
  }
}
