//===- hone-make-model.cpp - A model directory with random weights --------===//
//
// For tests, benchmarks and the quickstart: the same seed gives the same bytes
// on every machine.
//
//===----------------------------------------------------------------------===//

#include "base/OutputFile.h"
#include "base/Process.h"
#include "compiler/driver/CommandLine.h"
#include "compiler/hone-make-model/ByteTokenizer.h"
#include "compiler/hone-make-model/RandomWeights.h"
#include "compiler/import/ModelImport.h"
#include "compiler/weights/PackedWeights.h"
#include "formats/JsonFile.h"
#include "platform/Files.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
namespace cl = llvm::cl;

namespace {

enum class Tokenizer { None, Byte };

struct Options {
  cl::OptionCategory category{"hone-make-model options"};
  cl::opt<std::string> config{cl::Positional, cl::Required,
                              cl::desc("config.json | weights.manifest.json"),
                              cl::cat(category)};
  cl::opt<std::string> output{"o", cl::Required, cl::value_desc("folder"),
                              cl::desc("folder for the model"),
                              cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::init(0), cl::cat(category),
                         cl::desc("of the weights")};
  cl::opt<rt::Dtype> dtype{
      "dtype", cl::init(rt::Dtype::F32), cl::cat(category),
      cl::desc("element type of the weights"),
      cl::values(clEnumValN(rt::Dtype::F32, "float32", "4 bytes"),
                 clEnumValN(rt::Dtype::BF16, "bfloat16", "2 bytes"))};
  cl::opt<uint64_t> shardBytes{
      "max-shard-size", cl::init(0), cl::value_desc("bytes"),
      cl::desc("split the weights into files of at most this size"),
      cl::cat(category)};
  cl::opt<Tokenizer> tokenizer{
      "tokenizer", cl::init(Tokenizer::None), cl::cat(category),
      cl::desc("also write a tokenizer"),
      cl::values(clEnumValN(Tokenizer::None, "none", "none"),
                 clEnumValN(Tokenizer::Byte, "byte",
                            "one token for each byte, and end of text"))};
  cl::opt<bool> packed{
      "packed", cl::cat(category),
      cl::desc("write weights.hone.safetensors, as int4 or however the "
               "weights.manifest.json of honec --weights-manifest has them, "
               "and no model")};
};

} // namespace

/// The weights of a program that was compiled without them.
static Status makePacked(const Options &options) {
  const std::pair<const char *, bool> others[] = {
      {"--dtype", options.dtype.getNumOccurrences()},
      {"--max-shard-size", options.shardBytes.getNumOccurrences()},
      {"--tokenizer", options.tokenizer.getNumOccurrences()}};
  for (auto [option, isGiven] : others)
    if (isGiven)
      return Status(ErrorCode::OptionsDisagree, option,
                    "with --packed the manifest says all of the weights",
                    std::string("leave out ") + option + " or --packed");
  const std::string &directory = options.output;
  const bool isNew = !llvm::sys::fs::exists(directory);
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return Status(ErrorCode::CannotCreate, directory,
                  "cannot be created: " + error.message(),
                  "give -o a folder that you may write to");
  Status status = writePackedWeights(options.config, options.seed,
                                     directory + "/weights.hone.safetensors");
  if (isNew && !status.isOk())
    llvm::sys::fs::remove(directory);
  return status;
}

static Status makeModel(const Options &options) {
  HONE_ASSIGN(const rt::MappedFile file, rt::openJsonFile(options.config));
  const std::string text(file.bytes());
  HONE_ASSIGN(std::unique_ptr<HuggingFaceModel> parsed,
              HuggingFaceModel::parse(text, options.config));
  const HuggingFaceModel &model = *parsed;
  if (model.quantization)
    return Status(ErrorCode::BadConfig, options.config + " /quantization",
                  "expected none: random weights are not quantised",
                  "remove it; weights.dtype of a spec quantises");
  mlir::MLIRContext context;
  context.loadDialect<HoneDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      buildModule(model, mlir::Float32Type::get(&context));
  mlir::FailureOr<ParameterTable> parameters = ParameterTable::build(*module);
  if (failed(parameters))
    return Status(ErrorCode::Bug, options.config,
                  "the built module is not valid",
                  "please report this with config.json");
  int64_t vocabulary = vocabularySize(*module);
  if (options.tokenizer == Tokenizer::Byte &&
      vocabulary < byteTokenizerVocabSize)
    return Status(
        ErrorCode::BadConfig, options.config + " /vocab_size",
        "expected at least " + std::to_string(byteTokenizerVocabSize) +
            " for a byte tokenizer but found " + std::to_string(vocabulary),
        "set vocab_size to 257 or more");
  const std::string &directory = options.output;
  const bool isNew = !llvm::sys::fs::exists(directory);
  if (isNew)
    rt::rememberTemporaryFolder(directory);
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return Status(ErrorCode::CannotCreate, directory,
                  "cannot be created: " + error.message(),
                  "give -o a folder that you may write to");

  RandomWeights weights;
  weights.seed = options.seed;
  weights.dtype = options.dtype;
  weights.standardDeviation = model.initializerRange;
  weights.shardBytes = options.shardBytes;
  module->walk([&](RmsNormOp op) {
    weights.normCenter = 1 - op.getOffset().convertToDouble();
  });
  Status status = weights.write(directory, parameters->frozen());
  if (status.isOk() && options.tokenizer == Tokenizer::Byte)
    status = writeByteTokenizer(directory);
  // Last, so that a directory with a config.json is whole.
  if (status.isOk())
    status = rt::writeFile(directory + "/config.json", text);
  if (isNew && !status.isOk())
    rt::platform::removeFlatFolder(directory.c_str());
  rt::forgetTemporary(directory);
  return status;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  Status status = parseCommandLine(
      argc, argv, "Makes a Hugging Face model directory with random weights\n");
  if (status.isOk())
    status = options.packed ? makePacked(options) : makeModel(options);
  return reportStatus(status);
}
