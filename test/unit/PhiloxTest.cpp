//===- PhiloxTest.cpp - Known answers, ranges, moments, bijections --------===//
//
// The block function is checked against Random123's kat_vectors; the values
// below "bits" are frozen: a change here breaks the resuming of old runs.
//
//===----------------------------------------------------------------------===//

#include "base/Philox.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace hone::rt;
using Block = std::array<uint32_t, 4>;

TEST(PhiloxTest, MatchesRandom123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                       {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, HashesNamesWithFnv1a) {
  EXPECT_EQ(hashName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hashName("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hashName("foobar"), 0x85944171f73967e8u);
}

TEST(PhiloxTest, StreamsDifferInEveryPartOfTheKey) {
  using P = RandomPurpose;
  std::set<uint64_t> seen;
  for (uint64_t seed : {0, 1})
    for (uint64_t step : {0, 1})
      for (P purpose : {P::Initialize, P::Shuffle})
        for (const char *name : {"a", "b"})
          for (uint64_t index : {0, 1})
            seen.insert(RandomStream(seed, step, purpose, name).bits(index));
  EXPECT_EQ(seen.size(), 32u);
}

TEST(PhiloxTest, UniformStaysInRangeAndHasItsMoments) {
  RandomStream stream(7, 0, RandomPurpose::Test, "u");
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    double u = stream.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    float f = stream.uniformF32(i);
    ASSERT_LT(f, 1.0f);
    ASSERT_LE(f, u);
    ASSERT_LT(u - f, 0x1p-24);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.003);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.003);
}

TEST(PhiloxTest, NormalHasItsMoments) {
  RandomStream stream(7, 0, RandomPurpose::Test, "n");
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    double x = stream.normal(i);
    m1 += x / n, m2 += x * x / n, m3 += x * x * x / n, m4 += x * x * x * x / n;
  }
  EXPECT_NEAR(m1, 0, 0.01);
  EXPECT_NEAR(m2, 1, 0.02);
  EXPECT_NEAR(m3, 0, 0.05);
  EXPECT_NEAR(m4, 3, 0.1);
}

TEST(PhiloxTest, InverseNormalInvertsTheDistribution) {
  auto distribution = [](double x) { return 0.5 * std::erfc(-x / M_SQRT2); };
  for (double p : {1e-16, 1e-12, 1e-6, 1e-3, 0.02, 0.0749, 0.0751, 0.3, 0.5})
    EXPECT_NEAR(distribution(inverseNormal(p)) / p, 1, 2e-14) << p;
  EXPECT_EQ(inverseNormal(0.5), 0);
  EXPECT_EQ(inverseNormal(0.25), -inverseNormal(0.75));
  EXPECT_EQ(inverseNormal(0x1p-20), -inverseNormal(1 - 0x1p-20));
  EXPECT_NEAR(inverseNormal(0.975), 1.959963984540054, 1e-15);
}

TEST(PhiloxTest, BitsAreFrozen) {
  RandomStream stream(42, 3, RandomPurpose::Initialize,
                      "model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(stream.id(), 0xa5a0c723ca037bc3u);
  EXPECT_EQ(stream.bits(0), 0xe059ccb4d7d9cb19u);
  EXPECT_EQ(stream.bits(1ull << 40), 0xbe5b80f6a1994917u);
  EXPECT_EQ(stream.uniform(0), 0x1.c0b39969afb39p-1);
  EXPECT_EQ(stream.normal(0), 0x1.283335ae7f64bp+0);
  EXPECT_EQ(permuteIndex(0, 1000, 42), 572u);
  RandomStream mask(42, 3, RandomPurpose::Dropout,
                    "model.layers.0.self_attn.q_proj", /*probe=*/2);
  EXPECT_EQ(mask.word(0, 0, 896), 0xef4832a2u);
  EXPECT_EQ(mask.word(5, 100, 896), 0xe1485c0du);
  EXPECT_EQ(mask.word(1 << 20, 895, 896), 0x4b04fcf4u);
}

/// Whether a mask of rate 0.25 drops an element.
static bool drops(const RandomStream &stream, uint64_t row, uint64_t column) {
  return stream.word(row, column, 300) < 1u << 30;
}

TEST(PhiloxTest, WordsOfAMatrixDropAtTheirRateInEveryRowAndColumn) {
  constexpr int rows = 400, columns = 300;
  RandomStream stream(7, 0, RandomPurpose::Dropout, "q_proj");
  int all = 0;
  std::vector<int> inColumn(columns);
  for (int i = 0; i < rows; ++i) {
    int inRow = 0;
    for (int j = 0; j < columns; ++j)
      if (drops(stream, i, j))
        ++inRow, ++inColumn[j];
    EXPECT_NEAR(inRow / double(columns), 0.25, 5 * 0.025) << "row " << i;
    all += inRow;
  }
  for (int j = 0; j < columns; ++j)
    EXPECT_NEAR(inColumn[j] / double(rows), 0.25, 5 * 0.0217) << "column " << j;
  EXPECT_NEAR(all / double(rows * columns), 0.25, 4 * 0.00125);
}

// Of independent masks with rate p, p^2 of the elements are dropped by both.
TEST(PhiloxTest, MasksAreIndependent) {
  constexpr int rows = 200, columns = 300;
  using P = RandomPurpose;
  RandomStream one(7, 3, P::Dropout, "layers.0.q_proj", 1);
  auto both = [&](const RandomStream &other, int down, int right) {
    int count = 0;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j + right < columns; ++j)
        count += drops(one, i, j) && drops(other, i + down, j + right);
    return count / double(rows * (columns - right));
  };
  const struct {
    RandomStream other;
    int down = 0, right = 0;
  } cases[] = {{{8, 3, P::Dropout, "layers.0.q_proj", 1}},
               {{7, 4, P::Dropout, "layers.0.q_proj", 1}},
               {{7, 3, P::Dropout, "layers.0.q_proj", 2}},
               {{7, 3, P::Dropout, "layers.0.k_proj", 1}},
               {{7, 3, P::Dropout, "layers.1.q_proj", 1}},
               {{7, 3, P::Noise, "layers.0.q_proj", 1}},
               {one, 1, 0},
               {one, 0, 1},
               {one, 0, 16},
               {one, 0, 64}};
  for (const auto &c : cases)
    EXPECT_NEAR(both(c.other, c.down, c.right), 0.0625, 4 * 0.001)
        << &c - cases;
  EXPECT_NEAR(both(one, 0, 0), 0.25, 4 * 0.0018);
}

TEST(PhiloxTest, PermuteIndexIsABijection) {
  for (uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097})
    for (uint64_t key : {0ull, 1ull, 0x123456789abcdefull}) {
      std::vector<bool> seen(count);
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t to = permuteIndex(i, count, key);
        ASSERT_LT(to, count);
        ASSERT_FALSE(seen[to]) << count << " " << i;
        seen[to] = true;
      }
    }
}

TEST(PhiloxTest, PermuteIndexSpreadsEachIndexEvenly) {
  const uint64_t count = 10;
  const int keys = 20000;
  std::vector<int> hits(count * count);
  for (int key = 0; key < keys; ++key)
    for (uint64_t i = 0; i < count; ++i)
      ++hits[i * count + permuteIndex(i, count, key)];
  for (int h : hits) // 2000 expected, standard deviation 42
    EXPECT_NEAR(h, 2000, 5 * 43);
}

TEST(PhiloxTest, PermuteIndexWorksOnTheLargestCounts) {
  uint64_t count = 1ull << 63;
  for (uint64_t i : {uint64_t(0), count / 2, count - 1})
    EXPECT_LT(permuteIndex(i, count, 5), count);
  EXPECT_NE(permuteIndex(0, count, 5), permuteIndex(0, count, 6));
}
