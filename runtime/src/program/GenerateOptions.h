//===- GenerateOptions.h - The command line of a program that generates ---===//

#pragma once

#include "base/Status.h"
#include "generate/Sampler.h"
#include "module/Setting.h"
#include "threads/Pool.h"

#include <string>
#include <vector>

namespace hone::rt {

/// A word that may be empty.
class AnyText final : public Word {
public:
  using Word::Word;
  using Word::operator=;
  bool parse(const std::string &text) override;
};

struct GenerateOptions : Section {
  static constexpr int64_t MostTokens = 1 << 24;

  GenerateOptions() : Section("") {}
  GenerateOptions(const GenerateOptions &other) : GenerateOptions() {
    *this = other;
  }
  GenerateOptions &operator=(const GenerateOptions &) = default;

  // clang-format off
  AnyText prompt{*this, "prompt", "", Bits::None, SetBy::Option,
      "text to continue; empty: the model begins one, if it puts a token in "
      "front of texts", aText};
  Word promptFile{*this, "prompt_file", "", Bits::None, SetBy::Option,
      "the same from a file; -: standard input", aFile};
  Words promptIds{*this, "prompt_ids", {}, Bits::None, SetBy::Option,
      "the same as token ids"};
  Truth chat{*this, "chat", false, Bits::None, SetBy::Flag,
      "the prompt is a user's turn in the model's chat template, and the text "
      "ends with the answer; without a prompt: a conversation, whose turns are "
      "lines of standard input"};
  Word messages{*this, "messages", "", Bits::None, SetBy::Option,
      "file with a conversation, in a format of training data, whose last turn "
      "is answered; with --chat the conversation continues from there", aFile};
  Word system{*this, "system", "", Bits::None, SetBy::Option,
      "with --chat or --messages, the system's turn", aText};
  Word chatDate{*this, "chat_date", "", Bits::None, SetBy::Option,
      "today, as YYYY-MM-DD, for chat templates that write the date; empty: "
      "templates get no date", {{}, {}, "DATE"}};
  Word specialTokens{*this, "special_tokens", "text", Bits::None, SetBy::Option,
      "how a special token is read that the prompt spells: as text, or as the "
      "token (parse)",
      {{"text", "parse"}}};
  Integer maxNewTokens{*this, "max_new_tokens", 128, Bits::None, SetBy::Option,
      "end after this many; applies to a conversation's answers only if it is "
      "given",
      from(1, MostTokens)};
  Texts stop{*this, "stop", SetBy::Option,
      "end before this text; may be given several times"};
  Real temperature{*this, "temperature", 0, Bits::None, SetBy::Option,
      "divides logits before a token is drawn; 0: always the most likely one",
      SamplingSettings::temperatures};
  Integer topK{*this, "top_k", 0, Bits::None, SetBy::Option,
      "draw from the K most likely; 0: from all", counts};
  Real topP{*this, "top_p", 1, Bits::None, SetBy::Option,
      "draw from the fewest whose probabilities sum to X",
      SamplingSettings::topPs};
  Real minP{*this, "min_p", 0, Bits::None, SetBy::Option,
      "draw from those that are at least X times as likely as the most likely one",
      SamplingSettings::minPs};
  Real repetitionPenalty{*this, "repetition_penalty", 1, Bits::None, SetBy::Option,
      "makes tokens of the text so far less likely: divides their positive "
      "logits by this number and multiplies negative ones; 1: no penalty",
      SamplingSettings::repetitionPenalties};
  Integer seed{*this, "seed", 0, Bits::None, SetBy::Option,
      "seed of the random draws; the same seed draws the same text, with any "
      "number of threads",
      notNegative};
  Word adapter{*this, "adapter", "", Bits::None, SetBy::Option,
      "use the model with this PEFT adapter, or with lora: none the model that "
      "a run wrote; default: the model alone", aFolder};
  Truth compare{*this, "compare", false, Bits::None, SetBy::Flag,
      "with --adapter, write the text of the model alone first, then the text "
      "with the adapter, each after a line that names it"};
  Truth showIds{*this, "show_ids", false, Bits::None, SetBy::Flag,
      "write token ids, one on a line, and no text"};
  Integer promptRows{*this, "prompt_rows", 0, Bits::None, SetBy::Option,
      "prompt tokens that are computed together, at most as many as were "
      "compiled in; changes the text by rounding only; 0: as many as were "
      "compiled in",
      counts};
  Word weights{*this, "weights", "", Bits::None, SetBy::Option,
      "the frozen weights, if not beside this program", aFile};
  Truth noVerify{*this, "no_verify", false, Bits::None, SetBy::Flag,
      "start without verifying the weights; damaged weights then go unnoticed"};
  Integer threads{*this, "threads", 0, Bits::None, SetBy::Option,
      "number of threads; it does not change results; 0: one for each CPU",
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
  bool isConversation() const { return chat && !isPrompted; }

  /// Reads `arguments` (without the program's name) and checks that the
  /// combination makes sense. Errors: WrongOption, MissingOption,
  /// OptionsDisagree.
  static Result<GenerateOptions>
  parse(const std::vector<std::string> &arguments);

  /// The text of --help.
  static std::string usage();

private:
  bool isPrompted = false; ///< by a text, which may be empty, or a file
};

} // namespace hone::rt
