//===- hone-adapter.cpp - What becomes of a trained adapter ---------------===//
//
// Flags become requests; there is no other logic here.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLine.h"
#include "compiler/hone-adapter/AdapterExports.h"
#include "compiler/hone-adapter/MergeModel.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
namespace cl = llvm::cl;
using rt::Dtype;

namespace {

const auto dtypes = cl::values(clEnumValN(Dtype::F32, "float32", "4 bytes"),
                               clEnumValN(Dtype::F16, "float16", "2 bytes"),
                               clEnumValN(Dtype::BF16, "bfloat16", "2 bytes"));

/// Values are the numbers that they stand for.
enum class Bits { None = 0, Four = 4, Eight = 8 };
enum class Group { Of32 = 32, Of64 = 64, Of128 = 128 };

/// What every command has.
struct Command {
  Command(const char *name, const char *title, const char *help,
          const char *output, const char *outputHelp)
      : command(name, help), category(title),
        model(cl::Positional, cl::Required, cl::desc("MODEL"), cl::sub(command),
              cl::cat(category)),
        adapter(cl::Positional, cl::Required, cl::desc("ADAPTER"),
                cl::sub(command), cl::cat(category)),
        output("o", cl::Required, cl::value_desc(output), cl::desc(outputHelp),
               cl::sub(command), cl::cat(category)) {}

  cl::SubCommand command;
  cl::OptionCategory category;
  cl::opt<std::string> model, adapter, output;
};

struct Merge : Command {
  Merge()
      : Command("merge", "merge options",
                "add the adapter to the model's weights", "folder",
                "folder for the merged model; new or empty") {}
  cl::opt<Dtype> dtype{
      "dtype", dtypes, cl::sub(command), cl::cat(category),
      cl::desc("element type of all floats; default: unchanged")};
  cl::opt<bool> keepQuantized{
      "keep-quantized", cl::sub(command), cl::cat(category),
      cl::desc("write a quantised model quantised; default: as floats")};
  cl::opt<Bits> measureAs{
      "measure-as",
      cl::init(Bits::None),
      cl::sub(command),
      cl::cat(category),
      cl::desc("report how much of the update survives if a spec quantises the "
               "merged model"),
      cl::values(clEnumValN(Bits::Four, "int4", "weights.dtype: int4"),
                 clEnumValN(Bits::Eight, "int8", "weights.dtype: int8"))};
  cl::opt<Group> groupSize{
      "group-size",
      cl::init(Group::Of64),
      cl::sub(command),
      cl::cat(category),
      cl::desc("of --measure-as"),
      cl::values(clEnumValN(Group::Of32, "32", "weights.group_size: 32"),
                 clEnumValN(Group::Of64, "64", "weights.group_size: 64"),
                 clEnumValN(Group::Of128, "128", "weights.group_size: 128"))};
  cl::opt<bool> report{
      "report", cl::sub(command), cl::cat(category),
      cl::desc("print a row for each matrix, not only the total")};

  Status run() const {
    MergeRequest request{model, adapter, output, {}, keepQuantized, {}};
    if (dtype.getNumOccurrences())
      request.dtype = dtype;
    if (measureAs != Bits::None)
      request.measured = Grouping{static_cast<int>(measureAs.getValue()),
                                  static_cast<int>(groupSize.getValue())};
    HONE_ASSIGN(MergeReport merged, mergeModel(request));
    llvm::outs() << merged.table(report) << "merged       "
                 << std::string(output) << "\n";
    return Status::ok();
  }
};

struct Export : Command {
  using Function = Result<ExportSummary> (*)(const ExportRequest &);
  Export(const char *name, const char *title, const char *help,
         const char *output, const char *outputHelp, Function function)
      : Command(name, title, help, output, outputHelp), function(function) {}
  cl::opt<Dtype> dtype{"dtype",
                       dtypes,
                       cl::init(Dtype::F32),
                       cl::sub(command),
                       cl::cat(category),
                       cl::desc("of the factors")};
  Function function;

  Status run() const {
    HONE_ASSIGN(const ExportSummary summary,
                function({model, adapter, output, dtype}));
    llvm::outs() << "wrote        " << std::string(output) << ", "
                 << summary.modules << " modules of rank " << summary.rank
                 << llvm::format(", scale %g\n", summary.scale);
    if (!summary.note.empty())
      llvm::errs() << "note: " << summary.note << "\n";
    return Status::ok();
  }
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  cl::ResetCommandLineParser(); // LLVM's own flags
  Merge merge;
  Export gguf("export-gguf", "export-gguf options",
              "write the adapter for llama.cpp", "file", "the GGUF file",
              exportGguf);
  Export mlx("export-mlx", "export-mlx options", "write the adapter for mlx-lm",
             "folder", "output for the adapter; new or empty", exportMlx);
  for (Command *command : std::initializer_list<Command *>{&merge, &gguf, &mlx})
    if (argc > 1 && llvm::StringRef(argv[1]) == command->command.getName())
      cl::HideUnrelatedOptions(command->category, command->command);
  if (Status status = parseCommandLine(
          argc, argv,
          "Merges a PEFT adapter into its model, or writes it for other "
          "programs\n");
      !status.isOk())
    return reportStatus(status);
  if (merge.command)
    return reportStatus(merge.run());
  if (gguf.command)
    return reportStatus(gguf.run());
  if (mlx.command)
    return reportStatus(mlx.run());
  return reportStatus(
      Status(ErrorCode::MissingOption, "hone-adapter",
             "expected a command: merge, export-gguf or export-mlx",
             "write hone-adapter merge MODEL ADAPTER -o FOLDER"));
}
