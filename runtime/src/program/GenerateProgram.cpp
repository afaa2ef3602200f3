//===- GenerateProgram.cpp - The program that generates text --------------===//
//
// Standard output has the text and nothing else; what a person should know
// besides is on standard error.
//
//===----------------------------------------------------------------------===//

#include "program/GenerateProgram.h"

#include "device/HostDevice.h"
#include "generate/Generator.h"
#include "generate/TextStream.h"
#include "module/Memory.h"
#include "platform/System.h"
#include "program/Prompt.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>

namespace hone::rt {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// How many tokens, in what time.
struct Rate {
  uint64_t tokens = 0;
  double seconds = 0;

  double perSecond() const {
    return seconds > 0 ? double(tokens) / seconds : 0;
  }
};

/// Standard output, as tokens or as text.
class Output {
public:
  Output(const GenerateOptions &options, const Tokenizer *tokenizer)
      : tokenizer(options.showIds ? nullptr : tokenizer), stream(options.stop),
        isTerminal(platform::isTerminal(platform::StandardOutput)) {}

  Status add(int32_t id) {
    if (!tokenizer) {
      char line[16];
      return write(
          {line, size_t(snprintf(line, sizeof(line), "%" PRId32 "\n", id))});
    }
    bytes.clear();
    tokenizer->appendToken(id, bytes);
    return write(stream.add(bytes));
  }
  Status finish() {
    Status status = write(stream.finish());
    if (status.isOk() && tokenizer && isTerminal)
      status = write("\n");
    return status;
  }
  bool isStopped() const { return stream.isStopped(); }
  /// Whether nobody reads it any more, which is no error.
  bool isClosed() const { return closed; }

private:
  Status write(std::string_view text) {
    if (text.empty() || closed)
      return Status::ok();
    const std::string shown = isTerminal ? printable(text) : std::string(text);
    errno = 0;
    if (fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
        fflush(stdout) == 0)
      return Status::ok();
    closed = true;
    return errno == EPIPE ? Status::ok() : outputFailed(errno);
  }

  const Tokenizer *tokenizer; ///< null: ids
  TextStream stream;
  bool isTerminal, closed = false;
  std::string bytes;
};

} // namespace

static Status notFinite(int64_t position) {
  return Status(
      ErrorCode::BadLogits, "token " + std::to_string(position),
      "expects finite logits but got NaN or infinity",
      "check the weights and the adapter; with bfloat16 activations try "
      "train.compute_dtype: float32");
}

/// Draws tokens until one ends the text.
static Status generate(Generator &generator, const Prompt &prompt,
                       const GenerateOptions &options, Output &output,
                       PeakMeter &peak, Rate &rate) {
  Sampler sampler(options.sampling(), generator.logitCount());
  const Clock::time_point start = Clock::now();
  const uint64_t wanted = uint64_t(int64_t(options.maxNewTokens));
  Status status = Status::ok();
  while (rate.tokens < wanted && stopRequested() == ExitCode::Success) {
    const int32_t next = generator.sample(sampler);
    if (next < 0)
      return notFinite(generator.length());
    const std::vector<int32_t> &stops = prompt.stopTokens;
    if (std::find(stops.begin(), stops.end(), next) != stops.end())
      break;
    ++rate.tokens;
    status = output.add(next);
    if (!status.isOk() || output.isStopped() || output.isClosed() ||
        rate.tokens == wanted || generator.length() == generator.capacity())
      break;
    status = generator.append(&next, 1);
    if (!status.isOk())
      break;
  }
  rate.seconds = secondsSince(start);
  peak.sample();
  return status;
}

static void report(const RunPlan &plan, const PeakMeter &peak,
                   const Rate &prompt, const Rate &text, bool isFull) {
  constexpr double mib = 1024 * 1024;
  fprintf(stderr,
          "prompt       %" PRIu64 " tokens, %.1f tokens/s\n"
          "text         %" PRIu64 " tokens, %.1f tokens/s%s\n"
          "peak         %.1f of %.1f MiB planned\n"
          "resident     %.1f of %.1f MiB planned with mapped files\n",
          prompt.tokens, prompt.perSecond(), text.tokens, text.perSecond(),
          isFull ? ", all that generate.max_length has room for" : "",
          double(peak.anonymous()) / mib, double(plan.total) / mib,
          double(peak.resident()) / mib, double(plan.resident) / mib);
}

/// The program's rows of the plan, for its threads.
static RunPlan planFor(const Module &module, GenerateOptions &options) {
  if (options.threads == 0)
    options.threads =
        std::min<int64_t>(Pool::availableCpus(), Pool::maxThreads);
  const hone_module &abi = module.abi();
  return RunPlan::make(module.config(), abi.arena_bytes, {}, abi.thread_bytes,
                       unsigned(options.threads));
}

Status runGeneration(const hone_module &compiled,
                     const std::vector<std::string> &arguments, ProcessUse use,
                     ExitCode &outcome) {
  HONE_ASSIGN(const Module module, Module::open(compiled));
  HONE_ASSIGN(GenerateOptions options, GenerateOptions::parse(arguments));
  if (options.help) {
    fputs(GenerateOptions::usage().c_str(), stdout);
    return flushOutput();
  }
  if (options.version)
    return printVersion("generate", module);
  if (!options.adapter.empty() && module.abi().trainable_count == 0)
    return Status(ErrorCode::OptionsDisagree, "--adapter",
                  "the program was compiled with lora: none",
                  "compile it with the adapter's lora settings");
  const int64_t most = module.abi().max_rows;
  if (options.promptRows > most)
    return Status(
        ErrorCode::OptionsDisagree, "--prompt-rows",
        "expects at most " + std::to_string(most) +
            ", which were compiled in, but got " +
            std::to_string(int64_t(options.promptRows)),
        "leave it out, or compile with a larger generate.prompt_rows");
  const RunPlan plan = planFor(module, options);
  if (options.plan) {
    fputs(plan.render().c_str(), stdout);
    return flushOutput();
  }
  PeakMeter peak = use == ProcessUse::Alone ? PeakMeter(plan) : PeakMeter();

  HONE_ASSIGN(ModelFiles files, openModelFiles(module, options.weights));
  HONE_ASSIGN(Prompt prompt, readPrompt(options, files, module.config(),
                                        module.config().generate.max_length));
  if (prompt.specialAsText != 0)
    fprintf(stderr, "%s\n",
            describeSpecialAsText(prompt.specialAsText).c_str());
  const Tokenizer *tokenizer = files.tokenizer ? &*files.tokenizer : nullptr;
  if (!tokenizer && !options.showIds)
    return Status(ErrorCode::NoTokenizer, "command line",
                  "the program was compiled without a tokenizer",
                  "add --show-ids, or compile from a folder with "
                  "tokenizer.json");
  HONE_ASSIGN(std::unique_ptr<Pool> pool,
              Pool::create(unsigned(options.threads)));
  std::string verified;
  HONE_TRY(checkWeights(files, module, *pool, options.noVerify, verified));
  peak.count();
  platform::trimHeap();

  HostDevice device(*pool);
  HONE_ASSIGN(std::unique_ptr<Generator> made,
              Generator::create(module, files.weights, device));
  Generator &generator = *made;
  // Without an adapter B is zero, and what A is does not matter.
  if (options.adapter.empty())
    generator.trainables().initialize(/*seed=*/0);
  else if (Status s = generator.trainables().load(options.adapter,
                                                  AdapterUse::Evaluate);
           !s.isOk())
    return s;
  peak.sample();

  const int64_t rows = options.promptRows == 0 ? most : options.promptRows;
  Rate read, written;
  const Clock::time_point start = Clock::now();
  const std::vector<int32_t> &ids = prompt.ids;
  // A signal is seen between pieces.
  for (int64_t at = 0, all = int64_t(ids.size()); at < all; at += rows) {
    outcome = stopRequested();
    if (outcome != ExitCode::Success)
      return Status::ok();
    HONE_TRY(generator.append(ids.data() + at, std::min(rows, all - at)));
  }
  read = {ids.size(), secondsSince(start)};
  peak.sample();
  Output output(options, tokenizer);
  Status status = generate(generator, prompt, options, output, peak, written);
  Status ended = output.finish();
  HONE_TRY(status);
  report(plan, peak, read, written,
         generator.length() == generator.capacity() &&
             written.tokens < uint64_t(int64_t(options.maxNewTokens)));
  outcome = stopRequested();
  return ended.isOk() ? peak.verdict() : ended;
}

} // namespace hone::rt
