//===- GivenFiles.cpp - Files that the command line names -----------------===//

#include "program/GivenFiles.h"

#include "base/OutputFile.h"
#include "formats/ReplayLog.h"
#include "platform/Files.h"
#include "program/ComparisonLog.h"
#include "program/ReplayRun.h"
#include "program/Run.h"
#include "program/RunReport.h"

#include <unordered_map>

namespace hone::rt {

namespace {
struct GivenFile {
  std::string name; ///< as messages call it
  std::string path;
  bool isWritten;
};
} // namespace

/// Equal for two paths of one file, whether or not it is there yet.
static std::string identityOf(const std::string &path) {
  platform::FileInfo info;
  if (!platform::inspect(path, info))
    return std::to_string(info.device) + ":" + std::to_string(info.number);
  return targetOf(platform::parentDirectory(path)) + "/" +
         platform::lastPart(path);
}

/// Writing at the end of a run must not fail there. The run makes its
/// folder `output` itself.
static Status checkWritable(const GivenFile &file, const std::string &output) {
  HONE_TRY(checkReplaceable(file.path));
  const std::string folder = platform::parentDirectory(targetOf(file.path));
  if (folder == platform::parentDirectory(output + "/file"))
    return Status::ok();
  platform::Error error = platform::checkWritable(folder);
  if (!error)
    return Status::ok();
  return Status(ErrorCode::CannotCreate, file.path,
                "expected a folder to write it to, but " + folder + ": " +
                    error.message(),
                "create the folder, or give " + file.name + " another path");
}

/// best/ is made at the first evaluation.
static Status checkBestFolder(const Options &options) {
  const std::string path = options.output + "/best";
  platform::FileInfo info;
  if (!options.keepsBest() || platform::inspect(path, info) ||
      info.kind == platform::FileKind::Folder)
    return Status::ok();
  return Status(ErrorCode::CannotCreate, path,
                "expected a folder for the best evaluation, found a file",
                "remove it, or give another --output");
}

std::vector<std::string> resultFiles(const Options &options,
                                     const std::optional<ModelLayout> &model) {
  std::vector<std::string> paths;
  if (options.output.empty())
    return paths;
  const std::vector<std::string> names =
      model ? model->fileNames()
            : std::vector<std::string>{"adapter_model.safetensors",
                                       "adapter_config.json"};
  for (const char *folder : {"/", "/best/"})
    if (folder == std::string("/") || options.keepsBest())
      for (const std::string &name : names)
        paths.push_back(options.output + folder + name);
  return paths;
}

Status checkGivenFiles(const Options &options, const std::string &weights,
                       const std::optional<ModelLayout> &model) {
  HONE_TRY(checkBestFolder(options));
  std::vector<GivenFile> files;
  auto add = [&](const char *name, const std::string &path, bool isWritten) {
    if (!path.empty())
      files.push_back({name, path, isWritten});
  };
  add("--profile", options.profile, true);
  add("--dump-gradients", options.dumpGradients, true);
  add("--predictions", options.predictions, true);
  for (const GivenFile &file : files)
    HONE_TRY(checkWritable(file, options.output));
  // A run may go on from the adapter that it replaces.
  for (const std::string &path : resultFiles(options, model)) {
    HONE_TRY(checkReplaceable(path));
    add("a result of the run", path, true);
  }
  add("--log", options.log, true);
  add("--data", options.data, false);
  add("--eval-data", options.evalData, false);
  add("--replay", options.replay, false);
  add("--weights", weights, false);
  std::vector<const char *> own = {"lock", ReplayWriter::FileName,
                                   RunReport::FileName};
  if (options.log.empty())
    own.push_back(Run::LogName);
  if (options.settings.compares())
    own.push_back(ComparisonLog::FileName);
  if (!options.replay.empty() && model)
    own.push_back(ReplayMark);
  for (const char *name : own)
    if (!options.output.empty())
      files.push_back({std::string("the run's ") + name,
                       options.output + "/" + name, true});
  // Of each file, the first path; one of several may be there only if all are
  // read.
  std::unordered_map<std::string, const GivenFile *> first;
  for (const GivenFile &file : files) {
    const auto [same, isNew] = first.emplace(identityOf(file.path), &file);
    if (!isNew && (file.isWritten || same->second->isWritten))
      return Status(ErrorCode::OptionsDisagree, same->second->name,
                    same->second->path + " is " + file.name +
                        " too, and one of them is written",
                    "give another path");
  }
  return Status::ok();
}

} // namespace hone::rt
