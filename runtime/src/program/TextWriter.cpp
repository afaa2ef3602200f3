//===- TextWriter.cpp - From a prompt to a text ---------------------------===//

#include "program/TextWriter.h"

#include "base/Counted.h"
#include "program/AdapterBase.h"
#include "program/Signals.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>

namespace hone::rt {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static bool isAsked() { return stopRequested() != ExitCode::Success; }

static Status notFinite(int64_t position) {
  return Status(
      ErrorCode::BadLogits, "token " + std::to_string(position),
      "expects finite logits but got NaN or infinity",
      "check the weights and the adapter; with bfloat16 activations try "
      "train.compute_dtype: float32");
}

TextWriter::TextWriter(Generator &generator, const GenerateOptions &options,
                       const ModuleConfig &config, const Tokenizer *tokenizer,
                       int64_t rows, PeakMeter &peak)
    : generator(generator), options(options), config(config),
      tokenizer(tokenizer), rows(rows), peak(peak),
      sampler(options.sampling(), generator.logitCount()) {}

/// Keys and values of one are not the other's.
Status TextWriter::use(bool isOn) {
  const Adapter wanted = isOn ? Adapter::On : Adapter::Off;
  if (adapter == wanted)
    return Status::ok();
  adapter = Adapter::Unknown;
  generator.rewind(0);
  // Without an adapter B is zero, and A does not matter.
  if (!isOn)
    generator.trainables().initialize(/*seed=*/0);
  else if (Status status = generator.trainables().load(options.adapter,
                                                       AdapterUse::Evaluate);
           !status.isOk())
    return nameOtherBase(status, options.adapter, config);
  adapter = wanted;
  return Status::ok();
}

/// A signal is seen between pieces.
Status TextWriter::readPrompt(const Prompt &prompt) {
  const Clock::time_point start = Clock::now();
  const std::vector<int32_t> &ids = prompt.ids;
  generator.keepCommon(ids);
  const int64_t all = int64_t(ids.size()), kept = generator.length();
  promptRate = {};
  promptSize = ids.size();
  for (int64_t at = kept; at < all && !isAsked(); at += rows) {
    const int64_t count = std::min(rows, all - at);
    HONE_TRY(generator.append(ids.data() + at, count));
    promptRate.tokens += uint64_t(count);
  }
  promptRate.seconds = secondsSince(start);
  sampler.clear();
  sampler.note(ids.data(), ids.size());
  peak.sample();
  return Status::ok();
}

/// Draws tokens until one ends the text.
Status TextWriter::draw(const Prompt &prompt, TextOutput &output) {
  const Clock::time_point start = Clock::now();
  const uint64_t wanted = uint64_t(int64_t(options.maxNewTokens));
  const std::vector<int32_t> &stops = prompt.stopTokens;
  uint64_t &count = textRate.tokens;
  Status status = Status::ok();
  while (!isAsked()) {
    const int32_t next = generator.sample(sampler);
    if (next < 0)
      return notFinite(generator.length());
    if (std::find(stops.begin(), stops.end(), next) != stops.end())
      break;
    ++count;
    sampler.note(&next, 1);
    status = output.add(next);
    if (!status.isOk() || output.isStopped() || output.isClosed())
      break;
    cut = count == wanted;
    full = !cut && generator.length() == generator.capacity();
    if (cut || full)
      break;
    status = generator.append(&next, 1);
    if (!status.isOk())
      break;
  }
  textRate.seconds = secondsSince(start);
  peak.sample();
  return status;
}

void TextWriter::report() const {
  char speed[32];
  auto atRate = [&](const std::string &what, const auto &rate) {
    snprintf(speed, sizeof(speed), ", %.1f tokens/s", rate.perSecond());
    return what + speed;
  };
  const std::string text = atRate(counted(textRate.tokens, "token"), textRate);
  std::string prompt = counted(promptSize, "token");
  if (options.isConversation()) {
    prompt += ", " + std::to_string(promptRate.tokens) + " of them new";
    fprintf(stderr, "prompt %s; text %s\n", atRate(prompt, promptRate).c_str(),
            text.c_str());
    return;
  }
  fprintf(stderr, "prompt       %s\ntext         %s%s\n",
          atRate(prompt, promptRate).c_str(), text.c_str(),
          full ? ", all that generate.max_length has room for" : "");
}

Status TextWriter::writeOne(const Prompt &prompt, const char *heading) {
  textRate = {};
  full = cut = false;
  made.clear();
  TextOutput output(options, tokenizer);
  HONE_TRY(readPrompt(prompt));
  if (isAsked())
    return Status::ok();
  if (heading)
    HONE_TRY(output.write(heading));
  Status status = draw(prompt, output);
  const bool endsLine = options.isConversation() || heading;
  Status ended = output.finish(endsLine);
  made = output.text();
  closed = output.isClosed();
  HONE_TRY(status);
  if (!options.quiet) {
    if (!endsLine && !options.showIds)
      endLineOfText();
    report();
  }
  return ended;
}

Status TextWriter::write(const Prompt &prompt) {
  if (!options.compare) {
    HONE_TRY(use(!options.adapter.empty()));
    return writeOne(prompt, nullptr);
  }
  HONE_TRY(use(false));
  HONE_TRY(writeOne(prompt, "--- base\n"));
  if (closed || isAsked())
    return Status::ok();
  HONE_TRY(use(true));
  return writeOne(prompt, "--- adapter\n");
}

} // namespace hone::rt
