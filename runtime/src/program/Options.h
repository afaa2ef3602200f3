//===- Options.h - The command line of a training binary ------------------===//
//
// Its options are the settings of the compiled module that may change, and
// those of the program itself, declared here; parsing and --help walk both.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Settings.h"
#include "threads/Pool.h"

#include <string>
#include <vector>

namespace hone::rt {

struct Options : Section {
  Options() : Section("") {}
  Options(const Options &other) : Options() { *this = other; }
  Options &operator=(const Options &) = default;

  // clang-format off
  Word data{*this, "data", "", Bits::None, SetBy::Option,
      "what to train on: .txt, or .jsonl or .json of texts, prompts, conversations "
      "or ids", aFile};
  Word tooLong{*this, "too_long", "leave-out", Bits::None, SetBy::Option,
      "samples longer than max_seq_length: leave-out, refuse, cut their ends, or "
      "split them into several", {{"leave-out", "refuse", "cut", "split"}}};
  Integer kShot{*this, "k_shot", 0, Bits::Run, SetBy::Option,
      "train on K examples of each label of the task, drawn by --seed; 0: on all",
      counts};
  Word chatDate{*this, "chat_date", "", Bits::None, SetBy::Option,
      "today, as YYYY-MM-DD, for chat templates that write it; empty: they are not "
      "told"};
  Word specialTokens{*this, "special_tokens", "text", Bits::None, SetBy::Option,
      "what special tokens are that a text spells: text, or tokens (parse), for a "
      "file that a chat template wrote", {{"text", "parse"}}};
  Integer showSamples{*this, "show_samples", 2, Bits::None, SetBy::Option,
      "print the first N samples before step 0, marking what the loss is taken "
      "from", counts};
  Word output{*this, "output", "", Bits::None, SetBy::Option,
      "where checkpoints and the adapter go; a run in it resumes", aFolder};
  Word evalData{*this, "eval_data", "", Bits::None, SetBy::Option,
      "what to evaluate on", aFile};
  Real evalSplit{*this, "eval_split", 0, Bits::Run, SetBy::Option,
      "hold a part of --data out of training and evaluate on it: below 1 a part, "
      "else how many samples, drawn by --seed; 0: none", notNegative};
  Integer evalEvery{*this, "eval_every", 0, Bits::None, SetBy::Option,
      "evaluate after every N steps; 0: after the last", counts};
  Integer earlyStop{*this, "early_stop", 0, Bits::None, SetBy::Option,
      "stop when N evaluations one after another are not better than the best; 0: "
      "never", counts};
  Word metricForBestModel{*this, "metric_for_best_model", "loss", Bits::None,
      SetBy::Option,
      "what makes an evaluation the best, whose adapter --eval-every keeps in best/",
      {{"loss", "accuracy"}}};
  Truth loadBestModelAtEnd{*this, "load_best_model_at_end", false, Bits::None,
      SetBy::Flag, "leave the best adapter in --output at the end, not the last"};
  Truth evalOnly{*this, "eval_only", false, Bits::None, SetBy::Flag,
      "print the mean loss on --eval-data and exit"};
  Word predictions{*this, "predictions", "", Bits::None, SetBy::Option,
      "with --eval-only, write what each candidate of each example loses as JSON "
      "lines", aFile};
  Word replay{*this, "replay", "", Bits::None, SetBy::Option,
      "make the updates of this run's replay.hone again, without data, and write "
      "the adapter", aFile};
  Word adapter{*this, "adapter", "", Bits::Run, SetBy::Option,
      "start from this PEFT adapter; with lora: none, from this model", aFolder};
  Truth allowOtherNumerics{*this, "allow_other_numerics", false, Bits::None,
      SetBy::Flag,
      "resume a run that was computed by other instructions or roundings"};
  Word weights{*this, "weights", "", Bits::None, SetBy::Option,
      "the frozen weights, if not beside this program", aFile};
  Truth noVerify{*this, "no_verify", false, Bits::None, SetBy::Flag,
      "start without reading the weights; damaged ones then train unnoticed"};
  Integer threads{*this, "threads", 0, Bits::None, SetBy::Option,
      "results do not depend on it; 0: one for each CPU, as many as fit a budget",
      from(0, Pool::maxThreads)};
  Word log{*this, "log", "", Bits::None, SetBy::Option,
      "append a JSON line for each step; empty: steps.jsonl in --output", aFile};
  Word profile{*this, "profile", "", Bits::None, SetBy::Option,
      "time every kernel; print where the time went and write it as JSON",
      aFile};
  Truth plan{*this, "plan", false, Bits::None, SetBy::Flag,
      "print the planned peak of memory and exit"};
  Word dumpGradients{*this, "dump_gradients", "", Bits::None, SetBy::Option,
      "write the gradients of the file's first batch as safetensors and exit",
      aFile};
  Integer device{*this, "device", 0, Bits::None, SetBy::Option,
      "of a program for GPUs, which of them to train on, counted from 0", counts};
  Truth listDevices{*this, "list_devices", false, Bits::None, SetBy::Flag,
      "print the GPUs that programs can train on and exit"};
  Truth help{*this, "help", false, Bits::None, SetBy::Flag,
      "print this and exit"};
  Truth version{*this, "version", false, Bits::None, SetBy::Flag,
      "print versions and exit"};
  // clang-format on

  /// With what the options changed.
  Settings settings;

  /// Of the program's own those that say something.
  std::vector<const Setting *> changed() const;
  /// Whether there is data to evaluate on.
  bool evaluates() const { return !evalData.empty() || evalSplit > 0; }
  /// Whether the best evaluation's adapter or model is kept, in best/.
  bool keepsBest() const { return evaluates() && evalEvery > 0; }
  /// Whether an adapter or a model is written at the end.
  bool writesResult() const { return !evalOnly && dumpGradients.empty(); }

  /// The program's own, then those of the settings that are options.
  std::vector<Setting *> all();

  /// Settings that only a spec sets.
  std::vector<const Setting *> compiledIn() const;

  /// What the module was compiled with.
  static Options defaults(const Settings &compiled) {
    Options options;
    options.settings = compiled;
    return options;
  }

  /// Reads `arguments` (without the program's name) over `defaults`, then
  /// checks that the combination makes sense. Errors: Usage.
  static Result<Options> parse(const std::vector<std::string> &arguments,
                               const Options &defaults);

  /// The text of --help, with `defaults` as the values in brackets.
  static std::string usage(const Options &defaults);
};

} // namespace hone::rt
