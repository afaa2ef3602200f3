//===- AttentionKernelTest.cpp - Attention in registers beside float64 ----===//
//
// Each element of attention on matrix units, and of its adjoint, is within the
// error of its roundings to bfloat16 and sums of float32; with HONE_PTX_RECORD
// a device is judged by the same bound. test/numerics has its norms, long
// sequences and large workgroups.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "base/Dtype.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace hone;

namespace {

constexpr int64_t kRows = 43;
constexpr double kScale = 0.3;
/// The relative error of rounding to bfloat16.
constexpr double kRounding = 1.0 / 256;
/// The error of a float32 sum relative to the sizes of its terms, for each of
/// them, in any order and on any matrix unit; and the relative error of exp.
constexpr double kSumLoss = 1.0 / (1 << 22), kExpLoss = 1.0 / (1 << 20);

struct Shape {
  int64_t heads, kvHeads, headDim, window; ///< window 0: none
  int64_t keyRows;                         ///< of a workgroup of keys
  bool byGroups = false;                   ///< four subgroups multiply together

  const char *target() const {
    return byGroups ? "nvptx64-nvidia-cuda:sm_90a"
                    : "nvptx64-nvidia-cuda:sm_80";
  }
};
constexpr Shape kShapes[] = {{2, 1, 64, 0, 32},       {2, 1, 128, 0, 64},
                             {2, 2, 64, 9, 16},       {4, 1, 128, 17, 32},
                             {2, 1, 64, 0, 64, true}, {4, 2, 128, 0, 64, true}};

/// Numbers, and the bound of each one's error.
struct Bounded {
  std::vector<double> values, most;
  explicit Bounded(int64_t count) : values(count), most(count) {}
  void add(int64_t i, double value, double may) {
    values[i] += value;
    most[i] += may;
  }
};

/// Arguments of kernels, one after another in an arena.
class Arena {
public:
  /// Declares `name`, which holds `values` if they are given.
  void add(const std::string &name, const std::string &element,
           std::vector<int64_t> shape, const std::vector<double> &values = {}) {
    int64_t count = 1;
    std::string type = "memref<";
    for (int64_t size : shape) {
      count *= size;
      type += std::to_string(size) + "x";
    }
    type += element + ">";
    const int64_t at = int64_t(bytes.size());
    text += arenaView(name, at, type);
    types[name] = type;
    offsets[name] = at;
    bytes.resize(at + (count * 4 + 63) / 64 * 64);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto number = float(values[i]);
      const auto row = int32_t(values[i]);
      if (element == "i32")
        memcpy(&bytes[at + 4 * i], &row, 4);
      else if (element == "f32")
        memcpy(&bytes[at + 4 * i], &number, 4);
      else
        memcpy(&bytes[at + 2 * i], reinterpret_cast<const char *>(&number) + 2,
               2);
    }
  }
  /// The types of `names`, as an op lists them.
  std::string typesOf(const std::vector<std::string> &names) const {
    std::string list;
    for (const std::string &name : names)
      list += (list.empty() ? "" : ", ") + types.at(name);
    return list;
  }
  float at(const std::string &name, int64_t i) const {
    float number = 0;
    if (types.at(name).find("xbf16") == std::string::npos)
      memcpy(&number, &bytes[offsets.at(name) + 4 * i], 4);
    else
      memcpy(reinterpret_cast<char *>(&number) + 2,
             &bytes[offsets.at(name) + 2 * i], 2);
    return number;
  }

  std::string text;
  std::vector<char> bytes;
  std::map<std::string, int64_t> offsets;

private:
  std::map<std::string, std::string> types;
};

/// Attention of one shape, by loops of float64 over the kernels' operands.
class Reference {
public:
  explicit Reference(const Shape &shape);

  /// Whether query `i` sees key `j`.
  bool sees(int64_t i, int64_t j) const {
    return j <= i && j >= starts[i] &&
           (shape.window == 0 || j > i - shape.window);
  }

  const Shape shape;
  const int64_t wide, narrow; ///< numbers of a row
  std::vector<double> q, k, v, dy, starts, ends;
  Bounded y, normalizer;
  Bounded dq, dk, dv;

private:
  void forward(int64_t head, int64_t i);
  void backward(int64_t head, int64_t i);

  /// The sum of products of two rows of a head, and of their sizes.
  std::pair<double, double> dot(const std::vector<double> &a, int64_t aAt,
                                const std::vector<double> &b,
                                int64_t bAt) const {
    double sum = 0, sizes = 0;
    for (int64_t d = 0; d < shape.headDim; ++d) {
      sum += a[aAt + d] * b[bAt + d];
      sizes += std::abs(a[aAt + d] * b[bAt + d]);
    }
    return {sum, sizes};
  }
  int64_t queryAt(int64_t head, int64_t i) const {
    return i * wide + head * shape.headDim;
  }
  int64_t keyAt(int64_t head, int64_t j) const {
    return j * narrow + head / (shape.heads / shape.kvHeads) * shape.headDim;
  }
};

} // namespace

static double toBfloat16(double x) {
  return rt::bfloat16ToFloat(rt::floatToBfloat16(float(x)));
}

Reference::Reference(const Shape &shape)
    : shape(shape), wide(shape.heads * shape.headDim),
      narrow(shape.kvHeads * shape.headDim), q(kRows * wide), k(kRows * narrow),
      v(kRows * narrow), dy(kRows * wide), starts(kRows), ends(kRows),
      y(kRows * wide), normalizer(kRows * 2 * shape.heads), dq(kRows * wide),
      dk(kRows * narrow), dv(kRows * narrow) {
  std::mt19937 random(17);
  for (auto *each : {&q, &k, &v, &dy})
    for (double &x : *each)
      x = toBfloat16(random() / 2147483648.0 - 1);
  // Sequences end within blocks of 16 rows, and one has a single row.
  for (int64_t i = 0; i < kRows; ++i)
    starts[i] = i < 5 ? 0 : i < 6 ? 5 : i < 30 ? 6 : 30;
  for (int64_t j = 0; j < kRows; ++j)
    for (int64_t i = j; i < kRows; ++i)
      if (sees(i, j))
        ends[j] = double(i + 1);
  for (int64_t head = 0; head < shape.heads; ++head)
    for (int64_t i = 0; i < kRows; ++i) {
      forward(head, i);
      backward(head, i);
    }
  // Each result is rounded once.
  for (Bounded *each : {&y, &dq, &dk, &dv})
    for (size_t n = 0; n < each->values.size(); ++n)
      each->most[n] += kRounding * (std::abs(each->values[n]) + each->most[n]);
}

void Reference::forward(int64_t head, int64_t i) {
  const int64_t at = queryAt(head, i), place = i * 2 * shape.heads + 2 * head;
  double most = -HUGE_VAL, apart = 0, total = 0;
  for (int64_t j = 0; j <= i; ++j)
    if (sees(i, j)) {
      auto [sum, sizes] = dot(q, at, k, keyAt(head, j));
      most = std::max(most, kScale * sum);
      apart =
          std::max(apart, kScale * sizes * double(shape.headDim) * kSumLoss);
    }
  for (int64_t j = 0; j <= i; ++j)
    if (sees(i, j))
      total += std::exp(kScale * dot(q, at, k, keyAt(head, j)).first - most);
  // The relative error of a weight: of its own score and of the largest.
  const double loss = 2 * apart + kExpLoss;
  normalizer.add(place, most, apart);
  normalizer.add(place + 1, 1 / total, 2 * loss / total);
  for (int64_t j = 0; j <= i; ++j)
    for (int64_t d = 0; sees(i, j) && d < shape.headDim; ++d) {
      const double weight =
          std::exp(kScale * dot(q, at, k, keyAt(head, j)).first - most) / total;
      const double term = weight * v[keyAt(head, j) + d];
      y.add(at + d, term,
            std::abs(term) * (kRounding + 2 * loss + double(kRows) * kSumLoss));
    }
}

/// Of a query, of whose forward it is given y and the normalizer as they are.
void Reference::backward(int64_t head, int64_t i) {
  const int64_t at = queryAt(head, i), place = i * 2 * shape.heads + 2 * head;
  double term = 0, termSizes = 0;
  for (int64_t d = 0; d < shape.headDim; ++d) {
    const double product = dy[at + d] * toBfloat16(y.values[at + d]);
    term += product;
    termSizes += std::abs(product);
  }
  const double perTerm = double(shape.headDim) * kSumLoss;
  for (int64_t j = 0; j <= i; ++j) {
    if (!sees(i, j))
      continue;
    const int64_t key = keyAt(head, j);
    auto [score, scoreSizes] = dot(q, at, k, key);
    auto [slope, slopeSizes] = dot(dy, at, v, key);
    const double p = std::exp(kScale * score - normalizer.values[place]) *
                     normalizer.values[place + 1];
    const double loss = kRounding + kScale * scoreSizes * perTerm + kExpLoss +
                        double(kRows) * kSumLoss;
    const double ds = kScale * p * (slope - term);
    const double dsMost =
        std::abs(ds) * loss + kScale * p * (slopeSizes + termSizes) * perTerm;
    for (int64_t d = 0; d < shape.headDim; ++d) {
      dq.add(at + d, ds * k[key + d], dsMost * std::abs(k[key + d]));
      dk.add(key + d, ds * q[at + d], dsMost * std::abs(q[at + d]));
      dv.add(key + d, p * dy[at + d], p * loss * std::abs(dy[at + d]));
    }
  }
}

/// Runs `body` in all orders of threads; its results must be those of
/// `expected`, by name.
static void check(Arena &arena, const std::string &body, const Shape &shape,
                  const std::map<std::string, const Bounded *> &expected) {
  const std::string ir = entryFunction(arena.text + body);
  const std::vector<char> given = arena.bytes;
  std::vector<char> first;
  for (auto order :
       {ptx::Order::Ascending, ptx::Order::Descending, ptx::Order::Random}) {
    ptx::Options options;
    options.order = order;
    options.lanesOneByOne = order == ptx::Order::Random;
    options.isRecorded = first.empty();
    options.countsBankConflicts = first.empty();
    DeviceProgram program(ir, int64_t(given.size()), shape.target(), options);
    for (const auto &[name, bounded] : expected) {
      std::vector<ptx::Near> near;
      for (size_t i = 0; i < bounded->values.size(); ++i)
        near.push_back({bounded->values[i], bounded->most[i]});
      program.expect(arena.offsets.at(name), name == "normalizer" ? 4 : 2,
                     std::move(near));
    }
    arena.bytes = given;
    ASSERT_EQ(program.run(arena.bytes.data(), kRows), "");
    EXPECT_TRUE(first.empty() || arena.bytes == first) << "another order";
    EXPECT_EQ(program.bankConflicts(), 0u);
    EXPECT_GT(executionsOf(program.machine(),
                           shape.byGroups ? "wgmma.mma_async" : "mma.sync"),
              0u);
    first = arena.bytes;
  }
  for (const auto &[name, bounded] : expected)
    for (size_t i = 0; i < bounded->values.size(); ++i)
      ASSERT_LE(std::abs(arena.at(name, int64_t(i)) - bounded->values[i]),
                bounded->most[i])
          << name << " " << i << ": expected " << bounded->values[i];
}

/// Attributes of an op of attention.
static std::string attributesOf(const Shape &shape, bool ofQueries = true) {
  std::string own;
  if (!ofQueries)
    own = ", rows = " + std::to_string(shape.keyRows);
  else if (shape.window)
    own = ", window = " + std::to_string(shape.window);
  if (shape.byGroups)
    own += ", by_groups";
  return llvm::formatv(" {{heads = {0}, kv_heads = {1}, scale = {2} : f64{3}}",
                       shape.heads, shape.kvHeads, kScale, own);
}

/// `op` in a workgroup for each part of each of `heads`, and `rows` rows.
static std::string workgroups(const Shape &shape, int64_t heads, int64_t rows,
                              const std::string &name, const std::string &op) {
  const int64_t parts = shape.byGroups ? 1 : shape.headDim / 64,
                blocks = (kRows + rows - 1) / rows;
  return llvm::formatv(R"(
    %{4} = arith.constant {3} : index
    tile.parallel (%i) in (%{4}) {{
      %parts = arith.constant {0} : index
      %blocks = arith.constant {1} : index
      %size = arith.constant {2} : index
      %block = arith.remui %i, %blocks : index
      %other = arith.divui %i, %blocks : index
      %part = arith.remui %other, %parts : index
      %head = arith.divui %other, %parts : index
      %first = arith.muli %block, %size : index
      %left = arith.subi %rows, %first : index
      %count = arith.minui %left, %size : index
      {5}
    }
)",
                       parts, blocks, rows, heads * parts * blocks, name, op);
}

static Arena arenaOf(const Reference &want) {
  Arena arena;
  arena.add("q", "bf16", {kRows, want.wide}, want.q);
  arena.add("k", "bf16", {kRows, want.narrow}, want.k);
  arena.add("v", "bf16", {kRows, want.narrow}, want.v);
  arena.add("starts", "i32", {kRows}, want.starts);
  return arena;
}

TEST(GpuAttention, InRegistersIsNearFloat64) {
  for (const Shape &shape : kShapes) {
    SCOPED_TRACE(attributesOf(shape));
    const Reference want(shape);
    Arena arena = arenaOf(want);
    arena.add("y", "bf16", {kRows, want.wide});
    arena.add("normalizer", "f32", {kRows, 2 * shape.heads});
    check(arena,
          workgroups(
              shape, shape.heads, 32, "forward",
              "simt.attention %head part %part [%first, %count] %q, %k, %v, "
              "%starts to %y normalizer %normalizer : " +
                  arena.typesOf({"normalizer"}) + attributesOf(shape) + " : " +
                  arena.typesOf({"q", "k", "v", "starts", "y"})),
          shape, {{"y", &want.y}, {"normalizer", &want.normalizer}});
  }
}

TEST(GpuAttention, AdjointInRegistersIsNearFloat64) {
  for (const Shape &shape : kShapes) {
    SCOPED_TRACE(attributesOf(shape));
    const Reference want(shape);
    Arena arena = arenaOf(want);
    std::vector<double> y;
    for (double value : want.y.values)
      y.push_back(toBfloat16(value));
    arena.add("y", "bf16", {kRows, want.wide}, y);
    arena.add("dy", "bf16", {kRows, want.wide}, want.dy);
    arena.add("normalizer", "f32", {kRows, 2 * shape.heads},
              want.normalizer.values);
    arena.add("ends", "i32", {kRows}, want.ends);
    for (const char *name : {"terms", "maxima", "reciprocals"})
      arena.add(name, "f32", {shape.heads, kRows});
    arena.add("dq", "bf16", {kRows, want.wide});
    arena.add("dk", "bf16", {kRows, want.narrow});
    arena.add("dv", "bf16", {kRows, want.narrow});
    const std::string index = "index, index, index, index, ";
    check(
        arena,
        workgroups(
            shape, shape.heads, 32, "of_dq",
            "simt.attention_query_adjoint %head part %part [%first, %count] "
            "%q, %k, %v, %y, %dy, %normalizer, %starts to %dq, %terms, "
            "%maxima, %reciprocals" +
                attributesOf(shape) + " : " + index +
                arena.typesOf({"q", "k", "v", "y", "dy", "normalizer", "starts",
                               "dq", "terms", "maxima", "reciprocals"})) +
            workgroups(
                shape, shape.kvHeads, shape.keyRows, "of_keys",
                "simt.attention_key_adjoint %head part %part [%first, %count] "
                "%q, %k, %v, %dy, %terms, %maxima, %reciprocals, %ends to %dk, "
                "%dv" +
                    attributesOf(shape, /*ofQueries=*/false) + " : " + index +
                    arena.typesOf({"q", "k", "v", "dy", "terms", "maxima",
                                   "reciprocals", "ends", "dk", "dv"})),
        shape, {{"dq", &want.dq}, {"dk", &want.dk}, {"dv", &want.dv}});
  }
}
