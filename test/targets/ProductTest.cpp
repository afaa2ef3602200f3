//===- ProductTest.cpp - tile.product on every target ---------------------===//
//
// A product is one chain of fused multiply-adds for each element and block, so
// all targets have the reference's bits, with any panels, pieces and hints.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace hone;

namespace {

constexpr int64_t kRows = 40, kColumns = 70, kDepth = 320;

struct Case {
  const char *name;
  const char *flags = "";
  const char *stored = "f32"; ///< element of w; "i4", "i8": packed
  bool transposeA = false, transposeW = false;
  bool into = false, prologue = false, epilogue = false;
  int64_t terms = 128;
  const char *a = "f32", *z = "f32"; ///< elements of a and of complete sums
  int64_t depth = 297; ///< terms; with kDepth and transposeW, whole rows of w
};

/// Sizes of buffers in bytes, in their order.
struct Layout {
  int64_t a, w, scales, biases, c, z;
  int64_t end;
};

} // namespace

static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t bitsOf(llvm::StringRef stored) {
  return stored == "f32" ? 32 : stored == "bf16" ? 16 : stored == "i8" ? 8 : 4;
}

static Layout layoutOf(const Case &c) {
  Layout at;
  at.a = 0;
  at.w = roundUp(kRows * kDepth * 4);
  at.scales = at.w + roundUp(kDepth * kDepth * 4);
  at.biases = at.scales + roundUp(kDepth * 10 * 4);
  at.c = at.biases + roundUp(kDepth * 10 * 4);
  at.z = at.c + roundUp(kRows * kColumns * 4);
  at.end = at.z + roundUp(kRows * kColumns * 4);
  return at;
}

/// Columns in two blocks, the second one narrower, for `%rows` rows.
static std::string productText(const Case &c) {
  Layout at = layoutOf(c);
  bool isPacked = c.stored[0] == 'i';
  // Groups of 32 numbers: rows of kDepth, or of 96, which holds all columns.
  int64_t wRows = c.transposeW ? kColumns : kDepth;
  int64_t wColumns = c.transposeW ? kDepth : 96;
  auto matrix = [](int64_t rows, int64_t columns, llvm::StringRef type) {
    return llvm::formatv("memref<{0}x{1}x{2}>", rows, columns, type).str();
  };
  std::string a =
      c.transposeA ? matrix(kDepth, kRows, c.a) : matrix(kRows, kDepth, c.a);
  std::string w = isPacked
                      ? matrix(wRows, wColumns * bitsOf(c.stored) / 8, "i8")
                      : matrix(wRows, wColumns, c.stored);
  std::string groups = matrix(wRows, wColumns / 32, "f32");
  std::string result = matrix(kRows, kColumns, "f32");
  std::string complete = matrix(kRows, kColumns, c.z);
  std::string text;
  auto view = [&](const char *name, int64_t offset, const std::string &type) {
    text += arenaView(name, offset, type);
  };
  view("a", at.a, a);
  view("w", at.w, w);
  view("scales", at.scales, groups);
  view("biases", at.biases, groups);
  view("c", at.c, result);
  view("z", at.z, complete);
  text += llvm::formatv("%k = arith.constant {0} : index\n"
                        "%most = arith.constant {1} : index\n"
                        "%c64 = arith.constant 64 : index\n"
                        "%c2 = arith.constant 2 : index\n"
                        "tile.parallel (%p) in (%c2) {{\n"
                        "%j = arith.muli %p, %c64 : index\n"
                        "%left = arith.subi %most, %j : index\n"
                        "%n = arith.minui %left, %c64 : index\n",
                        c.depth, kColumns)
              .str();
  text += "tile.product %c[%c0, %j], %a[%c0, %c0], %w[";
  text += c.transposeW ? "%j, %c0]" : "%c0, %j]";
  text +=
      llvm::formatv(" size(%rows, %n, %k) in [{0}, 64] {1}", c.terms, c.flags)
          .str();
  if (c.into)
    text += " into %z[%c0, %j]";
  if (isPacked)
    text += llvm::formatv(" scales %scales biases %biases bits {0}",
                          bitsOf(c.stored))
                .str();
  text += " : " + result + ", " + a + ", " + w;
  if (c.into)
    text += " into " + complete;
  if (isPacked)
    text += ", " + groups + ", " + groups;
  text += "\n";
  if (c.prologue)
    text += "prologue (%e, %r, %q) {\n"
            "%sum = arith.addi %r, %q : index\n"
            "%word = arith.index_cast %sum : index to i32\n"
            "%number = arith.sitofp %word : i32 to f32\n"
            "%moved = arith.addf %e, %number : f32\n"
            "tile.yield %moved : f32\n}\n";
  if (c.epilogue)
    text += "epilogue (%sum, %i, %q) {\n"
            "%at = arith.addi %j, %q : index\n"
            "%x = memref.load %z[%i, %at] : " +
            complete +
            (c.z == std::string("bf16") ? "\n%y = arith.extf %x : bf16 to f32\n"
                                        : "\n%zero = arith.constant 0.0 : f32\n"
                                          "%y = arith.addf %x, %zero : f32\n") +
            "%r = arith.mulf %sum, %y : f32\n"
            "tile.yield %r : f32\n}\n";
  return entryFunction(text + "}");
}

/// Numbers between -1 and 1 in all buffers, bytes in a packed one.
static std::vector<char> arenaOf(const Case &c, char *&aligned) {
  Layout at = layoutOf(c);
  std::vector<char> storage(at.end + 64);
  aligned = align64(storage.data());
  std::mt19937 random(11);
  for (int64_t i = 0; i + 4 <= at.end; i += 4) {
    float value = random() / 2147483648.0f - 1;
    memcpy(aligned + i, &value, 4);
  }
  for (int64_t i = at.w; i < at.scales; ++i)
    if (c.stored[0] == 'i')
      aligned[i] = static_cast<char>(random());
  auto fillBfloat16 = [&](llvm::StringRef type, int64_t from, int64_t to) {
    for (int64_t i = from; type == "bf16" && i + 2 <= to; i += 2) {
      float value = random() / 2147483648.0f - 1;
      memcpy(aligned + i, reinterpret_cast<char *>(&value) + 2, 2);
    }
  };
  fillBfloat16(c.stored, at.w, at.scales);
  fillBfloat16(c.a, at.a, at.w);
  fillBfloat16(c.z, at.z, at.end);
  return storage;
}

/// The bytes of the result after `execute`.
static std::string resultOf(const Case &c,
                            llvm::function_ref<void(char *)> execute) {
  char *arena;
  std::vector<char> storage = arenaOf(c, arena);
  execute(arena);
  Layout at = layoutOf(c);
  return c.into ? std::string(arena + at.z, kRows * kColumns * bitsOf(c.z) / 8)
                : std::string(arena + at.c, kRows * kColumns * 4);
}

/// The same after a run with `rows` rows.
static std::string run(TileProgram &program, const Case &c, int64_t rows) {
  return resultOf(c, [&](char *arena) { program.run(arena, rows); });
}

static std::string run(DeviceProgram &program, const Case &c, int64_t rows) {
  return resultOf(
      c, [&](char *arena) { EXPECT_EQ(program.run(arena, rows), ""); });
}

TEST(Product, HasTheReferencesBits) {
  const Case cases[] = {
      {"plain"},
      {"accumulated", "accumulate"},
      {"one block", "accumulate read_ahead", "f32", false, false, false, false,
       false, 512},
      {"forward", "transpose_w read_ahead", "f32", false, true},
      {"gradient", "accumulate transpose_a few_rows", "f32", true},
      {"few rows", "few_rows"},
      {"pieces", "read_ahead", "f32", false, false, false, false, false, 300},
      {"into", "accumulate transpose_w", "f32", false, true, true},
      {"into, short", "accumulate", "f32", false, false, true, false, false,
       512},
      {"epilogue", "accumulate transpose_w read_ahead", "f32", false, true,
       false, false, true},
      {"into with epilogue", "accumulate", "f32", false, false, true, false,
       true},
      {"prologue", "few_rows", "f32", false, false, false, true},
      {"prologue, transposed", "transpose_w", "bf16", false, true, false, true},
      {"bf16", "read_ahead", "bf16"},
      {"bf16, transposed", "transpose_w read_ahead", "bf16", false, true},
      {"int4", "read_ahead", "i4"},
      {"int4, transposed", "transpose_w read_ahead", "i4", false, true},
      {"int8", "accumulate", "i8"},
      {"int8, transposed", "transpose_w", "i8", false, true},
      {"bf16 rows", "transpose_w read_ahead", "bf16", false, true, false, false,
       false, 128, "bf16"},
      {"bf16 rows, pieces", "read_ahead", "i4", false, false, false, false,
       false, 300, "bf16"},
      {"bf16 gradient", "accumulate transpose_a few_rows", "f32", true, false,
       false, false, false, 128, "bf16"},
      {"gradient with bf16, pieces", "accumulate transpose_a few_rows", "bf16",
       true, false, false, false, false, 300},
      {"into bf16", "accumulate transpose_w read_ahead", "bf16", false, true,
       true, false, false, 128, "bf16", "bf16"},
      {"into bf16, one block", "padded", "bf16", false, false, true, false,
       false, 512, "bf16", "bf16"},
      {"into bf16 with epilogue", "accumulate", "f32", false, false, true,
       false, true, 128, "f32", "bf16"},
      {"into bf16 with prologue", "few_rows", "bf16", false, false, true, true,
       false, 300, "bf16", "bf16"},
      {"whole rows", "transpose_w read_ahead", "f32", false, true, false, false,
       false, 512, "f32", "f32", kDepth},
      {"whole rows of bf16", "accumulate transpose_w", "bf16", false, true,
       false, false, true, 128, "f32", "f32", kDepth},
      {"whole rows of bf16 into bf16", "accumulate transpose_w read_ahead",
       "bf16", false, true, true, false, true, 96, "bf16", "bf16", kDepth},
      {"whole rows of int4", "accumulate transpose_w read_ahead", "i4", false,
       true, true, false, false, 96, "f32", "f32", kDepth},
      {"whole rows of int4, one block", "transpose_w read_ahead", "i4", false,
       true, false, false, false, 512, "bf16", "f32", kDepth},
      {"whole rows of int8", "transpose_w", "i8", false, true, false, false,
       true, 128, "f32", "f32", kDepth},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.name);
    TileProgram reference(productText(c), "reference");
    for (const char *target : {"native", "x86-64-v3"}) {
      if (!canRun(target))
        continue;
      TileProgram program(productText(c), target);
      for (int64_t rows : {0, 1, 3, 7, 33, 40})
        EXPECT_EQ(run(program, c, rows), run(reference, c, rows))
            << target << ", " << rows << " rows";
    }
    for (const char *target : {"nvptx64-nvidia-cuda:sm_80", "metal"}) {
      DeviceProgram device(productText(c), layoutOf(c).end, target);
      for (int64_t rows : {0, 7, 40})
        EXPECT_EQ(run(device, c, rows), run(reference, c, rows))
            << target << ", " << rows << " rows";
    }
  }
}
