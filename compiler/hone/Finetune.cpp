//===- Finetune.cpp - From a model and data to a run ----------------------===//
//
// The choices are written to the output before anything else, so that the same
// command goes on with the same run, however much memory is free then.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone/Finetune.h"

#include "base/ByteCount.h"
#include "base/Counted.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "compiler/emit/ProgramFolder.h"
#include "compiler/hone/ChildProgram.h"
#include "compiler/hone/GeneratedTexts.h"
#include "compiler/hone/LongSamples.h"
#include "compiler/hone/RunChoice.h"
#include "formats/JsonFile.h"
#include "platform/Files.h"
#include "program/Arguments.h"
#include "program/Options.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

using namespace hone;
using llvm::StringRef;
namespace platform = rt::platform;

/// The options of train that go with the spec, a word a line.
static constexpr const char *kRunOptions = "hone.options";

/// Of a file with mistakes the first are printed.
static constexpr unsigned kShownErrors = 5;

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

namespace {
struct Chosen {
  ModelFacts model;
  DataFacts data;
  RunChoice choice;
};
} // namespace

/// Prints a line before the run.
static void say(const char *label, const std::string &text) {
  llvm::outs() << llvm::formatv("{0,-13}{1}\n", label, text);
}

static std::string describeSource(const ModelFacts &model) {
  return llvm::formatv("{0}, {1} in {2}", model.folder,
                       rt::describeBytes(model.fileBytes),
                       rt::dtypeName(model.dtype));
}

static void sayLengths(const Chosen &chosen) {
  const SampleLengths &lengths = chosen.data.lengths;
  if (lengths.count() == 0)
    return;
  say("lengths",
      llvm::formatv("half of the samples up to {0} tokens, 95 % up "
                    "to {1}, 99 % up to {2}, the longest {3}",
                    lengths.percentile(0.5), lengths.percentile(0.95),
                    lengths.percentile(0.99), lengths.longest()));
}

/// The value after `name` in `options`, options of train.
static std::optional<std::string>
valueOf(const std::vector<std::string> &options, StringRef name) {
  std::optional<std::string> found;
  for (size_t i = 0; i < options.size(); ++i)
    if (auto [option, value] = StringRef(options[i]).split('=');
        option == name) {
      if (value.empty() && i + 1 < options.size())
        value = options[i + 1];
      found = value.trim().str();
    }
  return found;
}

/// The same as a number; `otherwise` if there is none.
static int64_t optionOf(const std::vector<std::string> &options, StringRef name,
                        int64_t otherwise) {
  int64_t number = 0;
  const std::optional<std::string> value = valueOf(options, name);
  return value && !StringRef(*value).getAsInteger(10, number) && number > 0
             ? number
             : otherwise;
}

/// `chosen` and then `given`: an option of a person stands for the same one
/// that was chosen, and data to evaluate on for a part that is held out.
static std::vector<std::string>
joinOptions(const std::vector<std::string> &chosen,
            const std::vector<std::string> &given) {
  std::vector<std::string> out;
  for (size_t i = 0, next; i < chosen.size(); i = next) {
    for (next = i + 1;
         next < chosen.size() && !StringRef(chosen[next]).starts_with("--");)
      ++next;
    const StringRef name = chosen[i];
    const bool isReplaced = llvm::any_of(given, [&](StringRef each) {
      const StringRef own = each.split('=').first;
      return own == name || (name == "--eval-split" && own == "--eval-data");
    });
    if (!isReplaced)
      out.insert(out.end(), chosen.begin() + ptrdiff_t(i),
                 chosen.begin() + ptrdiff_t(next));
  }
  out.insert(out.end(), given.begin(), given.end());
  return out;
}

/// `options` of a person as train spells them: names of other tools that mean
/// the same are taken, and said. Of a key that is compiled in train says so.
static std::vector<std::string>
spelledAsTrain(std::vector<std::string> options) {
  rt::Options known;
  std::map<std::string, std::string> byKey; // of spec, to option
  std::set<std::string> names;
  for (const rt::Setting *setting : known.settings.all())
    byKey[setting->key()] = "--" + setting->option();
  for (const rt::Setting *setting : known.all())
    names.insert("--" + setting->option());
  for (std::string &option : options) {
    const auto [name, value] = StringRef(option).split('=');
    if (!name.starts_with("--") || names.count(name.str()))
      continue;
    std::string word = name.drop_front(2).str();
    std::replace(word.begin(), word.end(), '-', '_');
    const auto own = byKey.find(canonicalKey(word));
    if (own == byKey.end() || own->second == name)
      continue;
    llvm::errs() << "note: " << name << " is " << own->second << " here\n";
    option = own->second + option.substr(name.size());
  }
  return options;
}

/// How many of `samples` `options` hold out, about.
static uint64_t heldOutOf(const std::vector<std::string> &options,
                          uint64_t samples) {
  double part = 0;
  if (const std::optional<std::string> value = valueOf(options, "--eval-split");
      !value || StringRef(*value).getAsDouble(part) || part < 0)
    return 0;
  return std::min(
      samples, uint64_t(std::ceil(part < 1 ? part * double(samples) : part)));
}

/// The length that was chosen, or that `overrides` set, or for this run
/// `options`, of train.
static int64_t lengthOf(const RunChoice &choice,
                        const std::vector<SpecOverride> &overrides,
                        const std::vector<std::string> &options) {
  int64_t length = choice.maxSequenceLength, given = 0;
  for (const SpecOverride &each : overrides)
    if (auto [key, value] = StringRef(each.setting).split('=');
        canonicalKey(key) == "train.max_seq_length" &&
        !value.trim().getAsInteger(10, given) && given > 0)
      length = given;
  return optionOf(options, "--max-seq-length", length);
}

/// The chat template of `overrides`, as the spec will have it.
static std::string chatTemplateOf(const std::vector<SpecOverride> &overrides) {
  std::string found = "model";
  for (const SpecOverride &each : overrides)
    if (auto [key, value] = StringRef(each.setting).split('=');
        key == "chat_template")
      found = value.trim().str();
  return found;
}

static Result<Chosen> choose(const std::string &modelFolder,
                             const std::string &dataPath,
                             const DataReading &reading,
                             const std::vector<SpecOverride> &overrides,
                             const std::vector<std::string> &options) {
  Chosen chosen;
  HONE_ASSIGN(chosen.model, ModelFacts::read(modelFolder));
  say("model", describeSource(chosen.model));
  if (!dataPath.empty()) {
    HONE_ASSIGN(const DataSurvey survey,
                DataSurvey::make(modelFolder,
                                 {dataPath, false, "", 0, reading,
                                  chatTemplateOf(overrides), kShownErrors}));
    chosen.data = DataFacts::of(survey, dataPath);
    say("data", dataPath);
    for (StringRef line : linesOf(survey.data().notes()))
      say("", line.str());
  }
  // Whether they go together is checked later, with the choices beside them.
  if (const Result<Spec> asked = readSpec(modelFolder, overrides); asked.isOk())
    for (const std::string &note : asked.value().notes)
      llvm::errs() << "note: " << note << "\n";
  chosen.choice = chooseRun(chosen.model, chosen.data, Machine::read());
  sayLengths(chosen);
  sayLonger(LongSamples::of(chosen.data.lengths,
                            lengthOf(chosen.choice, overrides, options),
                            chosen.data.canSplit, chosen.model.positions));
  return chosen;
}

Status hone::writeChosenSpec(const InitRequest &request) {
  HONE_ASSIGN(const Chosen chosen, choose(request.model, request.data,
                                          request.reading, request.overrides,
                                          /*options=*/{}));
  HONE_ASSIGN(
      const std::string text,
      renderSpec(chosen.model, chosen.data, chosen.choice, request.overrides));
  if (request.output.empty()) {
    llvm::outs() << "\n" << text;
    return Status::ok();
  }
  if (platform::exists(request.output))
    return Status(ErrorCode::CannotCreate, request.output, "exists already",
                  "remove it, or give -o another name");
  HONE_TRY(rt::writeFile(request.output, text));
  say("spec", request.output);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static std::string inFolder(const std::string &folder, const char *name) {
  return folder + "/" + name;
}

/// The spec of a run. A person may give a pipe as a spec, but none is a run's.
static Result<Spec>
readRunSpec(const std::string &path,
            const std::vector<SpecOverride> &overrides = {}) {
  if (!platform::exists(path))
    return Status(ErrorCode::CannotRead, path,
                  "expected the folder of a run, which has this file, but it "
                  "is not there",
                  "give the folder that hone finetune made");
  HONE_TRY(rt::MappedFile::open(path));
  return readSpec(path, overrides);
}

/// None if there is no such file.
static Result<std::vector<std::string>> readLines(const std::string &path) {
  if (!platform::exists(path))
    return std::vector<std::string>();
  HONE_ASSIGN(const rt::MappedFile file, rt::MappedFile::open(path));
  const std::vector<StringRef> lines = linesOf(file.bytes());
  return std::vector<std::string>(lines.begin(), lines.end());
}

/// "notes.jsonl" and "notes.jsonl.gz" to "notes-adapter".
static std::string defaultOutput(StringRef data) {
  data.consume_back(".gz");
  return llvm::sys::path::stem(data).str() + "-adapter";
}

static std::string duration(double seconds) {
  if (seconds < 90)
    return llvm::formatv("{0:f0} s", seconds);
  if (seconds < 90 * 60)
    return llvm::formatv("{0:f0} min", seconds / 60);
  return llvm::formatv("{0:f1} h", seconds / 3600);
}

/// The smallest placement of `plan` for batches of `rows` rows, or `plan`
/// itself, which has all.
static const rt::Json &placementFor(const rt::Json &plan, int64_t rows) {
  const rt::Json *smallest = &plan;
  if (const rt::Json *fewer = plan.find("fewer"); fewer && fewer->isArray())
    for (const rt::Json &placement : fewer->array())
      if (const rt::Json *most = placement.find("rows");
          most && most->isInteger() && most->integer() >= rows)
        smallest = &placement;
  return *smallest;
}

/// Prints the plan's estimates for the whole run with `options`, of train.
/// Without `data` the run goes on, and its time is left out.
static void sayPlan(const rt::Json &plan, const Spec &spec,
                    const std::optional<DataFacts> &data,
                    const std::vector<std::string> &options) {
  const int64_t batch =
      optionOf(options, "--batch-size", spec.train.batch_size);
  const int64_t length =
      optionOf(options, "--max-seq-length", spec.train.max_seq_length);
  const int64_t rows = batch * length;
  auto number = [](const rt::Json &of, const char *key) {
    const rt::Json *found = of.find(key);
    return found && found->isNumber() ? found->number() : 0.0;
  };
  const double peak = number(placementFor(plan, rows), "peak_bytes"),
               saved = number(plan, "peak_bytes") - peak;
  if (peak > 0)
    say("memory", rt::describeBytes(uint64_t(peak)) +
                      " at the peak, planned; with mapped files " +
                      rt::describeBytes(
                          uint64_t(number(plan, "resident_bytes") - saved)));
  if (!data)
    return;
  uint64_t samples = data->samplesUpTo(length);
  samples -= heldOutOf(options, samples);
  const int64_t each = optionOf(options, "--gradient-accumulation-steps",
                                spec.train.gradient_accumulation_steps);
  const bool hasEpochs = valueOf(options, "--epochs").has_value();
  auto steps =
      uint64_t(optionOf(options, "--steps", hasEpochs ? 0 : spec.train.steps));
  if (steps == 0)
    steps = llvm::divideCeil(samples, uint64_t(batch * each)) *
            uint64_t(optionOf(options, "--epochs", spec.train.epochs));
  // The estimate is of a batch of all rows.
  const double share = double(rows) / double(spec.maxRows());
  say("time", llvm::formatv("about {0}: {1} of {2}",
                            duration(double(steps) * double(each) * share *
                                     number(plan, "estimated_seconds")),
                            rt::counted(steps, "step"),
                            rt::counted(uint64_t(batch * each), "sample")));
}

namespace {
/// The folder of a run that begins.
class NewRun {
public:
  explicit NewRun(const std::string &folder)
      : folder(folder), wasThere(platform::exists(folder)) {}

  Status write(const char *name, const std::string &text) {
    HONE_TRY(rt::writeFile(inFolder(folder, name), text));
    written.push_back(name);
    return Status::ok();
  }

  /// After a choice that could not be compiled, so that another command may
  /// choose again. All that this run did not make stays.
  void remove() const {
    for (const char *name : written)
      platform::removeFile(inFolder(folder, name).c_str());
    if (!wasThere)
      platform::removeFolder(folder.c_str());
  }

  const std::string folder;

private:
  bool wasThere; ///< whatever it is
  std::vector<const char *> written;
};
} // namespace

static Status makeRunFolder(NewRun &run, const Chosen &chosen,
                            const FinetuneRequest &request) {
  const std::string &output = run.folder;
  std::vector<std::string> words = chosen.choice.options;
  for (const std::string &word : request.reading.options())
    words.push_back(word);
  std::string options;
  for (const std::string &word : words) {
    if (StringRef(word).contains('\n'))
      return Status(ErrorCode::WrongOption, word,
                    "expects no line end, since the run remembers an option "
                    "as lines of " +
                        std::string(kRunOptions),
                    "rename the key in the data");
    options += word + "\n";
  }
  HONE_ASSIGN(
      const std::string text,
      renderSpec(chosen.model, chosen.data, chosen.choice, request.overrides));
  if (std::error_code error = createFolder(output);
      error || !llvm::sys::fs::is_directory(output))
    return Status(
        ErrorCode::CannotCreate, output,
        "cannot be made: " +
            (error ? error.message() : std::string("a file has the name")),
        "give -o a folder that you may write to");
  HONE_TRY(run.write(kRunOptions, options));
  return run.write(kRunSpec, text);
}

/// The same command, given again, says nothing new: its settings are in the
/// spec already. Errors: OptionsDisagree for another value, and as readSpec.
static Status checkOverrides(const Spec &spec, const std::string &path,
                             const std::vector<SpecOverride> &overrides) {
  HONE_ASSIGN(const Spec asked, readRunSpec(path, overrides));
  for (auto [chosen, other] : llvm::zip_equal(spec.all(), asked.all()))
    if (chosen->text() != other->text())
      return Status(ErrorCode::OptionsDisagree, asked.placeOf(other->key()),
                    "the run goes on with its spec, " + path + ", which has " +
                        chosen->text(),
                    "change it there, or give -o another folder");
  return Status::ok();
}

/// That train has the options in `arguments`, which are its own, and reads
/// their values, before anything is compiled. Train itself knows which go
/// together. Errors: WrongOption.
static Status checkArguments(const Spec &spec,
                             const std::vector<std::string> &arguments) {
  rt::Options known = rt::Options::defaults(spec);
  std::vector<std::string> names;
  return rt::readArguments(
      arguments, known.all(), known.compiledIn(),
      [](const rt::Setting &) { return Status::ok(); }, names);
}

/// Adds the model's texts before training and after it to the report. With
/// streamed weights that would take too long.
static void sayTexts(const std::string &output, const Spec &spec,
                     const CachedPrograms &programs) {
  if (spec.weights.streaming != "false")
    return;
  const Result<unsigned> texts =
      addGeneratedTexts(output, programs.path("generate"));
  if (texts.isOk() && texts.value() > 0)
    say("texts",
        llvm::formatv("{0} prompts from the data, as the model goes on "
                      "with them before training and after it, are "
                      "in the report",
                      texts.value()));
}

/// Whether a person reads and answers.
static bool hasTerminal() {
  return platform::isTerminal(0) && platform::isTerminal(1);
}

/// The programs to compile and to call for the run in `path`, whose spec was
/// read.
static Result<RunSource> sourceOfRun(const std::string &path,
                                     const Spec &spec) {
  RunSource run;
  run.source = {
      inFolder(path, kRunSpec), {}, {Program::Train, Program::Generate}};
  run.adapter = path;
  run.trainsAll = spec.lora.none;
  HONE_ASSIGN(run.options, readLines(inFolder(path, kRunOptions)));
  return run;
}

/// Chooses `run` and writes the choices. `given` are options of train. Returns
/// the facts of its data.
static Result<DataFacts> beginRun(const FinetuneRequest &request, NewRun &run,
                                  const std::vector<std::string> &given) {
  HONE_ASSIGN(const Chosen chosen,
              choose(request.model, request.data, request.reading,
                     request.overrides, given));
  if (Status status = makeRunFolder(run, chosen, request); !status.isOk()) {
    run.remove();
    return status;
  }
  return chosen.data;
}

/// That the run in `output` is the one that is asked for: it has this model,
/// these keys, and reads its data so. `chosen` are its own options of train.
static Status checkSameRun(const FinetuneRequest &request,
                           const std::string &output, const Spec &spec,
                           const std::vector<std::string> &chosen) {
  const std::string specPath = inFolder(output, kRunSpec);
  HONE_TRY(checkOverrides(spec, specPath, request.overrides));
  if (platform::resolve(request.model) != platform::resolve(spec.model))
    return Status(ErrorCode::OptionsDisagree, specPath,
                  "this run trains the model " + spec.model.text() +
                      ", and not " + request.model,
                  "give -o another folder");
  for (const std::string &option : request.reading.options())
    if (!llvm::is_contained(chosen, option))
      return Status(ErrorCode::OptionsDisagree, option,
                    "the run in " + output + " reads its data otherwise",
                    "give -o another folder, or change " +
                        inFolder(output, kRunOptions));
  return Status::ok();
}

/// The programs of a run that train accepts `arguments` of.
static Result<CachedPrograms>
findPrograms(const Toolchain &toolchain, const Spec &spec, const RunSource &run,
             const std::vector<std::string> &arguments) {
  HONE_TRY(checkArguments(spec, arguments));
  return toolchain.find(run.source);
}

Result<int> hone::finetune(const FinetuneRequest &request,
                           const Toolchain &toolchain) {
  const std::string named =
      request.output.empty() ? defaultOutput(request.data) : request.output;
  // A folder is no option of a later command.
  const std::string output = (named.front() == '-' ? "./" : "") + named;
  const std::string specPath = inFolder(output, kRunSpec);
  const std::vector<std::string> given = spelledAsTrain(request.options);
  std::optional<DataFacts> data;
  const bool isNew = !platform::exists(specPath);
  NewRun begun(output);
  if (isNew) {
    HONE_ASSIGN(data, beginRun(request, begun, given));
  }
  say("spec", specPath + (isNew ? ", which can be changed before the next run"
                                : ", as it is there"));
  HONE_ASSIGN(const Spec spec, readRunSpec(specPath));
  HONE_ASSIGN(const RunSource run, sourceOfRun(output, spec));
  HONE_TRY(checkSameRun(request, output, spec, run.options));
  const std::vector<std::string> options = joinOptions(run.options, given);
  std::vector<std::string> arguments{"--data", request.data, "--output",
                                     output};
  llvm::append_range(arguments, options);
  Result<CachedPrograms> found = findPrograms(toolchain, spec, run, arguments);
  if (!found.isOk() && isNew) {
    begun.remove();
    llvm::errs() << "note: nothing of this run is left in " << output
                 << "; the next command chooses anew\n";
  }
  HONE_ASSIGN(const CachedPrograms programs, std::move(found));
  sayPlan(programs.plan, spec, data, options);
  llvm::outs() << "\n";

  const std::string chat = shellCommand({"hone", "chat", output});
  const bool opens = request.chats && hasTerminal();
  HONE_ASSIGN(const int code, runProgram(programs.path("train"), arguments));
  if (code == static_cast<int>(rt::ExitCode::Usage) && !isNew)
    llvm::errs() << "note: -o FOLDER begins another run beside the one in "
                 << output << "\n";
  if (code != 0)
    return code;
  sayTexts(output, spec, programs);
  if (!opens) {
    say("report", inFolder(output, "report.html"));
    say("chat", chat);
    return 0;
  }
  HONE_TRY(becomeProgram(programs.path("generate"),
                         {"--chat", "--adapter", output}));
  return 0;
}

Result<RunSource> hone::sourceOf(const std::string &path) {
  if (const std::string own = inFolder(path, kRunSpec); platform::exists(own)) {
    HONE_ASSIGN(const Spec spec, readRunSpec(own));
    return sourceOfRun(path, spec);
  }
  RunSource run;
  if (StringRef(path).ends_with(".yaml") || StringRef(path).ends_with(".yml")) {
    run.source = {path, {}, {Program::Generate}};
    return run;
  }
  HONE_ASSIGN(const ModelFacts model, ModelFacts::read(path));
  run.source = {model.folder, {}, {Program::Generate}};
  // Choices that depend on the memory that is free now would compile anew each
  // day.
  for (const ChosenKey &chosen : chooseRun(model, {}, Machine::read()).keys)
    if (chosen.key == "weights.dtype" || chosen.key == "train.max_seq_length")
      run.source.overrides.emplace_back(chosen.key, "hone", chosen.value);
  run.source.overrides.emplace_back("lora", "hone", "none");
  return run;
}

Result<std::string> hone::modelOf(const std::string &run) {
  HONE_ASSIGN(const Spec spec, readRunSpec(inFolder(run, kRunSpec)));
  if (spec.lora.none)
    return Status(ErrorCode::OptionsDisagree, run,
                  "the run trained the whole model and has no adapter",
                  "use the folder itself: it is the trained model");
  return spec.model.text();
}
