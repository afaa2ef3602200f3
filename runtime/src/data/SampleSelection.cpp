//===- SampleSelection.cpp - Some samples of a data file ------------------===//

#include "data/SampleSelection.h"

#include "base/Counted.h"
#include "base/Philox.h"
#include "base/Sha256.h"
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

/// Calls each(first, end, label) for the samples of every line of `data`, with
/// the place of its right candidate among them.
template <typename Each>
static void forEachLine(const Dataset &data, Each each) {
  const uint64_t samples = data.sampleCount();
  uint64_t visited = 0; // samples, of whose marks each has 8 bytes
  for (uint64_t i = 0, end; i < samples; i = end) {
    size_t label = 0;
    for (end = i; end == i || (end < samples && data.continues(end)); ++end)
      if (!data.isWrong(end))
        label = size_t(end - i);
    each(i, end, label);
    if (end - visited >= MappedFile::VisitBytes / 8) {
      data.release();
      visited = end;
    }
  }
}

Result<SampleDraw> SampleDraw::count(const Dataset &data,
                                     const SampleSelection &selection,
                                     const std::string &place) {
  SampleDraw out;
  out.selection = selection;
  forEachLine(data, [&](uint64_t, uint64_t, size_t) { ++out.all; });
  const double part = selection.heldOut;
  // A product of a part and a count is rounded: 0.07 of 100 is 7.
  const double held =
      part < 1 ? std::ceil(part * double(out.all) * (1 - 1e-12)) : part;
  if (held >= double(out.all))
    return Status(ErrorCode::TooFewSamples, place,
                  "--eval-split holds out " + textOf(held) + " of " +
                      counted(out.all, "sample") +
                      " and leaves none to train on",
                  "give a smaller --eval-split, or more data");
  out.held = uint64_t(held);
  if (selection.perLabel == 0)
    return out;
  uint64_t index = 0;
  forEachLine(data, [&](uint64_t, uint64_t, size_t label) {
    if (!out.isHeld(index++) && label < ScoredExample::MostCandidates)
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

/// The note on a selection, for a person.
static std::string noteOf(const SampleSelection &selection,
                          const SampleDraw &draw, uint64_t written,
                          const TokenCacheWriter &writer) {
  std::string out;
  const std::string seed = ", drawn by seed " + std::to_string(selection.seed);
  if (selection.heldOut > 0)
    out += std::to_string(draw.heldOutLines()) + " of " +
           std::to_string(draw.lines()) +
           plural(draw.heldOutLines(), " is", " are") +
           " held out to evaluate on" + seed;
  if (selection.isHeldOut)
    return out;
  if (selection.perLabel > 0)
    out += std::string(out.empty() ? "" : "\n") + counted(written, "example") +
           plural(written, " is", " are") + " trained on, " +
           std::to_string(selection.perLabel) + " of each label" + seed;
  return out + (out.empty() ? "" : "\n") + "the run trains on " +
         counted(writer.samples(), "sample") + ", " +
         counted(writer.tokens(), "token") + ", " +
         std::to_string(writer.targets()) + " of them targets";
}

/// Copies the samples of `data` that `draw` selects.
static Status copySelected(const Dataset &data,
                           const SampleSelection &selection, SampleDraw draw,
                           TokenCacheWriter &writer, uint64_t &lines) {
  Status status = Status::ok();
  const auto copy = [&](uint64_t i, uint16_t mark) {
    const Sample sample = data.sample(i);
    status = writer.addTargets(sample.ids, sample.targets,
                               size_t(sample.length), mark);
  };
  forEachLine(data, [&](uint64_t first, uint64_t end, size_t label) {
    if (!draw.next(label) || !status.isOk())
      return;
    ++lines;
    unsigned continues = 0;
    for (uint64_t i = first; i < end && status.isOk(); ++i) {
      const unsigned wrong = data.isWrong(i) ? SampleMark::Wrong : 0;
      if (wrong && !selection.isHeldOut)
        continue;
      copy(i, uint16_t(continues | wrong));
      continues = SampleMark::Continues;
    }
    data.release();
  });
  return status;
}

Result<Dataset> Dataset::select(const SampleSelection &selection,
                                const DatasetOptions &options) const {
  const std::string name =
      Sha256::hex(cacheName + "\n" + selection.key()).substr(0, 32) + ".tokens";
  HONE_ASSIGN(const SampleDraw draw,
              SampleDraw::count(*this, selection, options.path));
  for (size_t i = 0; selection.perLabel > 0 && i < options.task->labelCount();
       ++i)
    if (draw.countOf(i) < selection.perLabel)
      return Status(ErrorCode::TooFewSamples, options.path,
                    "--k-shot expects " +
                        counted(selection.perLabel, "example") +
                        " of each label but '" + options.task->word(i) +
                        "' has " + std::to_string(draw.countOf(i)),
                    "give a smaller --k-shot, or more data");
  return fromCache(
      options, name,
      [&](const std::string &directory,
          const std::string &path) -> Result<MappedFile> {
        TokenCacheWriter writer;
        uint64_t lines = 0;
        HONE_TRY(writer.open(directory, path));
        HONE_TRY(copySelected(*this, selection, draw, writer, lines));
        return writer.commit(format(), options.vocabularySize,
                             noteOf(selection, draw, lines, writer));
      });
}

} // namespace hone::rt
