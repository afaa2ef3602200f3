//===- ProgramCache.cpp - Compiled programs that are found again ----------===//

#include "compiler/hone/ProgramCache.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "base/Sha256.h"
#include "compiler/emit/ProgramFolder.h"
#include "formats/JsonFile.h"
#include "platform/Files.h"
#include "platform/System.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cstdlib>
#include <map>

using namespace hone;
using llvm::StringRef;
using rt::Json;
namespace platform = rt::platform;

/// The file that marks a folder as whole, and has the hashes of its programs.
static constexpr const char *kManifest = "manifest.json";
/// Held while a folder is made.
static constexpr const char *kLock = "lock";
static constexpr const char *kTemporary = ".making-";

Result<std::string> ProgramCache::defaultFolder() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("HONE_CACHE");
  if (std::string caches = variable("XDG_CACHE_HOME");
      folder.empty() && !caches.empty())
    folder = caches + "/hone";
  if (std::string home = variable("HOME"); folder.empty() && !home.empty())
    folder = home + "/.cache/hone";
  // A name that is to be unique is made in another folder if it is relative.
  llvm::SmallString<128> absolute(folder);
  if (!folder.empty() && !llvm::sys::fs::make_absolute(absolute))
    return absolute.str().str();
  return Status(ErrorCode::CannotCreate, "HOME",
                "expected a folder for compiled programs, but none of "
                "HONE_CACHE, XDG_CACHE_HOME and HOME is set",
                "set HONE_CACHE to a folder that you may write to");
}

/// Files whose bytes are too many to be read for each command.
static bool isTensors(StringRef name) {
  return name.ends_with(".safetensors") || name.ends_with(".bin") ||
         name.ends_with(".gguf") || name.ends_with(".pth");
}

/// Adds the contents of `path` to `hash`. The path of a link is that of its
/// target.
static Status addFile(rt::Sha256 &hash, const std::string &path) {
  hash.update(path + '\0');
  llvm::sys::fs::file_status info;
  if (llvm::sys::fs::status(path, info) ||
      info.type() != llvm::sys::fs::file_type::regular_file)
    return Status::ok();
  if (isTensors(path)) {
    const auto time = info.getLastModificationTime().time_since_epoch();
    hash.update(std::to_string(info.getSize()) + " " +
                std::to_string(time.count()) + '\0');
    return Status::ok();
  }
  HONE_ASSIGN(const rt::MappedFile file, rt::MappedFile::open(path));
  hash.update(file.bytes());
  return Status::ok();
}

Result<std::string> ProgramCache::keyOf(const Spec &spec,
                                        const std::string &compiler) {
  rt::Sha256 hash;
  hash.update(compiler + '\0');
  for (const rt::Setting *setting : spec.all())
    hash.update(setting->key() +
                (spec.given.count(setting->key()) ? "!" : "=") +
                setting->text() + '\0');
  const std::string model = platform::resolve(spec.model);
  hash.update(model + '\0');
  platform::FileInfo info;
  if (!platform::inspect(model, info) &&
      info.kind == platform::FileKind::Folder) {
    std::vector<std::string> names;
    if (platform::Error error = platform::listFolder(model, names))
      return Status(ErrorCode::CannotRead, model,
                    "cannot be listed: " + error.message(),
                    "check its permissions");
    llvm::sort(names);
    for (const std::string &name : names)
      HONE_TRY(addFile(hash, model + "/" + name));
  } else {
    HONE_TRY(addFile(hash, model));
  }
  return hash.finishHex();
}

static Result<std::string> digestOf(const std::string &path) {
  HONE_ASSIGN(const rt::MappedFile file, rt::MappedFile::open(path));
  return rt::Sha256::hex(file.bytes());
}

/// Names of the programs of a folder, which have no ending.
static std::vector<std::string> programsIn(const std::string &folder) {
  std::vector<std::string> names, programs;
  if (platform::listFolder(folder, names))
    return {};
  llvm::sort(names);
  llvm::copy_if(names, std::back_inserter(programs),
                [](const std::string &name) {
                  return name == "train" || name == "generate";
                });
  return programs;
}

/// Files that a program checks itself when it starts: too large to be hashed
/// here. One that is missing or cut short is found by its size.
static std::map<std::string, uint64_t> sizesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::map<std::string, uint64_t> sizes;
  if (platform::listFolder(folder, names))
    return {};
  for (const std::string &name : names)
    if (platform::FileInfo info;
        isTensors(name) && !platform::inspect(folder + "/" + name, info))
      sizes[name] = info.size;
  return sizes;
}

static Status writeManifest(const std::string &folder,
                            const std::string &plan) {
  std::string text = "{\"programs\":{";
  auto add = [&](const std::string &name, const std::string &value) {
    text += (text.back() == '{' ? "\"" : ",\"") + name + "\":" + value;
  };
  for (const std::string &name : programsIn(folder)) {
    HONE_ASSIGN(const std::string digest, digestOf(folder + "/" + name));
    add(name, "\"" + digest + "\"");
  }
  text += "},\"sizes\":{";
  for (const auto &[name, size] : sizesIn(folder))
    add(name, std::to_string(size));
  return rt::writeFile(folder + "/" + kManifest,
                       text + "},\"plan\":" + (plan.empty() ? "{}" : plan) +
                           "}\n");
}

bool ProgramCache::read(CachedPrograms &programs) const {
  Result<Json> manifest = rt::readJsonFile(programs.path(kManifest));
  if (!manifest.isOk())
    return false;
  const Json *digests = manifest.value().find("programs");
  const Json *sizes = manifest.value().find("sizes");
  const Json *plan = manifest.value().find("plan");
  if (!digests || !sizes || !sizes->isObject() || !plan ||
      programsIn(programs.folder).empty())
    return false;
  const std::map<std::string, uint64_t> present = sizesIn(programs.folder);
  for (const auto &[name, size] : sizes->object()) {
    const auto own = present.find(name);
    if (own == present.end() || !size.isInteger() ||
        uint64_t(size.integer()) != own->second)
      return false;
  }
  for (const std::string &name : programsIn(programs.folder)) {
    const Json *wanted = digests->find(name);
    Result<std::string> found = digestOf(programs.path(name.c_str()));
    if (!wanted || !found.isOk() || wanted->string() != found.value() ||
        !llvm::sys::fs::can_execute(programs.path(name.c_str())))
      return false;
  }
  programs.plan = *plan;
  return true;
}

/// Folders that nobody makes any more.
void ProgramCache::removeAbandoned() const {
  std::vector<std::string> names;
  if (platform::listFolder(folder, names))
    return;
  for (const std::string &name : names) {
    if (!StringRef(name).contains(kTemporary))
      continue;
    const std::string path = folder + "/" + name;
    // One that has no lock yet is younger than a minute; one from the future
    // is older, and the clock was set back.
    llvm::sys::fs::file_status info;
    if (llvm::sys::fs::status(path, info))
      continue;
    const auto age =
        std::chrono::system_clock::now() - info.getLastModificationTime();
    if (age >= std::chrono::seconds(0) && age < std::chrono::minutes(1))
      continue;
    platform::File lock;
    if (!lock.open(path + "/" + kLock, platform::File::Mode::Update) &&
        lock.lock(platform::File::Lock::Alone))
      continue;
    llvm::sys::fs::remove_directories(path);
  }
}

Result<CachedPrograms> ProgramCache::find(const std::string &key,
                                          const Compile &compile) const {
  CachedPrograms programs;
  programs.folder = folder + "/" + key.substr(0, 32);
  removeAbandoned();
  if (read(programs))
    return programs;

  auto cannot = [&](const std::string &path, const std::string &why) {
    return Status(ErrorCode::CannotCreate, path, "cannot be made: " + why,
                  "set HONE_CACHE to a folder that you may write to");
  };
  if (std::error_code error = createFolder(folder))
    return cannot(folder, error.message());
  const std::string temporary =
      programs.folder + kTemporary + llvm::utohexstr(platform::randomNumber());
  if (std::error_code error =
          llvm::sys::fs::create_directory(temporary, /*IgnoreExisting=*/false))
    return cannot(folder, error.message());
  platform::File lock;
  if (platform::Error error =
          lock.open(temporary + "/" + kLock, platform::File::Mode::Update))
    return cannot(temporary, error.message());
  (void)lock.lock(platform::File::Lock::Alone);

  auto make = [&]() -> Status {
    HONE_ASSIGN(const std::string plan, compile(temporary));
    return writeManifest(temporary, plan);
  };
  if (Status status = make(); !status.isOk()) {
    llvm::sys::fs::remove_directories(temporary);
    return status;
  }
  platform::removeFile((temporary + "/" + kLock).c_str());
  // The folder of that name is damaged, or was made meanwhile and is the same.
  if (!read(programs))
    llvm::sys::fs::remove_directories(programs.folder);
  if (platform::Error error = platform::rename(temporary, programs.folder)) {
    llvm::sys::fs::remove_directories(temporary);
    if (!read(programs))
      return cannot(programs.folder, error.message());
  }
  if (!read(programs))
    return cannot(programs.folder,
                  "the programs in it cannot be read or started");
  programs.isNew = true;
  return programs;
}
