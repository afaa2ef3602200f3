//===- GenerateProgram.cpp - The program that generates text --------------===//
//
// Standard output has the text and nothing else; notes for a person are on
// standard error.
//
//===----------------------------------------------------------------------===//

#include "program/GenerateProgram.h"

#include "base/ByteCount.h"
#include "device/HostDevice.h"
#include "generate/Generator.h"
#include "module/Memory.h"
#include "platform/System.h"
#include "program/AdapterBase.h"
#include "program/Chat.h"
#include "program/Prompt.h"
#include "program/Signals.h"
#include "program/StandardOutput.h"
#include "program/TextWriter.h"

#include <algorithm>
#include <cstdio>

namespace hone::rt {

static void reportMemory(const RunPlan &plan, const PeakMeter &peak) {
  fprintf(stderr,
          "peak         %s\n"
          "resident     %s with mapped files\n",
          PeakMeter::describe(peak.anonymous(), plan.total).c_str(),
          PeakMeter::describe(peak.resident(), plan.resident).c_str());
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

/// Checks that the program supports the options.
static Status checkOptions(const GenerateOptions &options,
                           const Module &module) {
  if (!options.adapter.empty() && module.abi().trainable_count == 0)
    return Status(ErrorCode::OptionsDisagree, "--adapter",
                  "the program was compiled with lora: none, and "
                  "without one that trains",
                  "compile it with the adapter's lora settings, or "
                  "from the model");
  const int64_t most = module.abi().max_rows;
  if (options.promptRows > most)
    return Status(
        ErrorCode::OptionsDisagree, "--prompt-rows",
        "expects at most " + std::to_string(most) +
            ", which were compiled in, but got " +
            std::to_string(int64_t(options.promptRows)),
        "leave it out, or compile with a larger generate.prompt_rows");
  return Status::ok();
}

Status runGeneration(const hone_module &compiled,
                     const std::vector<std::string> &arguments, ProcessUse use,
                     ExitCode &outcome) {
  HONE_ASSIGN(const Module module, Module::open(compiled));
  HONE_ASSIGN(GenerateOptions options, GenerateOptions::parse(arguments));
  if (options.help)
    return printUsage(GenerateOptions::usage());
  if (options.version)
    return printVersion("generate", module);
  HONE_TRY(checkOptions(options, module));
  const RunPlan plan = planFor(module, options);
  if (options.plan) {
    fputs(plan.render().c_str(), stdout);
    return flushOutput();
  }
  PeakMeter peak = use == ProcessUse::Alone ? PeakMeter(plan) : PeakMeter();

  HONE_ASSIGN(ModelFiles files, openModelFiles(module, options.weights));
  const ModuleConfig &config = module.config();
  Prompt prompt;
  ChatPrompt chat;
  Conversation begun;
  if (options.isConversation()) {
    HONE_ASSIGN(chat, ChatPrompt::open(options, files));
    HONE_ASSIGN(begun, startingConversation(options));
  } else {
    HONE_ASSIGN(prompt,
                readPrompt(options, files, config, config.generate.max_length));
  }
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
  TextWriter writer(generator, options, config, tokenizer,
                    options.promptRows == 0 ? int64_t(module.abi().max_rows)
                                            : options.promptRows,
                    peak);
  HONE_TRY(writer.start());
  if (const std::string other =
          options.adapter.empty() ? ""
                                  : describeOtherBase(options.adapter, config);
      !other.empty())
    fputs(printable("note: " + other + "\n").c_str(), stderr);
  peak.sample();

  if (options.isConversation())
    HONE_TRY(
        Chat(options, files, config, std::move(chat), writer, std::move(begun))
            .run());
  else
    HONE_TRY(writer.write(prompt));
  outcome = stopRequested();
  const bool isStoppedBefore =
      outcome != ExitCode::Success && writer.written().tokens == 0;
  if (!options.quiet && !isStoppedBefore)
    reportMemory(plan, peak);
  return isStoppedBefore ? Status::ok() : peak.verdict();
}

} // namespace hone::rt
