//===- DotsTest.cpp - Few rows times rows of a matrix where they are ------===//
//
// All numbers are small and whole, or halves of such, so every sum is exact in
// any order: results must be those of integers, to the bit.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace hone;

namespace {

constexpr int64_t kRows = 4, kColumns = 128;

struct Case {
  const char *stored; ///< "f32", "bf16"; "i4", "i8": packed
  int64_t depth, group;
  const char *a = "f32";
  bool accumulates = false;

  bool isPacked() const { return stored[0] == 'i'; }
  int64_t bits() const {
    llvm::StringRef name(stored);
    return name == "f32" ? 32 : name == "bf16" ? 16 : name == "i8" ? 8 : 4;
  }
  int64_t groups() const { return isPacked() ? depth / group : 1; }
};

/// Offsets of buffers in bytes.
struct Layout {
  explicit Layout(const Case &c)
      : w(kRows * c.depth * 4), scales(w + kColumns * c.depth * 4),
        biases(scales + kColumns * c.groups() * 4),
        result(biases + kColumns * c.groups() * 4),
        end(result + kRows * kColumns * 4) {}
  int64_t w, scales, biases, result, end;
};

} // namespace

static std::string productText(const Case &c) {
  Layout at(c);
  std::string a = llvm::formatv("memref<{0}x{1}x{2}>", kRows, c.depth, c.a);
  std::string w = llvm::formatv("memref<{0}x{1}x{2}>", kColumns,
                                c.isPacked() ? c.depth * c.bits() / 8 : c.depth,
                                c.isPacked() ? "i8" : c.stored);
  std::string groups =
      llvm::formatv("memref<{0}x{1}xf32>", kColumns, c.groups());
  std::string result = llvm::formatv("memref<{0}x{1}xf32>", kRows, kColumns);
  std::string text;
  auto view = [&](const char *name, int64_t offset, const std::string &type) {
    text += arenaView(name, offset, type);
  };
  view("a", 0, a);
  view("w", at.w, w);
  view("scales", at.scales, groups);
  view("biases", at.biases, groups);
  view("c", at.result, result);
  text += llvm::formatv(
              "%k = arith.constant {0} : index\n"
              "%c64 = arith.constant 64 : index\n"
              "%c2 = arith.constant 2 : index\n"
              "tile.parallel (%p) in (%c2) {{\n"
              "%j = arith.muli %p, %c64 : index\n"
              "tile.product %c[%c0, %j], %a[%c0, %c0], %w[%j, %c0] "
              "size(%rows, %c64, %k) in [128, 64] {1}transpose_w "
              "any_order {2}: {3}, {4}, {5}{6}\n}",
              c.depth, c.accumulates ? "accumulate " : "",
              c.isPacked()
                  ? llvm::formatv("scales %scales biases %biases bits {0} ",
                                  c.bits())
                        .str()
                  : "",
              result, a, w, c.isPacked() ? ", " + groups + ", " + groups : "")
              .str();
  return entryFunction(text);
}

namespace {

/// Numbers in an arena, and their expected results.
class Numbers {
public:
  explicit Numbers(const Case &c) : c(c), at(c), storage(at.end + 64) {
    arena = align64(storage.data());
    fill(0, kRows * c.depth, c.a, a);
    if (!c.isPacked())
      fill(at.w, kColumns * c.depth, c.stored, w);
    else
      fillPacked();
    fill(at.result, kRows * kColumns, "f32", before);
  }

  double want(int64_t i, int64_t j, int64_t rows) const {
    double sum = i >= rows || c.accumulates ? before[i * kColumns + j] : 0;
    for (int64_t t = 0; i < rows && t < c.depth; ++t)
      sum += a[i * c.depth + t] * w[j * c.depth + t];
    return sum;
  }
  float got(int64_t i, int64_t j) const {
    float value;
    memcpy(&value, arena + at.result + (i * kColumns + j) * 4, 4);
    return value;
  }

  char *arena;

private:
  double next(int64_t most) { return double(random() % (2 * most + 1)) - most; }
  void put(int64_t place, llvm::StringRef type, double number) {
    float value = float(number);
    if (type == "bf16")
      memcpy(arena + place, reinterpret_cast<char *>(&value) + 2, 2);
    else
      memcpy(arena + place, &value, 4);
  }
  void fill(int64_t from, int64_t count, llvm::StringRef type,
            std::vector<double> &numbers) {
    for (int64_t i = 0; i < count; ++i) {
      numbers.push_back(next(4));
      put(from + i * (type == "bf16" ? 2 : 4), type, numbers.back());
    }
  }
  void fillPacked() {
    for (int64_t i = 0; i < kColumns * c.groups(); ++i) {
      scales.push_back(double(1 << random() % 3) / 2);
      biases.push_back(next(8));
      put(at.scales + i * 4, "f32", scales.back());
      put(at.biases + i * 4, "f32", biases.back());
    }
    for (int64_t i = 0; i < kColumns * c.depth; ++i) {
      int64_t q = random() % (int64_t(1) << c.bits());
      char &byte = arena[at.w + i * c.bits() / 8];
      if (c.bits() == 8)
        byte = static_cast<char>(q);
      else
        byte = static_cast<char>(i % 2 ? byte | q << 4 : q);
      w.push_back(q * scales[i / c.group] + biases[i / c.group]);
    }
  }

  const Case &c;
  Layout at;
  std::mt19937 random{7};
  std::vector<char> storage;
  std::vector<double> a, w, scales, biases, before;
};

} // namespace

TEST(Dots, OfWholeNumbersAreExact) {
  const Case cases[] = {
      {"f32", 4, 4},
      {"f32", 100, 100, "f32", true},
      {"f32", 64, 64, "bf16"},
      {"bf16", 8, 8},
      {"bf16", 72, 72, "f32", true},
      {"bf16", 896, 896, "bf16"},
      // groups of less than a vector of words, of as much, of more, of neither
      {"i8", 32, 32},
      {"i8", 320, 64, "bf16", true},
      {"i8", 192, 96},
      {"i8", 512, 256},
      {"i4", 32, 32},
      {"i4", 96, 32, "bf16"},
      {"i4", 320, 64, "f32", true},
      {"i4", 192, 96, "f32", true},
      {"i4", 384, 128},
      {"i4", 896, 64},
      {"i4", 512, 256},
  };
  for (const Case &c : cases)
    for (const char *target : {"native", "x86-64-v3", "x86-64"}) {
      if (!canRun(target))
        continue;
      SCOPED_TRACE(llvm::formatv("{0}, {1} in groups of {2}, of {3}, {4}",
                                 c.stored, c.depth, c.group, c.a, target)
                       .str());
      TileProgram program(productText(c), target);
      for (int64_t rows : {0, 1, 3, 4}) {
        Numbers numbers(c);
        program.run(numbers.arena, rows);
        for (int64_t i = 0; i < kRows; ++i)
          for (int64_t j = 0; j < kColumns; ++j)
            ASSERT_EQ(numbers.got(i, j), numbers.want(i, j, rows))
                << "of " << rows << " rows at " << i << ", " << j;
      }
    }
}
