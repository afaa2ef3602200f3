//===- ProgramFolder.cpp - Programs and their weights, all or none --------===//

#include "compiler/emit/ProgramFolder.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "compiler/driver/CommandLine.h"
#include "compiler/emit/ModelLibrary.h"
#include "compiler/emit/RenameTogether.h"
#include "compiler/rules/RequestRules.h"
#include "module/WeightDigests.h"
#include "platform/Files.h"
#include "targets/host/NewFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <list>
#include <map>
#include <thread>

using namespace hone;

std::error_code hone::createFolder(const std::string &path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                           llvm::sys::fs::all_all);
}

/// Between a file's name and the number of the process that writes it.
static constexpr const char *kTemporary = ".tmp-";

namespace {

/// The facts that programs know of a weights file.
struct PackedWeights {
  std::string digests; ///< see ModuleDescription
  uint64_t bytes = 0;
};

} // namespace

static Result<PackedWeights> digestWeights(const std::string &path) {
  HONE_ASSIGN(rt::MappedFile file, rt::MappedFile::open(path));
  HONE_ASSIGN(std::unique_ptr<rt::Pool> pool,
              rt::Pool::create(rt::Pool::availableCpus()));
  return PackedWeights{rt::digestParts(file.bytes(), *pool), file.size()};
}

static Result<PackedWeights> packWeights(const ProgramFolder &folder,
                                         const std::string &path,
                                         PhaseTimes &times) {
  times.begin("pack");
  std::vector<QuantizationError> errors;
  HONE_TRY(writeWeights(path, folder.weights, folder.tensors,
                        folder.describesQuantization ? &errors : nullptr));
  times.begin("digest");
  HONE_ASSIGN(PackedWeights packed, digestWeights(path));
  if (folder.describesQuantization)
    llvm::outs() << describeErrors(errors);
  return packed;
}

/// The object file of `program`, as long as its temporary lives.
static Status emit(const ProgramFolder &folder, const FolderProgram &program,
                   std::list<rt::TemporaryFile> &objects, PhaseTimes &times) {
  llvm::Expected<std::string> object = createTemporaryFile("hone-", ".o");
  if (!object)
    return cannotMakeObject(llvm::toString(object.takeError()));
  const std::string &path = objects.emplace_back(*object).path;
  times.begin("emit");
  if (llvm::Error error = folder.target.emit(
          program.module, program.description, EmitKind::object, path))
    return cannotMakeObject(llvm::toString(std::move(error)));
  return Status::ok();
}

static Status link(const ProgramFolder &folder, const std::string &name,
                   const LinkRequest &request, PhaseTimes &times) {
  times.begin("link");
  SignalsWait until; // the linker goes on without us
  if (llvm::Error error = folder.target.link(request))
    return Status(ErrorCode::LinkFailed, folder.path + "/" + name,
                  "linking failed: " + llvm::toString(std::move(error)),
                  "install a C++ compiler, or name one with --linker; "
                  "check the free space and the limits on file size and open "
                  "files (ulimit -f, -n)");
  return Status::ok();
}

/// `add` makes temporaries that the whole folder is renamed from.
static Status writeLibrary(ProgramFolder &folder,
                           llvm::function_ref<std::string(std::string)> add,
                           PhaseTimes &times) {
  const ModelLibrary library = ModelLibrary::inFolder(folder.path);
  std::list<rt::TemporaryFile> objects;
  std::vector<std::string> members, symbols;
  for (FolderProgram &program : folder.programs) {
    symbols.push_back(library.symbolOf(program.name));
    program.description.symbol = symbols.back();
    HONE_TRY(emit(folder, program, objects, times));
    members.push_back(objects.back().path);
  }
  const std::string archive = add(library.archive());
  HONE_TRY(writeArchive(archive, members, folder.target));
  HONE_TRY(rt::writeFile(add(library.header()), library.headerText(symbols)));
  HONE_TRY(rt::writeFile(add("module.modulemap"), library.moduleMap()));
  if (!folder.target.hasSharedLibraries())
    return Status::ok();
  std::vector<std::string> libraries = {archive}, exports = symbols;
  libraries.insert(libraries.end(), folder.archives.begin(),
                   folder.archives.end());
  exports.insert(exports.end(), std::begin(libraryFunctions),
                 std::end(libraryFunctions));
  LinkRequest request{"", libraries, exports, add(library.shared()),
                      folder.linker};
  return link(folder, library.shared(), request, times);
}

/// Files that a honec which was killed while it wrote has left in `folder`, by
/// the name that they were to have, or had, with the sign that follows it. No
/// process has the number that ends such a name, and the file was not written
/// for a minute: a process on another machine would write it.
static std::multimap<std::string, std::string>
findAbandoned(const std::string &folder) {
  namespace fs = llvm::sys::fs;
  std::multimap<std::string, std::string> abandoned;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    for (const char *sign : {kTemporary, kAside}) {
      const auto [name, number] =
          llvm::sys::path::filename(at->path()).rsplit(sign);
      pid_t process = 0;
      fs::file_status status;
      if (!number.getAsInteger(10, process) && process > 0 &&
          ::kill(process, 0) != 0 && errno == ESRCH &&
          !fs::status(at->path(), status) &&
          std::chrono::system_clock::now() - status.getLastModificationTime() >
              std::chrono::minutes(1))
        abandoned.emplace(name.str() + sign, at->path());
    }
  return abandoned;
}

/// Makes the folder `path` and takes it: two that write it at once would leave
/// the program of one beside the weights of the other. On a file system without
/// locks nobody waits.
static Result<rt::platform::File> takeFolder(const std::string &path) {
  using namespace rt::platform;
  for (bool isFirst = true;; isFirst = false) {
    if (std::error_code error = createFolder(path))
      return cannotWrite(path, error.message());
    File folder;
    if (folder.open(path, File::Mode::ReadFolder))
      return folder;
    if (folder.lock(File::Lock::Alone) == std::errc::operation_would_block) {
      if (isFirst)
        llvm::errs() << "note: " << path
                     << " is being written by another honec; waiting for it\n";
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    // One that failed removes a folder that it made.
    FileInfo taken, named;
    if (folder.inspect(taken) || inspect(path, named) || taken.isSame(named))
      return folder;
  }
}

static Status writeFiles(ProgramFolder &folder, PhaseTimes &times) {
  const auto abandoned = findAbandoned(folder.path);
  std::list<rt::TemporaryFile> files;
  std::vector<Rename> renames;
  auto removeAbandoned = [&](const std::string &name) {
    for (auto [at, end] = abandoned.equal_range(name); at != end; ++at)
      llvm::sys::fs::remove(at->second);
  };
  auto add = [&](const std::string &name) {
    removeAbandoned(name + kTemporary);
    std::string path = folder.path + "/" + name;
    files.emplace_back(path + kTemporary +
                       std::to_string(llvm::sys::Process::getProcessId()));
    renames.push_back({files.back().path, path});
    return files.back().path;
  };
  PackedWeights packed;
  if (folder.manifest) {
    HONE_TRY(rt::writeFile(add("weights.manifest.json"), *folder.manifest));
  } else {
    HONE_ASSIGN(packed,
                packWeights(folder, add("weights.hone.safetensors"), times));
  }
  for (FolderProgram &program : folder.programs) {
    program.description.weightDigests = packed.digests;
    program.description.weightFileBytes = packed.bytes;
    if (folder.isLibrary)
      continue;
    std::list<rt::TemporaryFile> objects;
    HONE_TRY(emit(folder, program, objects, times));
    HONE_TRY(link(folder, program.name,
                  {objects.back().path,
                   folder.archives,
                   {},
                   add(program.name),
                   folder.linker},
                  times));
  }
  for (const std::string &engine : folder.engines)
    if (std::error_code error = llvm::sys::fs::copy_file(
            engine, add(llvm::sys::path::filename(engine).str())))
      return cannotWrite(folder.path, engine + ": " + error.message());
  if (folder.isLibrary)
    HONE_TRY(writeLibrary(folder, add, times));
  HONE_TRY(renameTogether(renames));
  for (const Rename &file : renames) // until here the only whole program
    removeAbandoned(llvm::sys::path::filename(file.to).str() + kAside);
  return Status::ok();
}

Status hone::writeFolder(ProgramFolder folder, PhaseTimes &times) {
  bool isNew = !llvm::sys::fs::exists(folder.path);
  HONE_ASSIGN(rt::platform::File taken, takeFolder(folder.path));
  Status status = writeFiles(folder, times);
  if (!status.isOk() && isNew)
    llvm::sys::fs::remove(folder.path); // only when it is empty
  return status;
}
