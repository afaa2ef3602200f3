//===- MemoryReadBench.cpp - The rate of reading a file in memory ---------===//
//
// Usage: hone-bench-read FILE [THREADS]. Maps the file as programs map their
// weights and prints {"threads": N, "gb_s": X}: the median of a few passes over
// it, in which each thread reads a share of its own. A pass ends with the last
// thread, as a step does.
//
//===----------------------------------------------------------------------===//

#include "bench/kernels/MemoryRead.h"
#include "bench/kernels/Threads.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static constexpr int passes = 5;

/// Seconds of one pass of `threads` threads.
static double measurePass(const char *memory, size_t bytes, int threads) {
  const size_t share = bytes / threads;
  return hone::secondsTogether(
      threads, [&](int i) { hone::readMemory(memory + i * share, share); });
}

int main(int argc, char **argv) {
  int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  if (argc < 2 || argc > 3 || threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: hone-bench-read FILE [THREADS]\n");
    return 2;
  }
  int file = open(argv[1], O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) {
    std::fprintf(stderr, "hone-bench-read: cannot read %s\n", argv[1]);
    return 1;
  }
  size_t bytes = status.st_size;
  void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) {
    std::fprintf(stderr, "hone-bench-read: cannot map %s\n", argv[1]);
    return 1;
  }
  const char *memory = static_cast<const char *>(mapped);
  measurePass(memory, bytes, threads); // brings it into memory
  double rate = hone::medianRate(passes, [&] {
    return bytes / measurePass(memory, bytes, threads) * 1e-9;
  });
  std::printf("{\"threads\": %d, \"gb_s\": %.3f}\n", threads, rate);
}
