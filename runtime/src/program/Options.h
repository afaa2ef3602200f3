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
      "data to train on: .txt, or .jsonl, .json, .csv or .tsv of texts, prompts, "
      "conversations or ids, also .gz of these", aFile};
  Word tooLong{*this, "too_long", "by-kind", Bits::None, SetBy::Option,
      "samples longer than max_seq_length: split texts and leave others out "
      "(by-kind), or of every kind leave-out, refuse, cut their ends, or split",
      {{"by-kind", "leave-out", "refuse", "cut", "split"}}};
  Word map{*this, "map", "", Bits::None, SetBy::Option,
      "keys of the data that have other names: prompt=question,completion=answer",
      {{}, {}, "PAIRS"}};
  Truth skipUnusable{*this, "skip_unusable", false, Bits::None, SetBy::Flag,
      "leave out samples that cannot be used, and say how many and why"};
  Integer kShot{*this, "k_shot", 0, Bits::Run, SetBy::Option,
      "train on K examples of each label of the task, drawn by --seed; 0: on all",
      counts};
  Word chatDate{*this, "chat_date", "", Bits::None, SetBy::Option,
      "today, as YYYY-MM-DD, for chat templates that write the date; empty: "
      "templates get no date", {{}, {}, "DATE"}};
  Word specialTokens{*this, "special_tokens", "text", Bits::None, SetBy::Option,
      "how a special token is read that a text spells: as text, or as the token "
      "(parse), for files that a chat template wrote", {{"text", "parse"}}};
  Integer showSamples{*this, "show_samples", 2, Bits::None, SetBy::Option,
      "print the first N samples before step 0, and mark the tokens that the "
      "loss counts; 0: the report shows none, either, and takes no forwards for it",
      counts};
  Word output{*this, "output", "", Bits::None, SetBy::Option,
      "folder for checkpoints and the adapter; a run in it resumes", aFolder};
  Duration timeLimit{*this, "for", Bits::None, SetBy::Option,
      "end within TIME of the start, if need be in the middle of a step, which "
      "is written first; the same command goes on there"};
  Truth suspend{*this, "suspend", false, Bits::None, SetBy::Flag,
      "let a signal such as SIGTERM stop in the middle of a step, too"};
  Duration suspendEvery{*this, "suspend_every", Bits::None, SetBy::Option,
      "write the step every TIME, so that a kill costs no more than that"};
  Word evalData{*this, "eval_data", "", Bits::None, SetBy::Option,
      "data to evaluate on, in the same formats", aFile};
  Real evalSplit{*this, "eval_split", 0, Bits::Run, SetBy::Option,
      "hold a part of --data out of training and evaluate on it: below 1 a "
      "fraction, else a number of samples, drawn by --seed; 0: none",
      notNegative};
  Integer evalEvery{*this, "eval_every", 0, Bits::None, SetBy::Option,
      "evaluate after every N steps; 0: after the last", counts};
  Integer earlyStop{*this, "early_stop", 0, Bits::None, SetBy::Option,
      "stop after N successive evaluations that are not better than the best; "
      "0: never", counts};
  Word metricForBestModel{*this, "metric_for_best_model", "loss", Bits::None,
      SetBy::Option,
      "measure of the best evaluation, whose adapter --eval-every keeps in "
      "best/",
      {{"loss", "accuracy"}}};
  Truth loadBestModelAtEnd{*this, "load_best_model_at_end", false, Bits::None,
      SetBy::Flag,
      "at the end write the best adapter to --output, not the last one"};
  Truth evalOnly{*this, "eval_only", false, Bits::None, SetBy::Flag,
      "print the mean loss on --eval-data and exit"};
  Word predictions{*this, "predictions", "", Bits::None, SetBy::Option,
      "with --eval-only, write the loss of each candidate of each example as "
      "JSON lines", aFile};
  Word replay{*this, "replay", "", Bits::None, SetBy::Option,
      "repeat the updates of this run's replay.hone without data, and write the "
      "adapter", aFile};
  Word adapter{*this, "adapter", "", Bits::Run, SetBy::Option,
      "start from this PEFT adapter; with lora: none, from this model",
      aFolder};
  Truth allowOtherNumerics{*this, "allow_other_numerics", false, Bits::None,
      SetBy::Flag,
      "resume a run that was computed with other instructions or rounding"};
  Word weights{*this, "weights", "", Bits::None, SetBy::Option,
      "the frozen weights, if not beside this program", aFile};
  Truth noVerify{*this, "no_verify", false, Bits::None, SetBy::Flag,
      "start without verifying the weights; damaged weights then train "
      "unnoticed"};
  Integer threads{*this, "threads", 0, Bits::None, SetBy::Option,
      "number of threads; it does not change results; 0: one for each CPU, as "
      "far as a budget allows",
      from(0, Pool::maxThreads)};
  Word log{*this, "log", "", Bits::None, SetBy::Option,
      "append a JSON line for each step; empty: steps.jsonl in --output",
      aFile};
  Word profile{*this, "profile", "", Bits::None, SetBy::Option,
      "measure the time of every kernel; print it and write it as JSON",
      aFile};
  Truth plan{*this, "plan", false, Bits::None, SetBy::Flag,
      "print the planned peak of memory and exit"};
  Word dumpGradients{*this, "dump_gradients", "", Bits::None, SetBy::Option,
      "write the gradients of the file's first batch as safetensors and exit",
      aFile};
  Integer device{*this, "device", 0, Bits::None, SetBy::Option,
      "with a program for GPUs, the number of the GPU to train on, from 0",
      counts};
  Word exchange{*this, "exchange", "", Bits::None, SetBy::Option,
      "train together with the programs of the other parts: the engine that "
      "carries their messages, the library hone-exchange-NAME.so beside this "
      "program"};
  Word serve{*this, "serve", "", Bits::None, SetBy::Option,
      "train together over gRPC: listen at HOST:PORT, or unix:PATH, for the "
      "programs that connect", {{}, {}, "ADDRESS"}};
  Word connect{*this, "connect", "", Bits::None, SetBy::Option,
      "train together over gRPC with the program that serves at HOST:PORT or "
      "unix:PATH, beside --serve the one after this one; with two of them "
      "NAME=HOST:PORT,...", {{}, {}, "ADDRESS"}};
  Word keys{*this, "keys", "", Bits::None, SetBy::Option,
      "with --serve and --connect: folder of the keys that hone-keys issued",
      aFolder};
  Word admit{*this, "admit", "", Bits::None, SetBy::Option,
      "with --serve: file of the names that may connect, one a line; read at "
      "each connection", aFile};
  Word exchangeAt{*this, "exchange_at", "", Bits::None, SetBy::Option,
      "where the engine finds the other programs, as the engine says", aText};
  Integer timeout{*this, "timeout", 600, Bits::None, SetBy::Option,
      "seconds to wait for a sign of another program of the model; 0: without "
      "end",
      from(0, 1 << 20)};
  Truth listDevices{*this, "list_devices", false, Bits::None, SetBy::Flag,
      "print the GPUs that programs can train on and exit"};
  Truth help{*this, "help", false, Bits::None, SetBy::Flag,
      "print this and exit"};
  Truth version{*this, "version", false, Bits::None, SetBy::Flag,
      "print versions and exit"};
  // clang-format on

  /// The compiled settings, changed by options.
  Settings settings;
  /// Names of the options that the command line has.
  std::vector<std::string> given;
  std::string after; ///< the program after this one, if there is one

  bool isGiven(const Setting &setting) const;

  /// The program's own options whose values are not their defaults.
  std::vector<const Setting *> changed() const;
  /// Whether there is data to evaluate on.
  bool evaluates() const { return !evalData.empty() || evalSplit > 0; }
  /// Whether a step may stop, or is written, before its end.
  bool pauses() const { return timeLimit || suspend || suspendEvery; }
  /// "--for": the first of the options that say so.
  std::string pauseOption() const {
    return (timeLimit ? timeLimit.spelling()
            : suspend ? suspend.spelling()
                      : suspendEvery.spelling());
  }
  /// Whether the best evaluation's adapter or model is kept, in best/.
  bool keepsBest() const { return evaluates() && evalEvery > 0; }
  /// Whether an adapter or a model is written at the end.
  bool writesResult() const { return !evalOnly && dumpGradients.empty(); }

  /// The program's own, then those of the settings that are options.
  std::vector<Setting *> all();

  /// Settings that only a spec sets.
  std::vector<const Setting *> compiledIn() const;

  /// The settings with which the module was compiled.
  static Options defaults(const Settings &compiled) {
    Options options;
    options.settings = compiled;
    return options;
  }

  /// Reads `arguments` (without the program's name) over `defaults`, then
  /// checks that the combination makes sense. Errors: Usage.
  static Result<Options> parse(const std::vector<std::string> &arguments,
                               const Options &defaults);

  /// Checks that batches of `settings` fit those of `compiled`. Errors:
  /// OptionsDisagree.
  static Status checkShape(const Settings &settings, const Settings &compiled);

  /// The text of --help, with `defaults` as the values in brackets.
  static std::string usage(const Options &defaults);
};

} // namespace hone::rt
