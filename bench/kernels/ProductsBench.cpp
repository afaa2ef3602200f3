//===- ProductsBench.cpp - Products of a linear layer, one by one ---------===//
//
// Usage: hone-bench-products THREADS. For each line of its input
//   {"rows": R, "out": N, "in": K, "dtype": "bfloat16", "backward": false,
//    "calls": C}
// it computes Y[R, N] = X[R, K] W[N, K]^T, or with "backward" dX[R, K] =
// dY[R, N] W[N, K], and answers {"seconds": S, "samples": [...]}: of one
// product, after C of them with other weights each, and numbers of the product
// with the first weights. Weights are more than a cache holds.
// products_worker.py has the same lines and numbers from other libraries.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/FmaPeak.h"
#include "bench/kernels/LowerModule.h"
#include "device/HostDevice.h"
#include "test/targets/TileProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sys/mman.h>

using namespace hone;

static constexpr size_t kWeightBytes = 160 << 20;
static constexpr int64_t kSamples = 8;

/// A multiple of 1/128 in [-1, 1), which bfloat16 has: the same for all
/// libraries.
static float numberAt(uint32_t index) {
  uint32_t mixed = index * 0x9E3779B1u;
  mixed = (mixed ^ (mixed >> 15)) * 0x85EBCA77u;
  return (int(mixed >> 24) - 128) / 128.0f;
}

namespace {

struct Case {
  int64_t rows, out, in;
  bool isBFloat16, isBackward;

  int64_t from() const { return isBackward ? out : in; }
  int64_t to() const { return isBackward ? in : out; }
  size_t bytes() const { return isBFloat16 ? 2 : 4; }
};

/// Numbers of one type, one after another.
class Numbers {
public:
  Numbers(size_t count, bool isBFloat16, bool areDrawn = true)
      : isBFloat16(isBFloat16), bytes(count * (isBFloat16 ? 2 : 4)) {
    // Large pages, like those of a plan and of a file of weights.
    void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      llvm::report_fatal_error("hone-bench-products: no memory", false);
    madvise(mapped, bytes, MADV_HUGEPAGE);
    start = static_cast<char *>(mapped);
    for (size_t i = 0; areDrawn && i < count; ++i) {
      uint32_t word = llvm::bit_cast<uint32_t>(numberAt(i));
      uint16_t half = word >> 16;
      if (isBFloat16)
        memcpy(start + 2 * i, &half, 2);
      else
        memcpy(start + 4 * i, &word, 4);
    }
  }
  ~Numbers() { munmap(start, bytes); }
  Numbers(const Numbers &) = delete;
  Numbers &operator=(const Numbers &) = delete;

  char *data() const { return start; }
  float at(size_t i) const {
    uint32_t word = 0;
    if (isBFloat16)
      memcpy(reinterpret_cast<char *>(&word) + 2, start + 2 * i, 2);
    else
      memcpy(&word, start + 4 * i, 4);
    return llvm::bit_cast<float>(word);
  }

private:
  bool isBFloat16;
  size_t bytes;
  char *start;
};

/// One product, compiled, on threads.
class Product {
public:
  Product(const Case &c, Target &target, rt::Pool &pool, const Numbers &weights)
      : Product(c,
                lowerModule("hone-bench-products", moduleText(c), c.isBFloat16,
                            target),
                pool, weights) {}

  /// Seconds of `calls` products, with weights `first` and on.
  double run(int64_t first, int64_t calls) {
    double start = seconds();
    for (int64_t call = first; call < first + calls; ++call) {
      weight = weights.data() + call % weightCount * weightBytes;
      loaded->schedules[0].items[0].run(&frame, values);
    }
    return seconds() - start;
  }
  float result(size_t i) const { return y.at(i); }

private:
  Product(const Case &c, const std::pair<std::string, int64_t> &lowered,
          rt::Pool &pool, const Numbers &weights)
      : weights(weights), weightBytes(c.out * c.in * c.bytes()),
        weightCount(kWeightBytes / weightBytes),
        x(c.rows * c.from(), c.isBFloat16),
        y(c.rows * c.to(), c.isBFloat16, false),
        arena(lowered.second + 1, false, false),
        loaded(compileTiles(lowered.first, "native")), device(pool) {
    rt::Result<hone_frame> made = device.load(*loaded, {&weight, {}});
    if (!made.isOk())
      llvm::report_fatal_error(llvm::Twine(made.status().render()), false);
    frame = made.value();
    frame.arena = frame.batch = frame.work = arena.data();
    frame.rows = c.rows;
    values[0] = x.data();
    values[1] = y.data();
  }

  static std::string moduleText(const Case &c) {
    const char *element = c.isBFloat16 ? "bf16" : "f32";
    return llvm::formatv(
               R"(module attributes {{hone.max_rows = {0} : i64} {{
hone.block @product(%x: tensor<?x{1}x{5}>) -> tensor<?x{2}x{5}> {{
  %w = hone.parameter "w" {6} : tensor<{3}x{4}xf32>
  %y = {7} %x, %w : (tensor<?x{1}x{5}>, tensor<{3}x{4}xf32>) -> tensor<?x{2}x{5}>
  hone.return %y : tensor<?x{2}x{5}>
}
hone.entry @main(%x: tensor<?x{1}x{5}>) -> tensor<?x{2}x{5}> {{
  %y = hone.call @product "" (%x) : (tensor<?x{1}x{5}>) -> tensor<?x{2}x{5}>
  hone.return %y : tensor<?x{2}x{5}>
}
})",
               c.rows, c.from(), c.to(), c.out, c.in, element,
               c.isBFloat16 ? "stored <bfloat16>" : "",
               c.isBackward ? "hone.linear_adjoint" : "hone.linear")
        .str();
  }

  const Numbers &weights;
  size_t weightBytes;
  int64_t weightCount;
  Numbers x, y, arena;
  LoadedModule loaded;
  rt::HostDevice device;
  const void *weight = nullptr;
  char *values[2];
  hone_frame frame;
};

} // namespace

/// A line of the input, or an error that says what it lacks.
static llvm::Expected<std::pair<Case, int64_t>> parse(llvm::StringRef line) {
  auto value = llvm::json::parse(line);
  if (!value)
    return value.takeError();
  auto request = value->getAsObject();
  auto whole = [&](const char *name) {
    return request ? request->getInteger(name).value_or(0) : 0;
  };
  auto dtype = request ? request->getString("dtype") : std::nullopt;
  Case c{whole("rows"), whole("out"), whole("in"), dtype == "bfloat16",
         request && request->getBoolean("backward").value_or(false)};
  int64_t calls = whole("calls");
  if (c.rows < 1 || c.out < 1 || c.in < 1 || calls < 1 ||
      (dtype != "bfloat16" && dtype != "float32") ||
      c.out * c.in * c.bytes() > kWeightBytes)
    return llvm::createStringError(
        "expected rows, out, in and calls of at least 1, weights of at most "
        "160 "
        "MiB and a dtype of float32 or bfloat16 but found '" +
        line + "'");
  return std::pair(c, calls);
}

int main(int argc, char **argv) {
  llvm::ExitOnError check("hone-bench-products: ");
  int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1 || threads > int(rt::Pool::maxThreads)) {
    std::fprintf(stderr, "usage: hone-bench-products THREADS < REQUESTS\n");
    return 2;
  }
  auto target = check(createTarget(TargetRequest::parse("native")));
  rt::Result<std::unique_ptr<rt::Pool>> pool = rt::Pool::create(threads);
  if (!pool.isOk())
    check(llvm::createStringError(pool.status().render()));
  std::map<bool, Numbers> weights;
  std::map<std::string, Product> products;
  for (std::string line; std::getline(std::cin, line);) {
    auto [c, calls] = check(parse(line));
    if (c.isBFloat16 && !target->hasBFloat16Products())
      check(llvm::createStringError(
          "this processor has no products of bfloat16: ask for float32"));
    auto &ofType =
        weights
            .try_emplace(c.isBFloat16, kWeightBytes / c.bytes(), c.isBFloat16)
            .first->second;
    std::string key = llvm::formatv("{0} {1} {2} {3} {4}", c.rows, c.out, c.in,
                                    c.isBFloat16, c.isBackward);
    Product &product =
        products.try_emplace(key, c, *target, *pool.value(), ofType)
            .first->second;
    product.run(0, 1);
    std::string samples;
    for (int64_t i = 0; i < kSamples; ++i)
      samples +=
          llvm::formatv("{0}{1:f6}", i ? ", " : "",
                        product.result(c.rows * c.to() / kSamples * i + i));
    std::printf("{\"seconds\": %.9f, \"samples\": [%s]}\n",
                product.run(1, calls) / double(calls), samples.c_str());
    std::fflush(stdout);
  }
}
