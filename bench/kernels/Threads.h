//===- Threads.h - Rates of threads that work together --------------------===//

#pragma once

#include "bench/kernels/FmaPeak.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace hone {

/// Seconds of work(i) on each of `threads` threads, which begin together: until
/// the last one ends, as in a training step.
template <typename Work> double secondsTogether(int threads, Work work) {
  std::atomic<int> waiting{threads};
  std::vector<double> starts(threads);
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i)
    pool.emplace_back([&, i] {
      --waiting;
      while (waiting > 0)
        std::this_thread::yield();
      starts[i] = seconds();
      work(i);
    });
  for (std::thread &thread : pool)
    thread.join();
  return seconds() - *std::min_element(starts.begin(), starts.end());
}

/// The median of `count` calls of rate().
template <typename Rate> double medianRate(int count, Rate rate) {
  std::vector<double> rates(count);
  for (double &each : rates)
    each = rate();
  std::nth_element(rates.begin(), rates.begin() + count / 2, rates.end());
  return rates[count / 2];
}

} // namespace hone
