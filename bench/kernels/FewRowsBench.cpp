//===- FewRowsBench.cpp - Products of few rows with cold weights ----------===//
//
// Usage: hone-bench-rows [ROWS...]. Prints a JSON line for each number of rows
// and kind of weight: GFLOP/s of the projections of an MLP, forward and
// backward, on one thread, and their share of the roofline: the FMA peak, or
// the rate at which one core reads, if that is less. Both are measured between
// every two repetitions. A run goes through more weights than the last-level
// cache holds.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/LowerModule.h"
#include "bench/kernels/MemoryRead.h"
#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <vector>

using namespace hone;

static constexpr int64_t kHidden = 896, kWide = 4864, kGroup = 64;
static constexpr int64_t kWeightBytes = 160 << 20;
static constexpr int kRepetitions = 9;

namespace {

struct Kind {
  const char *name, *stored;
  double bytes; ///< of a number, with its share of a scale and a bias
  int tensors;  ///< in the weight table for one parameter
  bool rounds;  ///< products of bfloat16 operands
};

struct Case {
  int64_t rows;
  Kind kind;
  bool isBackward;
};

} // namespace

/// `layers` times an expanding and a contracting product, each layer with
/// weights of its own.
static std::string moduleText(const Case &c, int64_t layers) {
  auto tensor = [](auto rows, int64_t columns) {
    return llvm::formatv("tensor<{0}x{1}xf32>", rows, columns).str();
  };
  std::string narrow = tensor("?", kHidden), wide = tensor("?", kWide);
  std::string up = tensor(kWide, kHidden), down = tensor(kHidden, kWide);
  const char *op = c.isBackward ? "hone.linear_adjoint" : "hone.linear";
  std::string text =
      llvm::formatv("module attributes {{hone.max_rows = {0} : i64} {{\n"
                    "hone.block @start() -> {1} {{\n"
                    "%x = hone.input \"x\" : {1}\n"
                    "%y = hone.add %x, %x : {1}\n"
                    "hone.return %y : {1}\n}\n"
                    "hone.block @layer(%x: {1}) -> {1} {{\n",
                    c.rows, narrow)
          .str();
  text += llvm::formatv("%up = hone.parameter \"up\" {0} : {1}\n"
                        "%down = hone.parameter \"down\" {0} : {2}\n",
                        c.kind.stored, up, down)
              .str();
  text += llvm::formatv("%u = {0} %x, %{1} : ({2}, {3}) -> {4}\n", op,
                        c.isBackward ? "down" : "up", narrow,
                        c.isBackward ? down : up, wide)
              .str();
  text += llvm::formatv("%y = {0} %u, %{1} : ({2}, {3}) -> {4}\n"
                        "hone.return %y : {4}\n}\n",
                        op, c.isBackward ? "up" : "down", wide,
                        c.isBackward ? up : down, narrow)
              .str();
  text += llvm::formatv("hone.entry @main() -> {0} {{\n"
                        "%x0 = hone.call @start \"\" () : () -> {0}\n",
                        narrow)
              .str();
  for (int64_t i = 0; i < layers; ++i)
    text += llvm::formatv("%x{0} = hone.call @layer \"layers.{1}.\" (%x{1}) : "
                          "({2}) -> {2}\n",
                          i + 1, i, narrow)
                .str();
  return text +
         llvm::formatv("hone.return %x{0} : {1}\n}\n}\n", layers, narrow).str();
}

/// Of this thread: while another one has the core, time stands still.
static double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// GB/s of one core that does nothing else.
static double measureRead(llvm::StringRef memory, size_t from, size_t count) {
  double start = threadSeconds();
  readMemory(memory.data() + from, count);
  return count / (threadSeconds() - start) * 1e-9;
}

static void measure(const Case &c, Target &target, llvm::StringRef memory) {
  double numbers = 2.0 * kHidden * kWide; // in a layer
  int64_t layers = kWeightBytes / int64_t(numbers * c.kind.bytes);
  auto [ir, arenaBytes] = lowerModule("hone-bench-rows", moduleText(c, layers),
                                      c.kind.rounds, target);
  TileProgram program(ir);
  // Small numbers, however their bytes are read.
  std::vector<char> storage(arenaBytes + 64, 0);
  void *arena = reinterpret_cast<void *>(
      llvm::alignTo(reinterpret_cast<uintptr_t>(storage.data()), 64));
  // Tensors of a layer one after another, as in a file.
  std::vector<const void *> weights;
  for (int64_t parameter = 0; parameter < 2 * layers; ++parameter) {
    const char *at =
        memory.data() +
        llvm::alignTo(int64_t(parameter * numbers / 2 * c.kind.bytes), 64);
    weights.push_back(at);
    int64_t packed = numbers / 2 * (c.kind.bytes - 8.0 / kGroup);
    int64_t groups = numbers / 2 / kGroup * 4;
    if (c.kind.tensors == 3)
      weights.insert(weights.end(), {at + packed, at + packed + groups});
  }
  double flops = 2.0 * c.rows * numbers * layers;
  double bytes = numbers * c.kind.bytes * layers;
  std::vector<double> rates, ofPeak, ofRoof;
  program.run(arena, c.rows, weights.data());
  for (int i = 0; i < kRepetitions; ++i) {
    double start = threadSeconds();
    double peak = runMultiplyAdds(500000) / (threadSeconds() - start) * 1e-9;
    if (c.kind.rounds)
      peak *= 2;
    double read = measureRead(memory, i * (16 << 20), 16 << 20);
    start = threadSeconds();
    program.run(arena, c.rows, weights.data());
    double rate = flops / (threadSeconds() - start) * 1e-9;
    rates.push_back(rate);
    ofPeak.push_back(rate / peak);
    ofRoof.push_back(rate / std::min(peak, read * flops / bytes));
  }
  std::printf("{\"rows\": %ld, \"weight\": \"%s\", \"direction\": \"%s\", "
              "\"gflops\": %.1f, \"read_gb_s\": %.1f, "
              "\"share_of_peak\": %.3f, \"share_of_roof\": %.3f}\n",
              long(c.rows), c.kind.name, c.isBackward ? "backward" : "forward",
              median(rates), median(rates) * bytes / flops, median(ofPeak),
              median(ofRoof));
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  llvm::ExitOnError check("hone-bench-rows: ");
  auto target = check(createTarget(TargetRequest::parse("native")));
  std::vector<int64_t> rows;
  for (int i = 1; i < argc; ++i)
    rows.push_back(std::atol(argv[i]));
  if (rows.empty())
    rows = {1, 4, 16, 32};
  // Every byte pattern of it is a small number in every format.
  size_t bytes = kWeightBytes + (4 << 20);
  // Large pages, like those of the file that weights are mapped from.
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    check(llvm::errorCodeToError(
        std::error_code(errno, std::generic_category())));
  madvise(mapped, bytes, MADV_HUGEPAGE);
  memset(mapped, '\x30', bytes);
  llvm::StringRef memory(static_cast<char *>(mapped), bytes);
  Kind kinds[] = {
      {"float32", "", 4, 1, false},
      {"bfloat16", "stored <bfloat16>", 2, 1, false},
      {"bfloat16 medium", "stored <bfloat16>", 2, 1, true},
      {"int4", "stored <int4, group = 64>", 0.5 + 8.0 / kGroup, 3, false}};
  for (const Kind &kind : kinds)
    for (bool isBackward : {false, true})
      for (int64_t count : rows)
        if (!kind.rounds || target->hasBFloat16Products())
          measure({count, kind, isBackward}, *target, memory);
}
