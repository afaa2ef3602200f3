//===- hone.cpp - One command for all that users do -----------------------===//
//
// Flags become requests; there is no other logic here. It calls nothing that
// honec could not, which builds programs to be shipped.
//
//===----------------------------------------------------------------------===//

#include "base/Wording.h"
#include "compiler/driver/CommandLine.h"
#include "compiler/driver/Explanation.h"
#include "compiler/driver/Subcommand.h"
#include "compiler/hone-adapter/AdapterExports.h"
#include "compiler/hone-adapter/MergeModel.h"
#include "compiler/hone/ChildProgram.h"
#include "compiler/hone/Completion.h"
#include "compiler/hone/DataReport.h"
#include "compiler/hone/Finetune.h"
#include "compiler/hone/FrontWording.h"
#include "compiler/hone/JoinedReport.h"
#include "compiler/hone/LongSamples.h"
#include "compiler/spec/KeyReference.h"
#include "platform/Files.h"
#include "program/Options.h"
#include "program/StandardOutput.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
namespace cl = llvm::cl;

namespace {

/// A command. Its exit code is that of the program it runs, if it runs one.
class Command : public Subcommand {
public:
  Command(const char *name, const char *help)
      : Subcommand(name, help), name(name) {}
  virtual ~Command() = default;
  const char *const name;

  virtual Result<int> run(const Toolchain &toolchain) const = 0;
};

Result<int> done(const Status &status) {
  HONE_TRY(status);
  return 0;
}

std::vector<SpecOverride> overridesOf(const cl::list<std::string> &set) {
  return {set.begin(), set.end()};
}

/// How data is read, as options of train say it too.
struct ReadingOptions {
  explicit ReadingOptions(Command &command)
      : map{command, "map", cl::value_desc("key=key,..."),
            cl::desc("keys of the data that have other names: "
                     "prompt=question,completion=answer")},
        skipUnusable{command, "skip-unusable",
                     cl::desc("leave out samples that cannot be used, and say "
                              "how many and why")} {}
  Subcommand::Opt<std::string> map;
  Subcommand::Opt<bool> skipUnusable;
};

struct FinetuneCommand : Command {
  FinetuneCommand() : Command("finetune", "train an adapter on a data file") {}
  Opt<std::string> model{*this, cl::Positional, cl::Required,
                         cl::desc("MODEL")};
  Opt<std::string> data{*this, cl::Positional, cl::Required, cl::desc("DATA")};
  List<std::string> options{
      *this, cl::Positional,
      cl::desc("[-- options of train; -- --help lists them]")};
  Opt<std::string> output{
      *this, "o", cl::value_desc("folder"),
      cl::desc("folder of the run; a run that is in it continues; default: the "
               "name of the data with -adapter")};
  List<std::string> set{*this, "set", cl::value_desc("section.key=value"),
                        cl::desc("set a key of the spec instead of "
                                 "choosing it; hone keys lists the keys")};
  Opt<bool> chat{*this, "chat", cl::desc("open a conversation after training")};
  ReadingOptions reading{*this};

  Result<int> run(const Toolchain &toolchain) const override {
    // Which options there are is known before anything is compiled.
    if (llvm::any_of(options, [](const std::string &option) {
          return option == "--help" || option == "-h";
        }))
      return done(rt::printUsage(rt::Options::usage(rt::Options())));
    return finetune({model,
                     data,
                     output,
                     overridesOf(set),
                     {options.begin(), options.end()},
                     chat,
                     {reading.map, reading.skipUnusable}},
                    toolchain);
  }
};

struct InitCommand : Command {
  InitCommand()
      : Command("init", "write the spec that finetune would choose") {}
  Opt<std::string> model{*this, cl::Positional, cl::Required,
                         cl::desc("MODEL")};
  Opt<std::string> data{*this, "data", cl::value_desc("file"),
                        cl::desc("choose for this data")};
  Opt<std::string> output{*this, "o", cl::value_desc("file"),
                          cl::desc("a new file; default: standard output")};
  List<std::string> set{*this, "set", cl::value_desc("section.key=value"),
                        cl::desc("set a key instead of choosing it")};
  ReadingOptions reading{*this};

  Result<int> run(const Toolchain &) const override {
    return done(writeChosenSpec({model,
                                 data,
                                 output,
                                 overridesOf(set),
                                 {reading.map, reading.skipUnusable}}));
  }
};

struct PlanCommand : Command {
  PlanCommand()
      : Command("plan", "print the memory plan of a spec, a run or a model") {}
  Opt<std::string> source{*this, cl::Positional, cl::Required,
                          cl::desc("SPEC.yaml | RUN | MODEL")};
  List<std::string> set{*this, "set", cl::value_desc("section.key=value"),
                        cl::desc("override a key of the spec")};
  Opt<bool> json{*this, "json", cl::desc("for a program")};
  Opt<std::string> data{
      *this, "data", cl::value_desc("file"),
      cl::desc("say how much of it is longer than max_seq_length")};
  ReadingOptions reading{*this};

  Result<int> run(const Toolchain &toolchain) const override {
    if (!rt::platform::exists(source))
      HONE_TRY(sourceOf(source)); // which says what it may be
    const std::string inRun = source + "/" + kRunSpec;
    const std::string spec =
        rt::platform::exists(inRun) ? inRun : source.getValue();
    if (!data.empty())
      HONE_TRY(sayLongSamples(spec, overridesOf(set),
                              {reading.map, reading.skipUnusable}, data));
    return done(
        toolchain.printPlan({spec, overridesOf(set), {Program::Train}},
                            json ? PlanFormat::Json : PlanFormat::Table));
  }
};

struct DataCommand : Command {
  DataCommand()
      : Command("data", "show data as a model's tokens: lengths, targets, "
                        "samples that are left out") {}
  Opt<std::string> model{*this, cl::Positional, cl::Required,
                         cl::desc("MODEL")};
  Opt<std::string> data{*this, cl::Positional, cl::Required, cl::desc("DATA")};
  Opt<DataFormatOut> format{
      *this, "format", cl::desc("how it is printed"),
      cl::init(DataFormatOut::Table),
      cl::values(clEnumValN(DataFormatOut::Table, "table",
                            "for a person, with the first samples"),
                 clEnumValN(DataFormatOut::Json, "json", "counts and lengths"),
                 clEnumValN(DataFormatOut::Ids, "ids",
                            "every sample as a line that train reads"))};
  Opt<unsigned> samples{
      *this, "show-samples", cl::init(2), cl::value_desc("N"),
      cl::desc("print the first N samples (default 2), and mark the "
               "tokens that the loss counts")};
  Opt<unsigned> longest{
      *this, "max-seq-length", cl::init(0), cl::value_desc("N"),
      cl::desc("leave longer samples out, as train does; default: none")};
  Opt<std::string> chatDate{
      *this, "chat-date", cl::value_desc("YYYY-MM-DD"),
      cl::desc("today's date, for chat templates that write it")};
  Opt<bool> parse{
      *this, "parse-special-tokens",
      cl::desc("read special tokens that a text spells as tokens, for a file "
               "that a chat template wrote")};
  ReadingOptions reading{*this};
  Opt<std::string> chatTemplate{
      *this, "chat-template", cl::init("model"), cl::value_desc("name"),
      cl::desc("chatml, llama3, gemma or plain in place of the model's, as "
               "chat_template of a spec")};
  Opt<unsigned> errors{*this, "show-errors", cl::init(20), cl::value_desc("N"),
                       cl::desc("print the first N samples that cannot be "
                                "used (default 20)")};

  Result<int> run(const Toolchain &) const override {
    return done(reportData({model,
                            {data,
                             parse,
                             chatDate,
                             int64_t(longest),
                             {reading.map, reading.skipUnusable},
                             chatTemplate,
                             std::max(1u, unsigned(errors))},
                            format,
                            samples}));
  }
};

/// Runs `generate` of a run's folder, a spec or a model; the rest of the
/// command line is the program's.
struct GenerateCommand : Command {
  GenerateCommand(const char *name, const char *help,
                  std::vector<std::string> first)
      : Command(name, help), first(std::move(first)) {}
  Opt<std::string> source{*this, cl::Positional, cl::Required,
                          cl::desc("RUN | MODEL | SPEC.yaml")};
  List<std::string> options{*this, cl::ConsumeAfter,
                            cl::desc("[options; RUN --help lists them]")};
  const std::vector<std::string> first;

  Result<int> run(const Toolchain &toolchain) const override {
    speakAs(name, source);
    HONE_ASSIGN(const RunSource run, sourceOf(source));
    HONE_ASSIGN(
        const CachedPrograms programs,
        toolchain.find(run.source, llvm::is_contained(options, "--quiet")));
    std::vector<std::string> arguments = first;
    if (!run.adapter.empty())
      arguments.insert(arguments.end(), {"--adapter", run.adapter});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return done(becomeProgram(programs.path("generate"), arguments));
  }
};

struct EvaluateCommand : Command {
  EvaluateCommand()
      : Command("evaluate", "measure the loss of a run's adapter on data") {}
  Opt<std::string> source{*this, cl::Positional, cl::Required, cl::desc("RUN")};
  Opt<std::string> data{*this, cl::Positional, cl::Required, cl::desc("DATA")};
  Opt<bool> base{*this, "base",
                 cl::desc("measure the model without the adapter")};
  ReadingOptions reading{*this};

  Result<int> run(const Toolchain &toolchain) const override {
    HONE_ASSIGN(const RunSource run, sourceOf(source));
    if (run.adapter.empty())
      return Status(ErrorCode::MissingOption, source,
                    "expected the folder of a run",
                    "give the folder that hone finetune wrote");
    HONE_ASSIGN(const CachedPrograms programs, toolchain.find(run.source));
    std::vector<std::string> arguments{"--eval-only", "--eval-data", data};
    if (!base)
      arguments.insert(arguments.end(), {"--adapter", run.adapter});
    // The run remembers how its data was read.
    DataReading how = DataReading::among(run.options);
    if (!reading.map.empty())
      how.map = reading.map;
    how.skipUnusable |= bool(reading.skipUnusable);
    const std::vector<std::string> options = how.options();
    arguments.insert(arguments.end(), options.begin(), options.end());
    return done(becomeProgram(programs.path("train"), arguments));
  }
};

struct MergeCommand : Command {
  MergeCommand()
      : Command("merge", "add a run's adapter to its model's weights") {}
  Opt<std::string> source{*this, cl::Positional, cl::Required, cl::desc("RUN")};
  Opt<std::string> output{
      *this, "o", cl::Required, cl::value_desc("folder"),
      cl::desc("folder for the merged model; new or empty")};

  Result<int> run(const Toolchain &) const override {
    HONE_ASSIGN(const std::string model, modelOf(source));
    HONE_ASSIGN(const MergeReport merged,
                mergeModel({model, source, output, {}, false, {}}));
    merged.print(output, /*isLong=*/false);
    return 0;
  }
};

struct ExportCommand : Command {
  enum class To { Gguf, Mlx };
  ExportCommand()
      : Command("export", "write a run's adapter for llama.cpp or mlx-lm") {}
  Opt<std::string> source{*this, cl::Positional, cl::Required, cl::desc("RUN")};
  Opt<To> to{*this, "to", cl::Required, cl::desc("for which program"),
             cl::values(clEnumValN(To::Gguf, "gguf", "llama.cpp: a file"),
                        clEnumValN(To::Mlx, "mlx", "mlx-lm: a folder"))};
  Opt<std::string> output{*this, "o", cl::Required, cl::value_desc("path"),
                          cl::desc("the file or folder to write")};

  Result<int> run(const Toolchain &) const override {
    HONE_ASSIGN(const std::string model, modelOf(source));
    const ExportRequest request{model, source, output, rt::Dtype::F32};
    HONE_ASSIGN(const ExportSummary summary,
                to == To::Gguf ? exportGguf(request) : exportMlx(request));
    summary.print(output);
    return 0;
  }
};

struct ReportCommand : Command {
  ReportCommand()
      : Command("report", "say where a run's report is, or join those of "
                          "several runs in one page") {}
  List<std::string> runs{*this, cl::Positional, cl::OneOrMore,
                         cl::desc("RUN...")};
  Opt<std::string> output{
      *this, "o", cl::value_desc("file"),
      cl::desc("the page of several runs; default: runs.html")};

  Result<int> run(const Toolchain &) const override {
    if (runs.size() == 1 && output.empty()) {
      HONE_ASSIGN(const std::string page, reportOf(runs.front()));
      llvm::outs() << rt::platform::resolve(page) << "\n";
      return 0;
    }
    const std::string path =
        output.empty() ? std::string("runs.html") : output.getValue();
    HONE_TRY(joinReports({runs.begin(), runs.end()}, path));
    llvm::outs() << rt::platform::resolve(path) << "\n";
    return 0;
  }
};

struct ExplainCommand : Command {
  ExplainCommand() : Command("explain", "explain the code of an error") {}
  Opt<std::string> code{*this, cl::Positional, cl::Required,
                        cl::desc("CODE | all")};

  Result<int> run(const Toolchain &) const override {
    HONE_ASSIGN(const std::string text, explain(code));
    llvm::outs() << rt::Wording::given().apply(text);
    return 0;
  }
};

struct KeysCommand : Command {
  enum class Format { Text, Markdown };
  KeysCommand()
      : Command("keys", "list the keys of a spec, or show some with examples") {
  }
  List<std::string> names{*this, cl::Positional, cl::desc("[KEY...]")};
  Opt<Format> format{
      *this, "format", cl::desc("how they are printed"), cl::init(Format::Text),
      cl::values(clEnumValN(Format::Text, "text", "for a terminal"),
                 clEnumValN(Format::Markdown, "markdown",
                            "as docs/spec.md, each with an example"))};

  Result<int> run(const Toolchain &) const override {
    if (format == Format::Markdown) {
      llvm::outs() << specReferencePage();
      return 0;
    }
    if (names.empty()) {
      llvm::outs() << describeSpecKeys();
      return 0;
    }
    const std::vector<std::string> wanted(names.begin(), names.end());
    HONE_ASSIGN(const std::string text, describeSpecKeys(wanted));
    llvm::outs() << text;
    return 0;
  }
};

struct CompletionCommand : Command {
  CompletionCommand()
      : Command("completion",
                "print a script that completes this command in bash") {}
  Result<int> run(const Toolchain &) const override {
    llvm::outs() << bashCompletion();
    return 0;
  }
};

} // namespace

/// An option of train that nobody put after `--`.
static Status adviseOptions(const Status &status) {
  rt::Message message = status.message();
  rt::Options options;
  for (const rt::Setting *setting : options.all())
    if (message.place.substr(0, message.place.find('=')) ==
        setting->spelling()) {
      message.problem = "is an option of train";
      message.remedy = "write it after --, as in hone finetune MODEL DATA -- " +
                       message.place;
      return Status(*status.errorCode(), std::move(message));
    }
  return status;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  FinetuneCommand finetune;
  InitCommand init_;
  PlanCommand plan;
  DataCommand data;
  GenerateCommand chat("chat", "talk to a run's adapter or to a model",
                       {"--chat"});
  GenerateCommand generate(
      "generate", "continue a text with a run's adapter or a model", {});
  EvaluateCommand evaluate;
  MergeCommand merge;
  ExportCommand exported;
  ReportCommand report;
  ExplainCommand explain;
  KeysCommand keys;
  CompletionCommand completion;
  Command *const commands[] = {
      &finetune, &init_,    &plan,   &data,    &chat, &generate,  &evaluate,
      &merge,    &exported, &report, &explain, &keys, &completion};
  for (Command *command : commands)
    command->showOwnHelp(argc, argv);
  if (Status status = parseCommandLine(
          argc, argv, "Fine-tunes language models in little memory\n");
      !status.isOk())
    return reportStatus(finetune ? adviseOptions(status) : status);
  const Toolchain toolchain(llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(bashCompletion)));
  for (Command *command : commands)
    if (*command) {
      speakAs(command->name, "");
      const Result<int> code = command->run(toolchain);
      const int status = reportStatus(code.status());
      return status != 0 ? status : code.value();
    }
  return reportStatus(
      Status(ErrorCode::MissingOption, "hone", "expected a command",
             "write hone finetune MODEL DATA; hone --help lists all commands"));
}
