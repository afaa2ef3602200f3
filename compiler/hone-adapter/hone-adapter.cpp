//===- hone-adapter.cpp - The uses of a trained adapter -------------------===//
//
// Flags become requests; there is no other logic here.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLine.h"
#include "compiler/driver/Subcommand.h"
#include "compiler/hone-adapter/AdapterExports.h"
#include "compiler/hone-adapter/JoinAdapters.h"
#include "compiler/hone-adapter/MergeModel.h"

#include "llvm/Support/InitLLVM.h"

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

/// The options of every command that takes a model.
struct Command : Subcommand {
  Command(const char *name, const char *help, const char *output,
          const char *outputHelp)
      : Subcommand(name, help),
        output(*this, "o", cl::Required, cl::value_desc(output),
               cl::desc(outputHelp)) {}

  Opt<std::string> model{*this, cl::Positional, cl::Required,
                         cl::desc("MODEL")};
  Opt<std::string> adapter{*this, cl::Positional, cl::Required,
                           cl::desc("ADAPTER")};
  Opt<std::string> output;
};

struct Merge : Command {
  Merge()
      : Command("merge", "add the adapter to the model's weights", "folder",
                "folder for the merged model; new or empty") {}
  Opt<Dtype> dtype{*this, "dtype", dtypes,
                   cl::desc("element type of all floats; default: unchanged")};
  Opt<bool> keepQuantized{
      *this, "keep-quantized",
      cl::desc("write a quantised model quantised; default: as floats")};
  Opt<Bits> measureAs{
      *this, "measure-as", cl::init(Bits::None),
      cl::desc("report how much of the update survives if a spec quantises the "
               "merged model"),
      cl::values(clEnumValN(Bits::Four, "int4", "weights.dtype: int4"),
                 clEnumValN(Bits::Eight, "int8", "weights.dtype: int8"))};
  Opt<Group> groupSize{
      *this, "group-size", cl::init(Group::Of64), cl::desc("of --measure-as"),
      cl::values(clEnumValN(Group::Of32, "32", "weights.group_size: 32"),
                 clEnumValN(Group::Of64, "64", "weights.group_size: 64"),
                 clEnumValN(Group::Of128, "128", "weights.group_size: 128"))};
  Opt<bool> report{*this, "report",
                   cl::desc("print a row for each matrix, not only the total")};

  Status run() const {
    MergeRequest request{model, adapter, output, {}, keepQuantized, {}};
    if (dtype.getNumOccurrences())
      request.dtype = dtype;
    if (measureAs != Bits::None)
      request.measured = Grouping{static_cast<int>(measureAs.getValue()),
                                  static_cast<int>(groupSize.getValue())};
    HONE_ASSIGN(MergeReport merged, mergeModel(request));
    merged.print(output, report);
    return Status::ok();
  }
};

struct Export : Command {
  using Function = Result<ExportSummary> (*)(const ExportRequest &);
  Export(const char *name, const char *help, const char *output,
         const char *outputHelp, Function function)
      : Command(name, help, output, outputHelp), function(function) {}
  Opt<Dtype> dtype{*this, "dtype", dtypes, cl::init(Dtype::F32),
                   cl::desc("of the factors")};
  Function function;

  Status run() const {
    HONE_ASSIGN(const ExportSummary summary,
                function({model, adapter, output, dtype}));
    summary.print(output);
    return Status::ok();
  }
};

struct Join : Subcommand {
  Join()
      : Subcommand("join",
                   "make one adapter of those of a model's parts, which "
                   "trained as programs of their own") {}
  List<std::string> parts{*this, cl::Positional, cl::OneOrMore,
                          cl::desc("ADAPTER...")};
  Opt<std::string> output{*this, "o", cl::Required, cl::value_desc("folder"),
                          cl::desc("output for the adapter; new or empty")};

  Status run() const {
    HONE_ASSIGN(const JoinSummary summary,
                joinAdapters({{parts.begin(), parts.end()}, output}));
    summary.print(output);
    return Status::ok();
  }
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  Merge merge;
  Export gguf("export-gguf", "write the adapter for llama.cpp", "file",
              "the GGUF file", exportGguf);
  Export mlx("export-mlx", "write the adapter for mlx-lm", "folder",
             "output for the adapter; new or empty", exportMlx);
  Join join;
  for (Subcommand *command :
       std::initializer_list<Subcommand *>{&merge, &gguf, &mlx, &join})
    command->showOwnHelp(argc, argv);
  if (Status status = parseCommandLine(
          argc, argv,
          "Merges a PEFT adapter into its model, writes it for other "
          "programs, or joins those of parts\n");
      !status.isOk())
    return reportStatus(status);
  if (merge)
    return reportStatus(merge.run());
  if (gguf)
    return reportStatus(gguf.run());
  if (mlx)
    return reportStatus(mlx.run());
  if (join)
    return reportStatus(join.run());
  return reportStatus(
      Status(ErrorCode::MissingOption, "hone-adapter",
             "expected a command: merge, export-gguf, export-mlx or join",
             "write hone-adapter merge MODEL ADAPTER -o FOLDER"));
}
