//===- ScalarOpsTest.cpp - Each operation as Metal's text says it ---------===//
//
// On numbers of every kind, against the reference target to the bit. NaN has
// no promised bits.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace hone;

namespace {

/// Triples of numbers, and operations, that a text has room for.
constexpr int64_t kTriples = 400, kMostOps = 100;

/// An op of a, b and c, which are of type T; i, k and s are integers of type I
/// as wide, s small enough to shift by; n and m are indices, at least 0 and 1.
/// Its result is of type `type`: T, I, "index" or "i1".
struct Op {
  std::string text, type;
};

} // namespace

static std::vector<Op> opsOf(bool isDouble) {
  std::vector<Op> ops = {
      {"arith.addf %a, %b : T", "T"},
      {"arith.subf %a, %b : T", "T"},
      {"arith.mulf %a, %b : T", "T"},
      {"arith.divf %a, %b : T", "T"},
      {"arith.negf %a : T", "T"},
      {"arith.maximumf %a, %b : T", "T"},
      {"arith.minimumf %a, %b : T", "T"},
      {"math.fma %a, %b, %c : T", "T"},
      {"math.absf %a : T", "T"},
      {"math.ceil %a : T", "T"},
      {"math.floor %a : T", "T"},
      {"math.trunc %a : T", "T"},
      {"math.roundeven %a : T", "T"},
      {"math.copysign %a, %b : T", "T"},
      {"math.sqrt %a : T", "T"},
      {"arith.select %less, %a, %b : T", "T"},
      {"arith.sitofp %i : I to T", "T"},
      {"arith.uitofp %i : I to T", "T"},
      {"arith.fptosi %small : T to I", "I"},
      {"arith.addi %i, %k : I", "I"},
      {"arith.subi %i, %k : I", "I"},
      {"arith.muli %i, %k : I", "I"},
      {"arith.andi %i, %k : I", "I"},
      {"arith.ori %i, %k : I", "I"},
      {"arith.xori %i, %k : I", "I"},
      {"arith.shli %i, %s : I", "I"},
      {"arith.shrui %i, %s : I", "I"},
      {"arith.shrsi %i, %s : I", "I"},
      {"arith.minui %i, %k : I", "I"},
      {"arith.maxui %i, %k : I", "I"},
      {"arith.minsi %i, %k : I", "I"},
      {"arith.maxsi %i, %k : I", "I"},
      {"arith.select %less, %i, %k : I", "I"},
      {"arith.divui %n, %m : index", "index"},
      {"arith.remui %n, %m : index", "index"},
      {"arith.divsi %n, %m : index", "index"},
      {"arith.remsi %n, %m : index", "index"},
      {"arith.minui %n, %m : index", "index"},
      {"arith.maxui %n, %m : index", "index"},
      {"arith.subi %n, %m : index", "index"},
  };
  for (std::string predicate :
       {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
        "uge", "ult", "ule", "une", "uno", "true"})
    ops.push_back({"arith.cmpf " + predicate + ", %a, %b : T", "i1"});
  for (std::string predicate :
       {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}) {
    ops.push_back({"arith.cmpi " + predicate + ", %i, %k : I", "i1"});
    ops.push_back({"arith.cmpi " + predicate + ", %n, %m : index", "i1"});
  }
  if (isDouble)
    ops.push_back({"arith.extf %f : f32 to f64", "T"});
  return ops;
}

/// y[k, j] = op k of the numbers of column j, as bits of type I.
static std::string textOf(const std::vector<Op> &ops, bool isDouble) {
  std::string text = arenaView("x", 0, "memref<3x400xT>") +
                     arenaView("y", 3 * kTriples * 8, "memref<100x400xI>") + R"(
    %count = arith.constant 400 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : T
    %most = arith.constant 1.0e+9 : T
    %mask = arith.constant 31 : I
    %word = arith.constant 2047 : I
    tile.parallel (%p) in (%c1) {
      tile.map (%j) in (%count) {
        %a = memref.load %x[%c0, %j] : memref<3x400xT>
        %b = memref.load %x[%c1, %j] : memref<3x400xT>
        %c = memref.load %x[%c2, %j] : memref<3x400xT>
        %i = arith.bitcast %a : T to I
        %k = arith.bitcast %b : T to I
        %s = arith.andi %k, %mask : I
        %few = arith.andi %i, %word : I
        %n = arith.index_cast %few : I to index
        %lots = arith.andi %k, %word : I
        %past = arith.index_cast %lots : I to index
        %m = arith.addi %past, %c1 : index
        %less = arith.cmpf olt, %a, %b : T
        %size = math.absf %a : T
        %isSmall = arith.cmpf olt, %size, %most : T
        %small = arith.select %isSmall, %a, %zero : T
)";
  if (isDouble)
    text += "        %f = arith.truncf %a : f64 to f32\n";
  for (size_t number = 0; number < ops.size(); ++number) {
    const std::string name = "%r" + std::to_string(number),
                      bits = "%y" + std::to_string(number),
                      at = "%at" + std::to_string(number),
                      type = ops[number].type;
    text += name + " = " + ops[number].text + "\n";
    text += at + " = arith.constant " + std::to_string(number) + " : index\n";
    text += type == "T" ? bits + " = arith.bitcast " + name + " : T to I\n"
            : type == "index"
                ? bits + " = arith.index_cast " + name + " : index to I\n"
            : type == "i1" ? bits + " = arith.extui " + name + " : i1 to I\n"
                           : "";
    text += "memref.store " + (type == "I" ? name : bits) + ", %y[" + at +
            ", %j] : memref<100x400xI>\n";
  }
  text += "}\n}\n";
  std::string typed;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isWord = i > 0 && (isalnum(text[i - 1]) || text[i - 1] == '%') &&
                        text[i - 1] != 'x';
    const bool isEnd = i + 1 == text.size() || !isalnum(text[i + 1]);
    if (text[i] == 'T' && isEnd && !isWord)
      typed += isDouble ? "f64" : "f32";
    else if (text[i] == 'I' && isEnd && !isWord)
      typed += isDouble ? "i64" : "i32";
    else
      typed += text[i];
  }
  return entryFunction(typed);
}

template <typename T, typename Bits> static void checkOps() {
  constexpr bool isDouble = sizeof(T) == 8;
  const std::vector<Op> ops = opsOf(isDouble);
  ASSERT_LE(int64_t(ops.size()), kMostOps);
  const std::string text = textOf(ops, isDouble);
  constexpr int64_t kBytes = (3 + kMostOps) * kTriples * 8;
  std::vector<char> storage(kBytes + 64), onMetal(kBytes);
  char *arena = align64(storage.data());
  const T special[] = {T(0.0),
                       T(-0.0),
                       T(1.0),
                       T(-1.0),
                       T(0.5),
                       T(-2.5),
                       T(3.5),
                       T(HUGE_VAL),
                       T(-HUGE_VAL),
                       T(NAN),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max()};
  std::mt19937_64 random(9);
  for (int64_t i = 0; i < 3 * kTriples; ++i) {
    const uint64_t word = random();
    T value = special[word % std::size(special)];
    if (word % 3 == 1)
      value = T(int64_t(word)) / T(1ull << 61);
    if (word % 3 == 2)
      memcpy(&value, &word, sizeof(T));
    memcpy(arena + i * sizeof(T), &value, sizeof(T));
  }
  memcpy(onMetal.data(), arena, kBytes);
  TileProgram(text, "reference").run(arena, 1);
  ASSERT_EQ(DeviceProgram(text, kBytes, "metal").run(onMetal.data(), 1), "");
  for (size_t number = 0; number < ops.size(); ++number)
    for (int64_t j = 0; j < kTriples; ++j) {
      const int64_t at = 3 * kTriples * 8 +
                         (int64_t(number) * kTriples + j) * int64_t(sizeof(T));
      Bits got, want;
      memcpy(&got, &onMetal[at], sizeof(T));
      memcpy(&want, arena + at, sizeof(T));
      T gotNumber, wantNumber;
      memcpy(&gotNumber, &got, sizeof(T));
      memcpy(&wantNumber, &want, sizeof(T));
      const bool areNone = ops[number].type[0] == 'T' &&
                           std::isnan(gotNumber) && std::isnan(wantNumber);
      ASSERT_TRUE(got == want || areNone)
          << ops[number].text << ", column " << j << ": " << got << " and not "
          << want;
    }
}

TEST(GpuScalarOps, OfFloat) { checkOps<float, uint32_t>(); }

TEST(GpuScalarOps, OfDouble) { checkOps<double, uint64_t>(); }
