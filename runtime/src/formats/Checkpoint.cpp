//===- Checkpoint.cpp - Saving and resuming a training run ----------------===//
//
// Order is everything: files, then MANIFEST.json, then the folder, then the
// rename, then the parent. A crash between any two leaves the old checkpoints.
//
//===----------------------------------------------------------------------===//

#include "formats/Checkpoint.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "base/Sha256.h"
#include "formats/JsonFile.h"
#include "formats/Safetensors.h"
#include "platform/Files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace hone::rt {

static constexpr int64_t FormatVersion = 1;
static constexpr const char *StateName = "state.safetensors";
static constexpr const char *TrainerName = "trainer.json";
static constexpr const char *ManifestName = "MANIFEST.json";
static constexpr std::string_view NamePrefix = "checkpoint-";

static std::string checkpointName(int64_t step) {
  char name[48];
  std::snprintf(name, sizeof name, "checkpoint-%06lld",
                static_cast<long long>(step));
  return name;
}

/// The step in a name that checkpointName could have made, else -1.
static int64_t stepOf(const std::string &name) {
  if (name.size() < NamePrefix.size() + 6 ||
      name.size() > NamePrefix.size() + 18 ||
      name.compare(0, NamePrefix.size(), NamePrefix) != 0)
    return -1;
  int64_t step = 0;
  for (char c : name.substr(NamePrefix.size())) {
    if (c < '0' || c > '9')
      return -1;
    step = step * 10 + (c - '0');
  }
  return checkpointName(step) == name ? step : -1;
}

/// The steps of the complete checkpoints, newest first. Errors: as
/// listDirectory.
static Result<std::vector<int64_t>> stepsIn(const std::string &directory) {
  HONE_ASSIGN(std::vector<std::string> names, listDirectory(directory));
  std::vector<int64_t> steps;
  for (const std::string &name : names)
    if (int64_t step = stepOf(name); step >= 0)
      steps.push_back(step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

Result<CheckpointStore> CheckpointStore::open(const std::string &directory) {
  HONE_TRY(createDirectories(directory));
  removeStrayTemporaries(
      directory, [](const std::string &name) { return stepOf(name) >= 0; });
  CheckpointStore store;
  store.directory = directory;
  return store;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

static std::string fileEntry(const char *name, uint64_t size,
                             const std::string &digest) {
  std::string text = "    ";
  text += jsonString(name);
  return text + ": {\n      \"sha256\": \"" + digest +
         "\",\n      \"size\": " + std::to_string(size) + "\n    }";
}

std::string jsonMembers(const CheckpointFields &fields, const char *between) {
  std::string out;
  for (const auto &[name, value] : fields) {
    out += out.empty() ? "" : between;
    out += jsonString(name) + ": " + jsonString(value);
  }
  return out;
}

static void appendStrings(std::string &text, const char *key,
                          const CheckpointFields &fields) {
  text += std::string("  \"") + key + "\": {";
  if (!fields.empty())
    text += "\n    " + jsonMembers(fields, ",\n    ") + "\n  ";
  text += "},\n";
}

static std::string trainerText(int64_t step, const CheckpointIdentity &identity,
                               const CheckpointFields &evaluation) {
  std::string text = "{\n";
  if (!evaluation.empty())
    appendStrings(text, "evaluation", evaluation);
  text += "  \"format_version\": " + std::to_string(FormatVersion) + ",\n";
  appendStrings(text, "numerics", identity.numerics);
  appendStrings(text, "run", identity.run);
  return text + "  \"step\": " + std::to_string(step) + "\n}\n";
}

static Status checkFinite(int64_t step, const CheckpointVector &vector,
                          const char *bytes, uint64_t size) {
  if (areFinite(vector.dtype, bytes, size))
    return Status::ok();
  return Status(ErrorCode::Diverged, "step " + std::to_string(step),
                "expects finite numbers but got NaN or infinity in " +
                    vector.name,
                "lower --learning-rate; the checkpoints from before are kept");
}

Status checkFinite(int64_t step, const std::vector<CheckpointVector> &vectors) {
  for (const CheckpointVector &v : vectors)
    HONE_TRY(v.data.read(v.elements * dtypeBytes(v.dtype),
                         [&](const char *part, uint64_t n) {
                           return checkFinite(step, v, part, n);
                         }));
  return Status::ok();
}

/// Writes state.safetensors; `entry` becomes its line of the manifest.
static Status writeState(const std::string &path, int64_t step,
                         const std::vector<CheckpointVector> &vectors,
                         std::string &entry) {
  std::vector<TensorSpec> specs;
  for (const CheckpointVector &v : vectors)
    specs.push_back({v.name, v.dtype, {static_cast<int64_t>(v.elements)}});
  HONE_ASSIGN(SafetensorsWriter writer,
              SafetensorsWriter::create(path, std::move(specs),
                                        {{"format", "hone"}}, /*digest=*/true));
  for (const TensorInfo &info : writer.tensors())
    for (const CheckpointVector &v : vectors)
      if (v.name == info.name)
        HONE_TRY(v.data.read(info.bytes(), [&](const char *part, uint64_t n) {
          HONE_TRY(checkFinite(step, v, part, n));
          return writer.write(part, n);
        }));
  HONE_TRY(writer.commit(FolderSync::Later));
  entry =
      fileEntry(StateName, writer.output().size(), writer.output().digest());
  return Status::ok();
}

static Status writeContents(const std::string &folder, int64_t step,
                            const CheckpointIdentity &identity,
                            const std::vector<CheckpointVector> &vectors,
                            const CheckpointFields &evaluation) {
  std::string stateEntry;
  HONE_TRY(writeState(folder + "/" + StateName, step, vectors, stateEntry));
  std::string trainer = trainerText(step, identity, evaluation);
  if (trainer.size() > MaxJsonFileBytes)
    return Status(ErrorCode::Bug, folder + "/" + TrainerName,
                  "expected an identity that fits in " +
                      std::to_string(MaxJsonFileBytes) + " bytes",
                  "report this bug");
  HONE_TRY(writeFile(folder + "/" + TrainerName, trainer, FolderSync::Later));
  std::string manifest =
      "{\n  \"files\": {\n" + stateEntry + ",\n" +
      fileEntry(TrainerName, trainer.size(), Sha256::hex(trainer)) +
      "\n  },\n  \"format_version\": " + std::to_string(FormatVersion) +
      ",\n  \"step\": " + std::to_string(step) + "\n}\n";
  // Makes the folder durable too, and with it the two files before.
  return writeFile(folder + "/" + ManifestName, manifest);
}

static Status folderError(ErrorCode code, const std::string &path,
                          const char *doing, platform::Error error) {
  return Status(code, path, std::string(doing) + " failed: " + error.message(),
                "check the disk and the output folder");
}

namespace {
/// A checkpoint's folder under a temporary name. Removed by its maker, or
/// at the end of a process that has no time for that.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &finalPath)
      : path(temporaryPath(finalPath)) {
    rememberTemporaryFolder(path);
  }
  ~TemporaryFolder() { forgetTemporary(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// Takes no memory, and no descriptor unless files are in it that no save
  /// makes.
  void remove() const {
    // A link's folder is elsewhere, and stays.
    if (platform::removeFile(path.c_str()))
      return;
    for (const std::string &file : files)
      platform::removeFile(file.c_str());
    if (!platform::removeFolder(path.c_str()))
      platform::removeFlatFolder(path.c_str());
  }

  const std::string path;

private:
  const std::array<std::string, 3> files{path + "/" + StateName,
                                         path + "/" + TrainerName,
                                         path + "/" + ManifestName};
};
} // namespace

/// Gives the finished `temporary` its final name.
static Status publish(const std::string &temporary,
                      const std::string &finalPath) {
  // A folder cannot be renamed over one that has files. Between the two
  // renames this step has no checkpoint; the ones before are there.
  TemporaryFolder replaced(finalPath);
  bool moved = !platform::rename(finalPath, replaced.path);
  if (platform::Error error = platform::rename(temporary, finalPath)) {
    if (moved)
      if (platform::Error worse = platform::rename(replaced.path, finalPath))
        error = worse;
    return folderError(ErrorCode::WriteFailed, finalPath,
                       "renaming the finished checkpoint into place", error);
  }
  Status synced = syncDirectory(platform::parentDirectory(finalPath));
  if (moved && synced.isOk())
    replaced.remove();
  return synced;
}

static Status readTrainer(const std::string &path, CheckpointIdentity &identity,
                          CheckpointFields &evaluation);

/// Removes all but the newest that are not later than `step`, and those that
/// the ones kept name as their best. Later ones are of a history that was left;
/// they are not counted and not ours to remove.
void CheckpointStore::removeOld(int64_t step, bool namesBest) const {
  Result<std::vector<int64_t>> saved = stepsIn(directory);
  if (!saved.isOk())
    return;
  std::vector<int64_t> &steps = saved.value();
  steps.erase(std::remove_if(steps.begin(), steps.end(),
                             [&](int64_t each) { return each > step; }),
              steps.end());
  if (kept == 0 || steps.size() <= kept)
    return;
  std::vector<std::string> best;
  for (uint64_t i = 0; i < kept && namesBest; ++i) {
    CheckpointIdentity identity;
    CheckpointFields evaluation;
    std::string path =
        directory + "/" + checkpointName(steps[i]) + "/" + TrainerName;
    // It may name any checkpoint.
    if (!readTrainer(path, identity, evaluation).isOk())
      return;
    best.push_back(evaluation[BestStep]);
  }
  for (uint64_t i = kept; i < steps.size(); ++i) {
    int64_t old = steps[i];
    if (std::find(best.begin(), best.end(), std::to_string(old)) != best.end())
      continue;
    remove(old);
  }
}

void CheckpointStore::remove(int64_t step) const {
  // Renamed first, so that none is ever half there under its final name.
  std::string name = directory + "/" + checkpointName(step);
  TemporaryFolder stray(name);
  if (!platform::rename(name, stray.path))
    stray.remove();
}

void CheckpointStore::forgetAfter(int64_t step) const {
  Result<std::vector<int64_t>> saved = stepsIn(directory);
  if (!saved.isOk())
    return;
  for (int64_t each : saved.value())
    if (each > step)
      remove(each);
}

Status CheckpointStore::save(int64_t step, const CheckpointIdentity &identity,
                             const std::vector<CheckpointVector> &vectors,
                             const CheckpointFields &evaluation) const {
  std::string finalPath = directory + "/" + checkpointName(step);
  TemporaryFolder temporary(finalPath);
  if (platform::Error error = platform::makeFolder(temporary.path))
    return folderError(ErrorCode::CannotCreate, temporary.path,
                       "creating the folder", error);
  Status written =
      writeContents(temporary.path, step, identity, vectors, evaluation);
  if (written.isOk())
    written = publish(temporary.path, finalPath);
  if (!written.isOk()) {
    temporary.remove();
    return written;
  }
  removeOld(step, !evaluation.empty());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static Status damaged(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::DamagedCheckpoint, place, problem, "");
}

static Status verifyFile(const std::string &folder, const Json &files,
                         const char *name) {
  std::string manifest = folder + "/" + ManifestName;
  const Json *entry = files.find(name);
  const Json *size = entry ? entry->find("size") : nullptr;
  const Json *digest = entry ? entry->find("sha256") : nullptr;
  if (!size || !size->isInteger() || !digest || !digest->isString())
    return damaged(manifest, std::string("expected size and sha256 of ") +
                                 name + ", found none");
  std::string path = folder + "/" + name;
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  if (static_cast<int64_t>(file.size()) != size->integer())
    return damaged(path, "expected " + std::to_string(size->integer()) +
                             " bytes, found " + std::to_string(file.size()));
  if (digestOf(file) != digest->string())
    return damaged(path, "expected the contents that were saved, found others");
  return Status::ok();
}

static Status cannotResume(const std::string &place,
                           const std::string &problem) {
  return Status(ErrorCode::CheckpointMisfit, place, problem,
                "resume with the options of the first start, or choose another "
                "output folder for a new run");
}

static Status verifyManifest(const std::string &folder, int64_t step) {
  std::string path = folder + "/" + ManifestName;
  HONE_ASSIGN(Json manifest, readJsonFile(path, FewJsonValues));
  auto expectInteger = [&](const char *key, int64_t wanted) {
    const Json *value = manifest.find(key);
    if (value && value->isInteger() && value->integer() == wanted)
      return Status::ok();
    return damaged(path, std::string("expected \"") + key +
                             "\": " + std::to_string(wanted) +
                             ", found another value or none");
  };
  // A later one may be whole. To go on from the one before would lose it.
  const Json *version = manifest.find("format_version");
  if (version && version->isInteger() && version->integer() > FormatVersion)
    return cannotResume(path, "expected format_version " +
                                  std::to_string(FormatVersion) + ", found " +
                                  std::to_string(version->integer()) +
                                  ": a later version of Hone wrote it");
  HONE_TRY(expectInteger("format_version", FormatVersion));
  HONE_TRY(expectInteger("step", step));
  const Json *files = manifest.find("files");
  if (!files)
    return damaged(path, "expected \"files\", found none");
  for (const char *name : {StateName, TrainerName})
    HONE_TRY(verifyFile(folder, *files, name));
  return Status::ok();
}

/// The strings of the object `key` of trainer.json.
static Result<CheckpointFields> readStrings(const std::string &path,
                                            const Json &root, const char *key) {
  const Json *object = root.find(key);
  if (!object || !object->isObject())
    return cannotResume(path, std::string("expected an object \"") + key +
                                  "\", found none");
  CheckpointFields fields;
  for (const auto &[name, value] : object->object()) {
    if (!value.isString())
      return cannotResume(path, std::string("expected strings in \"") + key +
                                    "\", found " + describe(value.kind()));
    fields[name] = value.string();
  }
  return fields;
}

Status
CheckpointStore::read(const Found &found,
                      const std::vector<CheckpointTarget> &targets) const {
  std::string path = found.directory + "/" + StateName;
  HONE_ASSIGN(const SafetensorsFile file,
              SafetensorsFile::open(path, HeaderLimit::of(targets)));
  if (file.tensors().size() != targets.size())
    return cannotResume(path, "expected " + std::to_string(targets.size()) +
                                  " vectors, found " +
                                  std::to_string(file.tensors().size()));
  for (const CheckpointTarget &target : targets) {
    std::vector<int64_t> shape = {static_cast<int64_t>(target.elements)};
    std::string wanted =
        std::string(dtypeName(target.dtype)) + " " + describeShape(shape);
    const TensorInfo *tensor = file.find(target.name);
    std::string got = "none";
    if (tensor)
      got = std::string(dtypeName(tensor->dtype)) + " " +
            describeShape(tensor->shape);
    if (got != wanted)
      return cannotResume(path + ": tensor " + target.name,
                          "expected " + wanted + ", found " + got);
  }
  for (const CheckpointTarget &target : targets) {
    MemoryView to = target.data;
    bool isFinite = true;
    file.visit(*file.find(target.name), [&](const char *bytes, uint64_t size) {
      isFinite &= areFinite(target.dtype, bytes, size);
      to.write(size, [&](char *part, uint64_t partBytes) {
        std::memcpy(part, bytes, partBytes);
        bytes += partBytes;
      });
      to = to + size;
    });
    // No save writes such a one.
    if (!isFinite)
      return Status(ErrorCode::DamagedCheckpoint,
                    path + ": tensor " + target.name,
                    "expected finite numbers, found NaN or infinity",
                    "remove " + found.directory +
                        "; the run then goes on from the checkpoint before");
  }
  removeOld(found.step,
            !found.evaluation.empty()); // as a killed save could not
  return Status::ok();
}

/// Whether `path` could not be opened because there is no such file. A file
/// that is there and cannot be opened now may be sound.
static bool isMissing(const Status &status) {
  if (status.errorCode() != ErrorCode::CannotRead)
    return false;
  platform::FileInfo info;
  platform::Error error = platform::inspect(status.message().place, info);
  // Links that lead in a circle, or nowhere that can be, lead to no file.
  return error ? error == std::errc::no_such_file_or_directory ||
                     error == std::errc::not_a_directory ||
                     error == std::errc::too_many_symbolic_link_levels ||
                     error == std::errc::filename_too_long
               : info.kind != platform::FileKind::Regular;
}

static Status readTrainer(const std::string &path, CheckpointIdentity &identity,
                          CheckpointFields &evaluation) {
  HONE_ASSIGN(Json root, readJsonFile(path, FewJsonValues));
  for (auto [key, fields] : {std::pair("run", &identity.run),
                             std::pair("numerics", &identity.numerics)}) {
    HONE_ASSIGN(*fields, readStrings(path, root, key));
  }
  if (!root.find("evaluation"))
    return Status::ok();
  Result<CheckpointFields> read = readStrings(path, root, "evaluation");
  if (read.isOk())
    evaluation = std::move(read.value());
  return read.status();
}

Result<CheckpointStore::Found> CheckpointStore::newest() const {
  Found found;
  HONE_ASSIGN(std::vector<int64_t> steps, stepsIn(directory));
  for (int64_t step : steps) {
    std::string folder = directory + "/" + checkpointName(step);
    if (Status s = verifyManifest(folder, step); !s.isOk()) {
      // Going on from the one before would lose work that may be there.
      if (s.errorCode() == ErrorCode::CheckpointMisfit ||
          (s.exitCode() != ExitCode::BadData && !isMissing(s)))
        return s;
      found.notes.push_back("skipping the damaged checkpoint " + folder + " (" +
                            s.message().place + ": " + s.message().problem +
                            ")");
      continue;
    }
    HONE_TRY(readTrainer(folder + "/" + TrainerName, found.identity,
                         found.evaluation));
    found.step = step;
    found.directory = folder;
    return found;
  }
  return found;
}

Result<std::vector<int64_t>>
CheckpointStore::sound(std::vector<std::string> &notes) const {
  HONE_ASSIGN(std::vector<int64_t> steps, stepsIn(directory));
  std::vector<int64_t> sound;
  for (int64_t step : steps) {
    const std::string folder = directory + "/" + checkpointName(step);
    const Status status = verifyManifest(folder, step);
    if (status.isOk())
      sound.push_back(step);
    else if (status.exitCode() != ExitCode::BadData && !isMissing(status))
      return status;
    else
      notes.push_back("skipping the damaged checkpoint " + folder + " (" +
                      status.message().place + ": " + status.message().problem +
                      ")");
  }
  return sound;
}

Result<CheckpointStore::Found> CheckpointStore::at(int64_t step,
                                                   const Need &need) const {
  Found found;
  found.directory = directory + "/" + checkpointName(step);
  found.step = step;
  Status status = verifyManifest(found.directory, step);
  if (!status.isOk() &&
      (status.exitCode() == ExitCode::BadData || isMissing(status)))
    return Status(ErrorCode::DamagedCheckpoint, found.directory,
                  std::string("expected the checkpoint of ") + need.of +
                      ", but " + status.message().place + ": " +
                      status.message().problem,
                  need.remedy);
  if (status.isOk())
    status = readTrainer(found.directory + "/" + TrainerName, found.identity,
                         found.evaluation);
  return status.isOk() ? Result<Found>(std::move(found)) : status;
}

} // namespace hone::rt
