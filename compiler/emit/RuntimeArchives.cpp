//===- RuntimeArchives.cpp - The half that every training binary shares ---===//
//
// main() comes first, the core last: a linker takes from an archive only the
// symbols that it already misses, and no archive needs one in front of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/RuntimeArchives.h"

#include "targets/host/LinkBinary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"

using namespace hone;

/// The command that brings the archives for `toolchain`; empty: this machine.
static std::string remedy(llvm::StringRef toolchain) {
  if (toolchain.empty())
    return "give its folder with --runtime-dir";
  std::string folder = "give the folder that has " + toolchain.str() +
                       "/ in it with --runtime-dir";
  if (needsZig(toolchain))
    return "run ./dev linker and build Hone again, which then makes it; or " +
           folder;
  if (llvm::Triple(llvm::Triple::normalize(toolchain)).isGNUEnvironment())
    return "install g++-" + toolchain.str() +
           " and build Hone again, which then makes it; or " + folder;
  return "Hone's build makes none for " + toolchain.str() +
         "; leave the target out for this machine, or " + folder;
}

Result<std::vector<std::string>>
hone::findRuntimeArchives(llvm::StringRef folder, llvm::StringRef toolchain,
                          RuntimeUse use) {
  std::vector<std::string> archives;
  std::vector<const char *> names = {"libhone_runtime_main.a"};
  if (use == RuntimeUse::ProgramWithTasks)
    names = {"libhone_tasks_main.a", "libhone_tasks.a"};
  if (use == RuntimeUse::Library)
    names.clear();
  else
    names.insert(names.end(), {"libhone_program.a", "libhone_exchange.a"});
  names.insert(names.end(), {"libhone_text.a", "libhone_core.a"});
  for (const char *name : names) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, toolchain, name);
    if (llvm::sys::fs::exists(path)) {
      archives.push_back(path.str().str());
      continue;
    }
    return Status(ErrorCode::NoRuntime, path.str().str(),
                  "the runtime's archive does not exist", remedy(toolchain));
  }
  return archives;
}

std::vector<std::string> hone::findEngines(llvm::StringRef folder,
                                           llvm::StringRef toolchain) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, toolchain);
  std::vector<std::string> engines;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(path, error), end;
       !error && file != end; file.increment(error)) {
    const llvm::StringRef name = llvm::sys::path::filename(file->path());
    if (name.starts_with("hone-exchange-") && name.ends_with(".so"))
      engines.push_back(file->path());
  }
  llvm::sort(engines);
  return engines;
}

std::string hone::runtimeFolderOf(llvm::StringRef tool) {
  llvm::SmallString<128> lib(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(tool)));
  llvm::sys::path::append(lib, "lib");
  llvm::SmallString<128> installed(lib);
  llvm::sys::path::append(installed, "hone");
  return llvm::sys::fs::is_directory(installed) ? installed.str().str()
                                                : lib.str().str();
}
