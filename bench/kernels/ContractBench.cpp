//===- ContractBench.cpp - Speed of generated matrix products -------------===//
//
// Prints a JSON line for each shape of a 0.5B model: GFLOP/s of Y = X W^T and
// of dX = dY W, and the share of the FMA peak of float32, which is measured
// between every two repetitions: on a shared machine only the share means
// anything. With operands of bfloat16 it may be above one.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/FmaPeak.h"
#include "targets/Target.h"
#include "test/targets/TileProgram.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace hone;

/// GFLOP/s of the peak probe, now.
static double measurePeak() {
  double start = seconds();
  double flops = runMultiplyAdds(1000000);
  return flops / (seconds() - start) * 1e-9;
}

/// y[m,n] = x[m,k] w^T with w[n,k], or with w[k,n] if not `transpose`.
static std::string productIR(int64_t m, int64_t n, int64_t k, bool transpose,
                             bool bfloat16, int64_t nr) {
  int64_t wAt = m * k * 4, yAt = wAt + n * k * 4;
  return entryFunction(
      llvm::formatv(R"(
  %w_at = arith.constant {0} : index
  %y_at = arith.constant {1} : index
  %k = arith.constant {2} : index
  %nr = arith.constant {3} : index
  %panels = arith.constant {4} : index
  %x = tile.view %arena[%c0] : !tile.memory -> memref<{5}x{2}xf32>
  %w = tile.view %arena[%w_at] : !tile.memory -> memref<{6}xf32>
  %y = tile.view %arena[%y_at] : !tile.memory -> memref<{5}x{7}xf32>
  %n = arith.constant {7} : index
  tile.parallel (%p) in (%panels) private(%panel : memref<{2}x{3}x{10}>) {{
    %j = arith.muli %p, %nr : index
    cpu.fill %panel, %w[{8}] size(%k, %nr){9}
        : memref<{2}x{3}x{10}>, memref<{6}xf32>
    %next = arith.addi %j, %nr : index
    %left = arith.subi %n, %next : index
    %ahead = arith.minui %nr, %left : index
    cpu.contract %y[%c0, %j], %x[%c0, %c0], %panel size(%rows, %nr, %k)
        ahead %w[{11}]
        : memref<{5}x{7}xf32>, memref<{5}x{2}xf32>, memref<{2}x{3}x{10}>, memref<{6}xf32>
  })",
                    wAt, yAt, k, nr, n / nr, m,
                    transpose ? llvm::formatv("{0}x{1}", n, k).str()
                              : llvm::formatv("{0}x{1}", k, n).str(),
                    n, transpose ? "%j, %c0" : "%c0, %j",
                    transpose ? " transpose" : "", bfloat16 ? "bf16" : "f32",
                    transpose ? "%next, %c0, %ahead, %k"
                              : "%c0, %next, %k, %ahead")
          .str());
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static void measure(int64_t m, int64_t n, int64_t k, bool transpose,
                    bool bfloat16, int64_t nr) {
  double start = seconds();
  TileProgram program(productIR(m, n, k, transpose, bfloat16, nr));
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
  std::printf("{\"m\": %ld, \"n\": %ld, \"k\": %ld, \"weight\": \"%s\", "
              "\"operands\": \"%s\", "
              "\"gflops\": %.1f, \"share_of_peak\": %.4f, "
              "\"compile_seconds\": %.2f}\n",
              long(m), long(n), long(k), transpose ? "W^T" : "W",
              bfloat16 ? "bfloat16" : "float32", median(speeds), median(ratios),
              compileSeconds);
  std::fflush(stdout);
}

int main() {
  llvm::ExitOnError check("error: ");
  auto target = check(createTarget(TargetRequest::parse("native")));
  int64_t nr = target->blocks().columns;
  for (bool bfloat16 : {false, true})
    for (bool transpose : {true, false}) {
      if (bfloat16 && !target->hasBFloat16Products())
        continue;
      measure(256, 4864, 896, transpose, bfloat16, nr);
      measure(256, 896, 896, transpose, bfloat16, nr);
      measure(16, 4864, 896, transpose, bfloat16, nr);
    }
}
