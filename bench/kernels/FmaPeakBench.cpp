//===- FmaPeakBench.cpp - The FMA peak of this machine, now ---------------===//
//
// Usage: hone-bench-peak [THREADS]. Prints {"threads": N, "gflops": X}: the
// median of bursts of some ten milliseconds. All threads start a burst
// together and it ends with the last one, as a training step does.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/Threads.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

static constexpr int bursts = 15;
static constexpr int roundsPerBurst = 2000000;

/// GFLOP/s of one burst on `threads` threads.
static double measureBurst(int threads) {
  std::vector<double> flops(threads);
  double seconds = hone::secondsTogether(threads, [&](int i) {
    flops[i] = hone::runMultiplyAdds(roundsPerBurst);
  });
  return std::accumulate(flops.begin(), flops.end(), 0.0) / seconds * 1e-9;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (argc > 2 || threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: hone-bench-peak [THREADS]\n");
    return 2;
  }
  double gflops =
      hone::medianRate(bursts, [&] { return measureBurst(threads); });
  std::printf("{\"threads\": %d, \"gflops\": %.2f}\n", threads, gflops);
}
