//===- RequestRules.cpp - Rules for a request to compile ------------------===//

#include "compiler/rules/RequestRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace hone;

Status hone::cannotWrite(const std::string &path, const std::string &why) {
  return Status(ErrorCode::CannotCreate, path, "cannot be written: " + why,
                "check -o, the folder's permissions and the free "
                "space");
}

Status hone::cannotMakeObject(const std::string &why) {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
  return Status(ErrorCode::CannotCreate, folder.str().str(),
                "an object file cannot be written there: " + why,
                "name another folder by TMPDIR; check the free space and the "
                "limits on file size and open files (ulimit -f, -n)");
}

Status
hone::cannotLoad(llvm::Error error,
                 llvm::function_ref<Status(const std::string &why)> other) {
  Status status = Status::ok();
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    const std::error_category &from = info.convertToErrorCode().category();
    const bool isSystems =
        from == std::generic_category() || from == std::system_category();
    status =
        isSystems ? cannotMakeObject(info.message()) : other(info.message());
  });
  return status;
}

Status hone::checkRequest(const CompileRequest &request) {
  auto unused = [](const char *option, const char *reader) {
    return Status(ErrorCode::OptionsDisagree, option,
                  std::string("only ") + reader + " reads it",
                  std::string("leave ") + option + " out");
  };
  if ((llvm::is_contained(request.programs, Program::Generate) ||
       request.library) &&
      request.selfCheck)
    return unused("--emit", "a compilation that --self-check does not replace");
  if (request.stopAfter &&
      (request.artifact != Artifact::Binary || request.library))
    return unused("--emit", "a compilation that --stop-after does not end");
  if (request.selfCheck) {
    auto writes = [&](const char *option) {
      return Status(ErrorCode::OptionsDisagree, option,
                    "--self-check only prints its findings",
                    std::string("leave ") + option + " or --self-check out");
    };
    if (!request.output.empty())
      return writes("-o");
    if (request.stopAfter)
      return writes("--stop-after");
    if (request.artifact != Artifact::Binary)
      return writes("--emit");
    if (request.plan != PlanFormat::None)
      return writes("--print-plan");
    if (!request.dumpDir.empty())
      return writes("--dump-dir");
    if (!request.stepOptions.empty())
      return writes("--step-options");
  }
  if (!request.linker.empty() && !request.writesBinary())
    return unused("--linker", "--emit=binary");
  if (request.quantization && !request.writesBinary())
    return unused("--report-quantization", "--emit=binary");
  if (request.manifest && !request.writesCode())
    return unused("--weights-manifest", "a compilation that writes code");
  if (request.manifest && request.quantization)
    return Status(ErrorCode::OptionsDisagree, "--report-quantization",
                  "with --weights-manifest nothing is quantised",
                  "leave one of both out");
  return Status::ok();
}

Status hone::checkPrograms(const CompileRequest &request, const Spec &spec) {
  auto refuse = [&](const char *option, const std::string &problem) {
    const std::string key = spec.hasParts() ? spec.parts[0].program.key()
                                            : spec.train.modules.key();
    return Status(ErrorCode::OptionsDisagree, option,
                  problem + ", and " + key + " makes " +
                      (spec.programs().size() == 2 ? "two" : "several"),
                  std::string("leave ") + option + " or " + key + " out");
  };
  if (request.artifact != Artifact::Binary ||
      llvm::is_contained(request.programs, Program::Generate))
    return refuse("--emit", "it writes one program");
  if (request.stopAfter && !request.output.empty() && request.output != "-")
    return refuse("--stop-after", "a file has one module");
  if (!request.dumpDir.empty())
    return refuse("--dump-dir", "a phase ends with one module");
  if (!request.stepOptions.empty())
    return refuse("--step-options", "they are of one program");
  if (request.manifest)
    return refuse("--weights-manifest", "a manifest is of one program");
  if (request.planJson)
    return refuse("hone", "it trains with one program");
  return Status::ok();
}

Status hone::checkDevice(const CompileRequest &request, const Spec &spec,
                         Program program, const Target &target) {
  if (target.hasHostKernels())
    return Status::ok();
  const std::string refused =
      " on a processor alone, and the target is " + target.describe();
  if (program == Program::Generate)
    return Status(ErrorCode::OptionsDisagree, "--emit",
                  "text is generated" + refused,
                  "give --target=native for the program that generates");
  if (request.library)
    return Status(ErrorCode::OptionsDisagree, "--emit",
                  "a library computes" + refused, "give --target=native");
  if (request.selfCheck)
    return Status(ErrorCode::OptionsDisagree, "--self-check",
                  "derivatives are checked" + refused,
                  "give --target=native: both have the same derivatives");
  if (spec.train.resident_budget.isBytes())
    return Status(ErrorCode::OptionsDisagree,
                  spec.placeOf("train.resident_budget"),
                  "the host's resident memory is planned" + refused,
                  "leave train.resident_budget out; train.memory_budget is of "
                  "the device's memory");
  if (spec.weights.streaming != "false")
    return Status(ErrorCode::OptionsDisagree, spec.placeOf("weights.streaming"),
                  "weights are streamed" + refused,
                  "leave weights.streaming out");
  if (spec.train.activation_offloading != "false")
    return Status(ErrorCode::OptionsDisagree,
                  spec.placeOf("train.activation_offloading"),
                  "activations are offloaded" + refused,
                  "leave train.activation_offloading out");
  return Status::ok();
}

Status hone::checkOutput(const CompileRequest &request) {
  const std::string &path = request.output;
  if (!request.dumpDir.empty() && llvm::sys::fs::exists(request.dumpDir) &&
      !llvm::sys::fs::is_directory(request.dumpDir))
    return cannotWrite(request.dumpDir,
                       "--dump-dir expects a folder but found a file");
  if (!llvm::sys::fs::exists(path))
    return Status::ok();
  bool isFolder = llvm::sys::fs::is_directory(path);
  // The output replaces a file of its name, which a device cannot be.
  if (!request.writesBinary() && path != "-")
    return llvm::sys::fs::is_regular_file(path)
               ? Status::ok()
               : cannotWrite(path, "expected a file but found a folder or a "
                                   "device");
  if (!isFolder)
    return cannotWrite(path, "expected a folder but found a file");
  std::vector<std::string> files = {path + "/weights.hone.safetensors"};
  for (Program program : request.programs)
    files.push_back(request.programPath(program));
  for (const std::string &name : files)
    if (llvm::sys::fs::is_directory(name))
      return cannotWrite(name, "expected a file but found a folder");
  return Status::ok();
}

Status hone::checkInputsStay(const CompileRequest &request, const Spec &spec) {
  const std::string &path = request.output;
  if (!llvm::sys::fs::is_regular_file(path))
    return Status::ok();
  auto same = [](llvm::StringRef one, llvm::StringRef other) {
    return !other.empty() && llvm::sys::fs::equivalent(one, other);
  };
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  llvm::StringRef kind = llvm::sys::path::extension(path);
  bool isOfModel = (kind == ".json" || kind == ".safetensors") &&
                   same(folder.empty() ? "." : folder, spec.model.text());
  if (isOfModel || same(path, request.specPath) ||
      same(path, spec.target.profile.text()) || same(path, spec.model.text()))
    return cannotWrite(
        path,
        "expected a new output file but found an input of the compilation");
  return Status::ok();
}
