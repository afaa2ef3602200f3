//===- ResidualPolicy.cpp - The values kept for the backward --------------===//

#include "passes/derive/ResidualPolicy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace hone {

static constexpr std::pair<llvm::StringLiteral, ResidualPolicy::Kind> kinds[] =
    {{"mesp", ResidualPolicy::Kind::Mesp},
     {"store-h", ResidualPolicy::Kind::StoreH},
     {"mebp", ResidualPolicy::Kind::Mebp},
     {"narrow", ResidualPolicy::Kind::Narrow},
     {"products", ResidualPolicy::Kind::Products},
     {"full", ResidualPolicy::Kind::Full}};

static constexpr llvm::StringLiteral roundedSuffix = "-bfloat16";

std::optional<ResidualPolicy> ResidualPolicy::parse(llvm::StringRef name) {
  bool rounds = name.consume_back(roundedSuffix);
  for (const auto &[known, kind] : kinds) {
    bool keepsInner = ResidualPolicy(kind).keepsInnerValue(/*narrow=*/true,
                                                           /*cheap=*/false);
    if (name == known && (keepsInner || !rounds))
      return ResidualPolicy(kind, rounds);
  }
  return std::nullopt;
}

std::string ResidualPolicy::name() const {
  auto known = llvm::find_if(
      kinds, [&](const auto &entry) { return entry.second == kind; });
  return known->first.str() + (rounds ? roundedSuffix.str() : "");
}

llvm::StringRef ResidualPolicy::names() {
  return "mesp, store-h, mebp, narrow, products, full; the last three also "
         "with -bfloat16";
}

std::optional<ResidualPlan> ResidualPlan::parse(llvm::StringRef text) {
  if (auto policy = ResidualPolicy::parse(text))
    return ResidualPlan(*policy);
  std::vector<Run> runs;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '+');
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.split('*');
    auto policy = ResidualPolicy::parse(name);
    int64_t count = 0;
    if (!policy || number.getAsInteger(10, count) || count <= 0)
      return std::nullopt;
    runs.push_back({*policy, count});
  }
  return ResidualPlan(std::move(runs));
}

std::string ResidualPlan::str() const {
  std::string text;
  for (const Run &run : runs) {
    text += (text.empty() ? "" : "+") + run.policy.name();
    if (run.count)
      text += "*" + std::to_string(run.count);
  }
  return text;
}

bool ResidualPlan::isFor(int64_t layers) const {
  int64_t sum = 0;
  for (const Run &run : runs)
    sum += run.count;
  return sum == 0 || sum == layers;
}

ResidualPolicy ResidualPlan::policyOf(int64_t layer) const {
  for (const Run &run : runs) {
    if (layer < run.count || run.count == 0)
      return run.policy;
    layer -= run.count;
  }
  return runs.back().policy;
}

std::string ResidualPlan::variantOf(ResidualPolicy policy) const {
  return runs.size() > 1 ? "." + policy.name() : std::string();
}

std::vector<std::string> ResidualPlan::variants() const {
  std::vector<std::string> names;
  for (const Run &run : runs)
    names.push_back(variantOf(run.policy));
  return names;
}

std::optional<std::vector<bool>> keptInputs(int64_t count, int64_t recomputed) {
  int64_t most = count - recomputed;
  std::vector<bool> kept(count, true);
  // Segments from the first input on, each `length` long; the first needs no
  // kept input before it, since nothing precedes it.
  int64_t first = 0, checkpoints = 0;
  for (int64_t segment = 0; count - first + checkpoints > most; ++segment) {
    int64_t length = most - checkpoints;
    if (length < (segment ? 2 : 1))
      return std::nullopt;
    // No more than needed.
    int64_t surplus = count - first + checkpoints - most;
    int64_t dropped = std::min(segment ? length - 1 : length, surplus);
    for (int64_t i = 0; i < dropped; ++i)
      kept[first + i + (segment ? 1 : 0)] = false;
    first += dropped + (segment ? 1 : 0);
    checkpoints += segment ? 1 : 0;
  }
  return kept;
}

/// How many inputs after one that is in memory `slots` more allow, if none is
/// computed more than `times`: C(slots + times, slots) - 1, at most `most`.
static int64_t reachOf(int64_t slots, int64_t times, int64_t most) {
  double reach = 1;
  for (int64_t i = 1; i <= slots && reach <= double(most) + 1; ++i)
    reach = reach * double(times + i) / double(i);
  return int64_t(std::min(reach - 1, double(most)));
}

std::vector<std::vector<int64_t>> heldInputs(int64_t count, int64_t most) {
  std::vector<std::vector<int64_t>> held(count);
  // After input `before`, which is in memory or made of nothing, to `last`;
  // `computed`: the input whose restoration passes by all of these.
  auto place = [&](auto &place, int64_t before, int64_t last, int64_t slots,
                   int64_t computed) -> void {
    const int64_t length = last - before;
    if (length == 0)
      return;
    int64_t times = 1;
    while (reachOf(slots, times, length) < length)
      ++times;
    const int64_t above = reachOf(slots - 1, times, length),
                  below = times > 1 ? reachOf(slots, times - 2, length) : 0;
    const int64_t stays = before + std::max(length - above, below + 1);
    held[computed].push_back(stays);
    place(place, stays, last, slots - 1, computed);
    place(place, before, stays - 1, slots, stays - 1);
  };
  if (count > 0)
    place(place, -1, count - 1, std::min(most, count), count - 1);
  return held;
}

} // namespace hone
