//===- FmaPeakBench.cpp - The FMA peak of this machine, now ---------------===//
//
// Usage: hone-bench-peak [THREADS]. Prints {"threads": N, "gflops": X}: the
// median of bursts of some ten milliseconds. All threads start a burst
// together and it ends with the last one, as a training step does.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/FmaPeak.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static constexpr int bursts = 15;
static constexpr int roundsPerBurst = 2000000;

/// GFLOP/s of one burst on `threads` threads.
static double measureBurst(int threads) {
  std::atomic<int> waiting{threads};
  std::vector<double> starts(threads), flops(threads);
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i)
    pool.emplace_back([&, i] {
      --waiting;
      while (waiting > 0)
        std::this_thread::yield();
      starts[i] = hone::seconds();
      flops[i] = hone::runMultiplyAdds(roundsPerBurst);
    });
  for (std::thread &thread : pool)
    thread.join();
  double end = hone::seconds(), sum = 0;
  for (double count : flops)
    sum += count;
  return sum / (end - *std::min_element(starts.begin(), starts.end())) * 1e-9;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (argc > 2 || threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: hone-bench-peak [THREADS]\n");
    return 2;
  }
  std::vector<double> rates(bursts);
  for (double &rate : rates)
    rate = measureBurst(threads);
  std::nth_element(rates.begin(), rates.begin() + bursts / 2, rates.end());
  std::printf("{\"threads\": %d, \"gflops\": %.2f}\n", threads,
              rates[bursts / 2]);
}
