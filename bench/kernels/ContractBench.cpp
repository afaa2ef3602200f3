//===- ContractBench.cpp - Speed of generated matrix products -------------===//
//
// Prints GFLOP/s of Y = X W^T and dX = dY W for the shapes of a 0.5B model,
// beside the peak of a loop of fused multiply-adds that runs between every two
// repetitions: on a shared machine only the ratio means anything.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"
#include "test/numerics/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using namespace hone;

#if defined(__AVX512F__)
static constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
static constexpr int kVectorBytes = 32;
#else
static constexpr int kVectorBytes = 16;
#endif
typedef float Vector __attribute__((vector_size(kVectorBytes)));

static double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// GFLOP/s of independent multiply-add chains in registers.
static double measurePeak() {
  constexpr int chains = 12, rounds = 1000000;
  Vector sums[chains] = {};
  Vector x = {1.0f}, y = {1e-9f};
  asm volatile("" : "+x"(x), "+x"(y));
  double start = seconds();
  for (int i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c) {
      sums[c] = x * y + sums[c];
      asm volatile("" : "+x"(sums[c]));
    }
  double flops = 2.0 * rounds * chains * (kVectorBytes / 4);
  return flops / (seconds() - start) * 1e-9;
}

/// y[m,n] = x[m,k] w^T with w[n,k], or with w[k,n] if not `transpose`.
static std::string productIR(int64_t m, int64_t n, int64_t k, bool transpose,
                             int64_t nr) {
  int64_t wAt = m * k * 4, yAt = wAt + n * k * 4;
  return entryFunction(llvm::formatv(R"(
  %w_at = arith.constant {0} : index
  %y_at = arith.constant {1} : index
  %k = arith.constant {2} : index
  %nr = arith.constant {3} : index
  %panels = arith.constant {4} : index
  %x = tile.view %arena[%c0] : !llvm.ptr -> memref<{5}x{2}xf32>
  %w = tile.view %arena[%w_at] : !llvm.ptr -> memref<{6}xf32>
  %y = tile.view %arena[%y_at] : !llvm.ptr -> memref<{5}x{7}xf32>
  tile.parallel (%p) in (%panels) private(%panel : memref<{2}x{3}xf32>) {{
    %j = arith.muli %p, %nr : index
    tile.fill %panel, %w[{8}] size(%k, %nr){9}
        : memref<{2}x{3}xf32>, memref<{6}xf32>
    tile.contract %y[%c0, %j], %x[%c0, %c0], %panel size(%rows, %nr, %k)
        : memref<{5}x{7}xf32>, memref<{5}x{2}xf32>, memref<{2}x{3}xf32>
  })",
                                     wAt, yAt, k, nr, n / nr, m,
                                     transpose
                                         ? llvm::formatv("{0}x{1}", n, k).str()
                                         : llvm::formatv("{0}x{1}", k, n).str(),
                                     n, transpose ? "%j, %c0" : "%c0, %j",
                                     transpose ? " transpose" : "")
                           .str());
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static void measure(int64_t m, int64_t n, int64_t k, bool transpose,
                    int64_t nr) {
  double start = seconds();
  TileProgram program(productIR(m, n, k, transpose, nr));
  double compileSeconds = seconds() - start;
  std::vector<float> storage(m * k + n * k + m * n + 16, 0.5f);
  void *arena = reinterpret_cast<void *>(
      (reinterpret_cast<uintptr_t>(storage.data()) + 63) & ~uintptr_t(63));
  std::vector<double> speeds, ratios;
  program.run(arena, m);
  for (int repetition = 0; repetition < 15; ++repetition) {
    double peak = measurePeak();
    start = seconds();
    program.run(arena, m);
    double speed = 2.0 * m * n * k / (seconds() - start) * 1e-9;
    speeds.push_back(speed);
    ratios.push_back(speed / peak);
  }
  std::printf("%5ld x %5ld x %5ld %-9s %7.1f GFLOP/s  %5.1f %% of peak  "
              "(compiled in %.2f s)\n",
              long(m), long(n), long(k), transpose ? "W^T" : "W",
              median(speeds), 100 * median(ratios), compileSeconds);
}

int main() {
  llvm::ExitOnError check("error: ");
  auto target = check(createTarget(TargetRequest::parse("native")));
  mlir::MLIRContext context;
  int64_t nr = target->tileShape(mlir::Float32Type::get(&context)).nr;
  for (bool transpose : {true, false}) {
    measure(256, 4864, 896, transpose, nr);
    measure(256, 896, 896, transpose, nr);
    measure(16, 4864, 896, transpose, nr);
  }
}
