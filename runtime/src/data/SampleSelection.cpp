//===- SampleSelection.cpp - Some samples of a data file ------------------===//

#include "data/SampleSelection.h"

#include "base/Philox.h"
#include "data/Dataset.h"

#include <cmath>
#include <cstdio>

namespace hone::rt {

static std::string textOf(double number) {
  char out[32];
  snprintf(out, sizeof(out), "%.17g", number);
  return out;
}

std::string SampleSelection::key() const {
  return "selection 1\n" + textOf(heldOut) + "\n" +
         (isHeldOut ? "held out\n" : "left\n") + std::to_string(perLabel) +
         "\n" + std::to_string(seed);
}

static uint64_t draw(uint64_t index, uint64_t count, uint64_t seed,
                     std::string_view name) {
  RandomStream stream(seed, 0, RandomPurpose::Draw, name);
  return permuteIndex(index, count, stream.id());
}

bool SampleDraw::isHeld(uint64_t index) const {
  return held > 0 && draw(index, all, selection.seed, "held out") < held;
}

/// Calls each(label) for every line of `data`, with the place of its right
/// candidate among its samples.
template <typename Each> static void forEachLine(const Dataset &data, Each each) {
  const uint64_t samples = data.sampleCount();
  for (uint64_t i = 0; i < samples;) {
    size_t label = 0;
    uint64_t end = i;
    do {
      if (!data.isWrong(end))
        label = size_t(end - i);
      ++end;
    } while (end < samples && data.continues(end));
    each(label);
    i = end;
  }
}

Result<SampleDraw> SampleDraw::count(const Dataset &data,
                                     const SampleSelection &selection,
                                     const std::string &place) {
  SampleDraw out;
  out.selection = selection;
  forEachLine(data, [&](size_t) { ++out.all; });
  const double part = selection.heldOut;
  // A product of a part and a count is rounded: 0.07 of 100 is 7.
  const double held =
      part < 1 ? std::ceil(part * double(out.all) * (1 - 1e-12)) : part;
  if (held >= double(out.all))
    return Status::error(
        ErrorCode::TooFewSamples,
        {place,
         "--eval-split holds out " + textOf(held) + " of " +
             std::to_string(out.all) + " samples and leaves none to train on",
         "give a smaller --eval-split, or more data"});
  out.held = uint64_t(held);
  if (selection.perLabel == 0)
    return out;
  uint64_t index = 0;
  forEachLine(data, [&](size_t label) {
    if (!out.isHeld(index++) && label < Task::MostLabels)
      ++out.ofLabel[label];
  });
  return out;
}

bool SampleDraw::next(size_t label) {
  const bool isHeldOut = isHeld(line++);
  if (isHeldOut || selection.isHeldOut)
    return isHeldOut && selection.isHeldOut;
  if (selection.perLabel == 0)
    return true;
  const std::string name = "label " + std::to_string(label);
  return draw(seen[label]++, ofLabel[label], selection.seed, name) <
         selection.perLabel;
}

} // namespace hone::rt
