//===- StepFloor.cpp - The least time of a step, kernel by kernel ---------===//

#include "passes/plan/StepFloor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;

/// The longest of the times of `kernel`, and its name.
static std::pair<const char *, double> longestTerm(const KernelCounts &kernel,
                                                   const MachineCosts &costs,
                                                   bool bfloat16) {
  const StepCounts &counts = kernel.counts;
  StepCounts arithmetic, products, bytes, panels, launches;
  products.productFlops = counts.productFlops;
  products.rowProductFlops = counts.rowProductFlops;
  products.flops = counts.productFlops + counts.rowProductFlops;
  arithmetic.flops = counts.flops - products.flops;
  bytes.rowBytes = counts.rowBytes + counts.fillBytes;
  panels.fills = counts.fills;
  launches.launches = counts.launches;
  auto seconds = [&](const StepCounts &part) {
    return costs.seconds(kernel.family, part, bfloat16);
  };
  const std::pair<const char *, double> terms[] = {
      {"products", seconds(products)},
      {"arithmetic", seconds(arithmetic)},
      {"bytes", seconds(bytes)},
      {"panels", seconds(panels)},
      {"launches", seconds(launches)}};
  return *llvm::max_element(terms, llvm::less_second());
}

StepFloor StepFloor::of(std::vector<KernelCounts> kernels,
                        const MachineCosts &costs, bool bfloat16Products) {
  StepFloor floor;
  for (KernelCounts &kernel : kernels) {
    auto [boundBy, seconds] = longestTerm(kernel, costs, bfloat16Products);
    floor.total += seconds;
    floor.sorted.push_back({std::move(kernel), seconds, boundBy});
  }
  llvm::stable_sort(floor.sorted, [](const Row &a, const Row &b) {
    return a.seconds > b.seconds;
  });
  return floor;
}

std::string StepFloor::table(size_t shown) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("floor of a step, an estimate: %.2f ms\n", total * 1e3)
     << llvm::left_justify("  kernel", 52)
     << "      GFLOP       MiB  launches        ms   bound by\n";
  auto line = [&](const std::string &name, const StepCounts &counts,
                  double seconds, const char *boundBy) {
    os << "  " << llvm::left_justify(llvm::StringRef(name).take_front(50), 50)
       << llvm::format("%11.2f%10.1f%10lld%10.3f", counts.flops / 1e9,
                       (counts.rowBytes + counts.fillBytes) / 1048576.0,
                       static_cast<long long>(counts.launches), seconds * 1e3)
       << "   " << boundBy << "\n";
  };
  for (const Row &row : llvm::ArrayRef(sorted).take_front(shown))
    line(row.counted.block + ": " + row.counted.kernel, row.counted.counts,
         row.seconds, row.boundBy);
  if (sorted.size() <= shown)
    return text;
  StepCounts others;
  double seconds = 0;
  for (const Row &row : llvm::ArrayRef(sorted).drop_front(shown)) {
    others += row.counted.counts;
    seconds += row.seconds;
  }
  line(std::to_string(sorted.size() - shown) + " others", others, seconds, "");
  return text;
}
