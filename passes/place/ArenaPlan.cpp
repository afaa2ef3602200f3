//===- ArenaPlan.cpp - Offsets for buffers with lifetimes -----------------===//

#include "passes/place/ArenaPlan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace hone {

static bool liveTogether(const Buffer &a, const Buffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

bool ArenaPlan::clash(const Buffer &a, const Buffer &b) {
  return liveTogether(a, b) && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

/// Places buffers in the given order, each at the lowest offset where it
/// overlaps no buffer that is placed already and alive with it.
static int64_t placeInOrder(std::vector<Buffer> &buffers,
                            const std::vector<size_t> &order) {
  int64_t peak = 0;
  std::vector<size_t> placed; // sorted by offset
  for (size_t index : order) {
    Buffer &buffer = buffers[index];
    int64_t size = ArenaPlan::align(buffer.bytes);
    int64_t offset = 0;
    for (size_t other : placed) {
      const Buffer &known = buffers[other];
      if (!liveTogether(buffer, known))
        continue;
      if (offset + size <= known.offset)
        break;
      offset = std::max(offset, known.offset + ArenaPlan::align(known.bytes));
    }
    buffer.offset = offset;
    peak = std::max(peak, offset + size);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t value, size_t i) { return value < buffers[i].offset; });
    placed.insert(at, index);
  }
  return peak;
}

int64_t ArenaPlan::place(std::vector<Buffer> &buffers) {
  using Less = std::function<bool(const Buffer &, const Buffer &)>;
  const Less orders[] = {
      [](const Buffer &a, const Buffer &b) { return a.bytes > b.bytes; },
      [](const Buffer &a, const Buffer &b) {
        return a.bytes * (a.last - a.first + 1) >
               b.bytes * (b.last - b.first + 1);
      },
      [](const Buffer &a, const Buffer &b) {
        return a.last - a.first > b.last - b.first;
      },
      [](const Buffer &a, const Buffer &b) { return a.first < b.first; },
  };
  int64_t bound = lowerBound(buffers);
  int64_t best = -1;
  std::vector<Buffer> bestBuffers;
  for (const Less &less : orders) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (less(buffers[a], buffers[b]))
        return true;
      return !less(buffers[b], buffers[a]) && a < b;
    });
    int64_t peak = placeInOrder(buffers, order);
    if (best < 0 || peak < best) {
      best = peak;
      bestBuffers = buffers;
    }
    if (best == bound)
      break;
  }
  buffers = std::move(bestBuffers);
  return std::max<int64_t>(best, 0);
}

int64_t ArenaPlan::lowerBound(const std::vector<Buffer> &buffers) {
  // Bytes that begin to be in use, and that cease to be just before a time.
  std::map<int64_t, int64_t> changes;
  for (const Buffer &buffer : buffers) {
    changes[buffer.first] += align(buffer.bytes);
    changes[buffer.last + 1] -= align(buffer.bytes);
  }
  int64_t live = 0, most = 0;
  for (const auto &[time, bytes] : changes)
    most = std::max(most, live += bytes);
  return most;
}

} // namespace hone
