//===- GradientComparison.cpp - How two gradients differ ------------------===//

#include "step/GradientComparison.h"

#include "module/ProcessMemory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace hone::rt {

static_assert(sizeof(GradientSums) == GradientSumsBytes);

static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

GradientSums &GradientSums::operator+=(const GradientSums &other) {
  products += other.products;
  squares += other.squares;
  referenceSquares += other.referenceSquares;
  errorSquares += other.errorSquares;
  elements += other.elements;
  zeros += other.zeros;
  referenceZeros += other.referenceZeros;
  equalSigns += other.equalSigns;
  notFinite += other.notFinite;
  return *this;
}

double GradientSums::cosine() const {
  if (notFinite > 0 || squares == 0 || referenceSquares == 0)
    return nothing;
  // Of equal vectors exactly 1, unless the product is out of range.
  double product = squares * referenceSquares;
  return products / (std::isnormal(product)
                         ? std::sqrt(product)
                         : std::sqrt(squares) * std::sqrt(referenceSquares));
}

double GradientSums::signAgreement() const {
  uint64_t signs = elements - referenceZeros;
  return notFinite > 0 || signs == 0 ? nothing
                                     : double(equalSigns) / double(signs);
}

double GradientSums::relativeError() const {
  return notFinite > 0 || referenceSquares == 0
             ? nothing
             : std::sqrt(errorSquares) / std::sqrt(referenceSquares);
}

GradientComparison::GradientComparison(const Module &module) {
  const hone_module &abi = module.abi();
  std::map<uint32_t, size_t> places; // HONE_NO_LAYER is the last
  for (uint32_t i = 0; i < abi.trainable_count; ++i)
    places[abi.trainables[i].layer];
  members.reserve(abi.trainable_count);
  layers.reserve(places.size());
  for (auto &[layer, place] : places) {
    place = layers.size();
    layers.push_back(
        {layer == HONE_NO_LAYER ? "other" : std::to_string(layer)});
  }
  for (uint32_t i = 0; i < abi.trainable_count; ++i) {
    const char *name = abi.trainables[i].name;
    Member member{{}, places.at(abi.trainables[i].layer), noKind};
    for (const char *kind : {"lora_A", "lora_B"}) {
      if (!strstr(name, kind))
        continue;
      auto known =
          std::find_if(kinds.begin(), kinds.end(),
                       [&](const Group &own) { return own.name == kind; });
      member.kind = size_t(known - kinds.begin());
      if (known == kinds.end())
        kinds.push_back({kind});
    }
    members.push_back(member);
  }
}

void GradientComparison::clear() {
  for (std::vector<Group> *groups : {&layers, &kinds})
    for (Group &group : *groups)
      group.sums = {};
  for (Member &member : members)
    member.sums = {};
  all = {};
}

template <typename T>
static void addElements(GradientSums &sums, const T *own, const T *reference,
                        uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const double g = double(own[i]), r = double(reference[i]);
    sums.notFinite += !std::isfinite(g) || !std::isfinite(r);
    sums.products += g * r;
    sums.squares += g * g;
    sums.referenceSquares += r * r;
    sums.errorSquares += (g - r) * (g - r);
    sums.zeros += g == 0;
    sums.referenceZeros += r == 0;
    sums.equalSigns += (g > 0 && r > 0) || (g < 0 && r < 0);
  }
  sums.elements += count;
}

void GradientComparison::add(uint32_t index, Dtype dtype, const char *own,
                             const char *reference, uint64_t count) {
  GradientSums &sums = members[index].sums;
  if (dtype == Dtype::F64)
    addElements(sums, reinterpret_cast<const double *>(own),
                reinterpret_cast<const double *>(reference), count);
  else
    addElements(sums, reinterpret_cast<const float *>(own),
                reinterpret_cast<const float *>(reference), count);
}

void GradientComparison::finish() {
  for (const Member &member : members) {
    layers[member.layer].sums += member.sums;
    if (member.kind != noKind)
      kinds[member.kind].sums += member.sums;
    all += member.sums;
  }
}

} // namespace hone::rt
