//===- GenerateOptions.h - The command line of a program that generates ---===//

#pragma once

#include "base/Status.h"
#include "generate/Sampler.h"
#include "module/Setting.h"
#include "threads/Pool.h"

#include <string>
#include <vector>

namespace hone::rt {

struct GenerateOptions : Section {
  static constexpr int64_t MostTokens = 1 << 24;

  GenerateOptions() : Section("") {}
  GenerateOptions(const GenerateOptions &other) : GenerateOptions() {
    *this = other;
  }
  GenerateOptions &operator=(const GenerateOptions &) = default;

  // clang-format off
  Word prompt{*this, "prompt", "", Bits::None, SetBy::Option,
      "what the text goes on from", aText};
  Word promptFile{*this, "prompt_file", "", Bits::None, SetBy::Option,
      "the same from a file; -: from standard input", aFile};
  Words promptIds{*this, "prompt_ids", {}, Bits::None, SetBy::Option,
      "the same as token ids"};
  Truth chat{*this, "chat", false, Bits::None, SetBy::Flag,
      "the prompt is a user's turn in the model's chat template, and the text "
      "ends with the answer; without a prompt: a conversation, whose turns are "
      "lines of standard input"};
  Word messages{*this, "messages", "", Bits::None, SetBy::Option,
      "a file with a conversation, as training data has it, whose last turn is "
      "answered; with --chat the conversation goes on from there", aFile};
  Word system{*this, "system", "", Bits::None, SetBy::Option,
      "with --chat or --messages, the system's turn", aText};
  Word chatDate{*this, "chat_date", "", Bits::None, SetBy::Option,
      "today, as YYYY-MM-DD, for chat templates that write it; empty: they are not "
      "told"};
  Word specialTokens{*this, "special_tokens", "text", Bits::None, SetBy::Option,
      "what special tokens are that the prompt spells: text, or tokens (parse)",
      {{"text", "parse"}}};
  Integer maxNewTokens{*this, "max_new_tokens", 128, Bits::None, SetBy::Option,
      "end after so many; a conversation's answers end so only if it is given",
      from(1, MostTokens)};
  Texts stop{*this, "stop", SetBy::Option,
      "end before this text; may be given for several"};
  Real temperature{*this, "temperature", 0, Bits::None, SetBy::Option,
      "divides logits before a token is drawn; 0: always the most likely one",
      {0, 1e4}};
  Integer topK{*this, "top_k", 0, Bits::None, SetBy::Option,
      "draw from the K most likely; 0: from all", counts};
  Real topP{*this, "top_p", 1, Bits::None, SetBy::Option,
      "draw from the fewest whose probabilities sum to P", {0, 1, false, true}};
  Real minP{*this, "min_p", 0, Bits::None, SetBy::Option,
      "draw from those that are at least P times as likely as the most likely one",
      from(0, 1)};
  Real repetitionPenalty{*this, "repetition_penalty", 1, Bits::None, SetBy::Option,
      "makes tokens that were there less likely: their logits are divided by it, "
      "or multiplied if negative; 1: nothing", positive};
  Integer seed{*this, "seed", 0, Bits::None, SetBy::Option,
      "of what is drawn; the same seed draws the same, with any number of threads",
      notNegative};
  Word adapter{*this, "adapter", "", Bits::None, SetBy::Option,
      "the model with this PEFT adapter, or with lora: none the model that a run "
      "wrote; default: the model alone", aFolder};
  Truth compare{*this, "compare", false, Bits::None, SetBy::Flag,
      "with --adapter, first the text of the model alone, then that with the "
      "adapter, after a line that says so"};
  Truth showIds{*this, "show_ids", false, Bits::None, SetBy::Flag,
      "write token ids, a line for each, and no text"};
  Integer promptRows{*this, "prompt_rows", 0, Bits::None, SetBy::Option,
      "tokens of the prompt that are computed together, at most as many as were "
      "compiled in; the text depends on it by rounding only; 0: all of these",
      counts};
  Word weights{*this, "weights", "", Bits::None, SetBy::Option,
      "the frozen weights, if not beside this program", aFile};
  Truth noVerify{*this, "no_verify", false, Bits::None, SetBy::Flag,
      "start without reading the weights; damaged ones then go unnoticed"};
  Integer threads{*this, "threads", 0, Bits::None, SetBy::Option,
      "results do not depend on it; 0: one for each CPU",
      from(0, Pool::maxThreads)};
  Truth quiet{*this, "quiet", false, Bits::None, SetBy::Flag,
      "print no statistics"};
  Truth plan{*this, "plan", false, Bits::None, SetBy::Flag,
      "print the planned peak of memory and exit"};
  Truth help{*this, "help", false, Bits::None, SetBy::Flag,
      "print this and exit"};
  Truth version{*this, "version", false, Bits::None, SetBy::Flag,
      "print versions and exit"};
  // clang-format on

  SamplingSettings sampling() const {
    return {temperature, uint64_t(int64_t(topK)), topP, uint64_t(int64_t(seed)),
            minP,        repetitionPenalty};
  }

  /// Whether prompts come one after another, from standard input.
  bool isConversation() const {
    return chat && prompt.empty() && promptFile.empty();
  }

  /// Reads `arguments` (without the program's name) and checks that the
  /// combination makes sense. Errors: WrongOption, MissingOption,
  /// OptionsDisagree.
  static Result<GenerateOptions>
  parse(const std::vector<std::string> &arguments);

  /// The text of --help.
  static std::string usage();
};

} // namespace hone::rt
