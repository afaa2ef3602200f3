//===- FmaPeakBench.cpp - The FMA peak of this machine, now ---------------===//
//
// Usage: hone-bench-peak [THREADS [pairs]]. Prints {"threads": N, "gflops": X}:
// the median of bursts of some ten milliseconds. All threads start a burst
// together and it ends with the last one, as a training step does. With `pairs`
// also "pairs_gflops", of products of bfloat16.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/Threads.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

static constexpr int bursts = 15;
static constexpr int roundsPerBurst = 2000000;

/// GFLOP/s of one burst on `threads` threads, each of which runs `work`.
static double measureBurst(int threads, double (*work)(int rounds)) {
  std::vector<double> flops(threads);
  double seconds = hone::secondsTogether(
      threads, [&](int i) { flops[i] = work(roundsPerBurst); });
  return std::accumulate(flops.begin(), flops.end(), 0.0) / seconds * 1e-9;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  bool hasPairs = argc == 3 && std::strcmp(argv[2], "pairs") == 0;
  if (argc > 3 || (argc == 3 && !hasPairs) || threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: hone-bench-peak [THREADS [pairs]]\n");
    return 2;
  }
  auto rate = [&](double (*work)(int)) {
    return hone::medianRate(bursts,
                            [&] { return measureBurst(threads, work); });
  };
  std::printf("{\"threads\": %d, \"gflops\": %.2f", threads,
              rate(hone::runMultiplyAdds));
  if (hasPairs)
    std::printf(", \"pairs_gflops\": %.2f", rate(hone::runPairProducts));
  std::printf("}\n");
}
