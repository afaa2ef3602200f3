//===- RunHistory.h - What the log of a run says, for a plot --------------===//
//
// However long a run is, its history takes the same memory: neighbouring steps
// share a bucket, which keeps the least and the greatest of their values.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// One number of each step.
class ThinnedSeries {
public:
  static constexpr uint64_t MostBuckets = 400;

  struct Bucket {
    uint64_t first = 0, last = 0; ///< steps
    double least = 0, most = 0, sum = 0;
    uint64_t count = 0;
    double mean() const { return sum / double(count); }
    double step() const { return (double(first) + double(last)) / 2; }
  };

  /// `lastStep`: of the whole run.
  explicit ThinnedSeries(uint64_t lastStep);

  /// Steps in ascending order. What is not finite is only counted.
  void add(uint64_t step, double value);

  bool empty() const { return count == 0; }
  bool isThinned() const { return count > filled; }
  const std::vector<Bucket> &all() const { return buckets; } ///< some empty

  double first = 0, last = 0, least = 0, most = 0, sum = 0;
  uint64_t lastAt = 0; ///< the step of `last`
  uint64_t count = 0, notFinite = 0;
  double mean() const { return sum / double(count); }

private:
  uint64_t lastStep, filled = 0;
  std::vector<Bucket> buckets;
};

struct RunHistory {
  /// A number of the log's lines, under the name that it has there.
  struct Series : ThinnedSeries {
    const char *key, *title;
    const char *format; ///< of a value over `unit`, for a person
    double unit = 1;
    Series(uint64_t lastStep, const char *key, const char *title,
           const char *format, double unit = 1)
        : ThinnedSeries(lastStep), key(key), title(title), format(format),
          unit(unit) {}
  };

  explicit RunHistory(uint64_t lastStep);

  std::vector<Series> series; ///< in the order of a report
  const Series &loss() const { return series.front(); }

  /// Adds the lines of the run `name` in the log at `path`, one at a time;
  /// other lines are passed over. Errors: as MappedFile::open.
  Status read(const std::string &path, const std::string &name);
};

} // namespace hone::rt
