//===- LinkBinary.cpp - One object and the runtime become a program -------===//
//
// The C++ library is linked statically where its archive exists: the binary
// then runs on systems with an older one. A driver without the archive is
// tried again without these flags.
//
//===----------------------------------------------------------------------===//

#include "targets/host/LinkBinary.h"

#include "targets/host/NewFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdlib>
#include <optional>

using namespace hone;
using llvm::StringRef;

namespace {

/// A compiler driver and the flags that select the target.
struct Driver {
  std::string path;
  std::vector<std::string> flags;
  bool isZig = false;
};

} // namespace

bool hone::isHostTriple(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  return triple.getArch() == host.getArch() && triple.getOS() == host.getOS() &&
         (triple.getEnvironment() == host.getEnvironment() ||
          triple.getEnvironment() == llvm::Triple::UnknownEnvironment);
}

bool hone::runsHere(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  return isHostTriple(text) ||
         (triple.isMusl() && triple.getArch() == host.getArch() &&
          triple.getOS() == host.getOS());
}

std::string hone::toolchainTriple(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  if (triple.isMacOSX())
    return "arm64-apple-macosx";
  return (llvm::Triple::getArchTypeName(triple.getArch()) + "-" +
          triple.getOSAndEnvironmentName())
      .str();
}

static std::optional<std::string> findProgram(StringRef name) {
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  // A path is given back as it is, whether or not there is anything.
  if (!path || !llvm::sys::fs::can_execute(*path))
    return std::nullopt;
  return *path;
}

/// Whether clang would look for the triple's C library among the GNU system's,
/// find that, and link a program that is neither's.
static bool hasOtherLibrary(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  return triple.getEnvironment() != llvm::Triple::UnknownEnvironment &&
         !triple.isGNUEnvironment();
}

bool hone::needsZig(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  return triple.isMusl() || triple.isMacOSX();
}

/// Zig's name of the triple.
static std::string zigTriple(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  return triple.isMacOSX() ? "aarch64-macos" : toolchainTriple(text);
}

/// "zig", and "python-zig" of its Python package.
static bool isZig(StringRef path) {
  StringRef name = llvm::sys::path::filename(path);
  return name.starts_with("zig") || name == "python-zig";
}

/// Zig of the build or the installation that the archives are of.
static std::string zigBeside(const LinkRequest &request) {
  if (request.libraries.empty())
    return "";
  llvm::SmallString<128> path(llvm::sys::path::parent_path(
      llvm::sys::path::parent_path(request.libraries.front())));
  llvm::sys::path::append(path, "linker", "zig");
  return path.str().str();
}

static bool isClang(StringRef path) {
  return llvm::sys::path::filename(path).starts_with("clang");
}

static llvm::Expected<Driver> findDriver(const LinkRequest &request,
                                         StringRef triple) {
  bool isHost = isHostTriple(triple);
  std::string toolchain = toolchainTriple(triple);
  std::vector<std::string> names;
  if (!request.linker.empty())
    names = {request.linker};
  else if (needsZig(triple))
    names = {zigBeside(request), "zig"};
  else if (!isHost && hasOtherLibrary(triple))
    names = {toolchain + "-g++"};
  else if (!isHost)
    names = {"clang++-22", toolchain + "-g++", "clang++"};
  else {
    if (const char *cxx = std::getenv("CXX"); cxx && *cxx)
      names.push_back(cxx);
    names.insert(names.end(), {"clang++-22", "clang++", "g++", "c++"});
  }
  for (const std::string &name : names) {
    std::optional<std::string> path = findProgram(name);
    if (!path)
      continue;
    if (isZig(*path))
      // Without a level of optimization it makes a debug build of its C++
      // library.
      return Driver{
          *path, {"c++", "-target", zigTriple(triple), "-O2", "-g0"}, true};
    // The system's linker knows the system's own machine only; lld knows all.
    if (!isHost && isClang(*path))
      return Driver{*path, {"--target=" + toolchain, "-fuse-ld=lld"}};
    return Driver{*path, {}};
  }
  if (!request.linker.empty())
    return llvm::createStringError("cannot find the linker '" + request.linker +
                                   "'");
  if (needsZig(triple))
    return llvm::createStringError("only zig links programs for " + toolchain +
                                   ", and it is neither " + names.front() +
                                   " nor in PATH; ./dev linker installs it");
  return llvm::createStringError(
      "found no compiler driver to link with; looked for " +
      llvm::join(names, ", ") +
      "; install one of them or name one with "
      "--linker");
}

static llvm::Error cannotCreate(llvm::Error why) {
  return llvm::createStringError("cannot create a temporary file: " +
                                 llvm::toString(std::move(why)));
}

/// Runs `driver`; returns its output if it failed, nothing if not.
static llvm::Expected<std::optional<std::string>>
runDriver(const Driver &driver, const LinkRequest &request, StringRef output,
          StringRef versionScript, bool staticLibraries) {
  std::vector<std::string> arguments = {driver.path};
  arguments.insert(arguments.end(), driver.flags.begin(), driver.flags.end());
  arguments.insert(arguments.end(), {"-o", output.str()});
  if (!request.object.empty())
    arguments.push_back(request.object);
  for (const std::string &symbol : request.exports)
    arguments.push_back("-Wl,--undefined=" + symbol);
  if (!request.exports.empty())
    arguments.insert(arguments.end(),
                     {"-shared", "-Wl,-Bsymbolic",
                      "-Wl,--version-script=" + versionScript.str()});
  arguments.insert(arguments.end(), request.libraries.begin(),
                   request.libraries.end());
  if (staticLibraries && !driver.isZig) // which does so in any case
    arguments.insert(arguments.end(), {"-static-libstdc++", "-static-libgcc"});
  // A sanitized compiler comes with a sanitized runtime archive.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  if (driver.flags.empty())
    arguments.push_back("-fsanitize=address,undefined");
#endif
#endif
  // Code that nothing reaches, most of it the C++ library's, stays out.
  arguments.insert(arguments.end(), {"-pthread", "-lm", "-Wl,--gc-sections"});
  if (driver.isZig)
    arguments.push_back("-Wl,--strip-debug"); // of its own libraries
  llvm::SmallVector<StringRef> views(arguments.begin(), arguments.end());

  llvm::Expected<std::string> log = createTemporaryFile("hone-link-", ".log");
  if (!log)
    return cannotCreate(log.takeError());
  llvm::scope_exit removeLog([&] { llvm::sys::fs::remove(*log); });

  std::string failure;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(*log),
                                          StringRef(*log)};
  int code = llvm::sys::ExecuteAndWait(driver.path, views,
                                       /*Env=*/std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &failure);
  if (code == 0)
    return std::nullopt;
  auto printed = llvm::MemoryBuffer::getFile(*log);
  std::string text = llvm::join(views, " ") + "\n" + failure;
  if (printed)
    text += (*printed)->getBuffer().rtrim().str();
  return text;
}

/// Writes the exports of a shared library to a new file, whose path `script`
/// becomes; nothing for a program.
static llvm::Error writeVersionScript(llvm::ArrayRef<std::string> exports,
                                      std::string &script) {
  if (exports.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> path =
      createTemporaryFile("hone-exports-", ".map");
  if (!path)
    return cannotCreate(path.takeError());
  script = *path;
  std::error_code error;
  llvm::raw_fd_ostream out(script, error);
  if (!error) {
    out << "{ global: " << llvm::join(exports, "; ") << "; local: *; };\n";
    out.close();
    error = out.error();
    out.clear_error(); // which would end the process as a bug
  }
  if (error)
    return llvm::createStringError(error, "cannot write '" + script +
                                              "': " + error.message());
  return llvm::Error::success();
}

llvm::Error hone::linkBinary(const LinkRequest &request, StringRef triple) {
  llvm::Expected<Driver> driver = findDriver(request, triple);
  if (!driver)
    return driver.takeError();

  // Beside the output, so that renaming stays within one file system.
  llvm::Expected<std::string> created = createNewFile(request.output + ".");
  if (!created)
    return llvm::createStringError("cannot write beside '" + request.output +
                                   "': " + llvm::toString(created.takeError()));
  const std::string &temporary = *created;
  llvm::scope_exit removeTemporary([&] { llvm::sys::fs::remove(temporary); });

  std::string script;
  llvm::scope_exit removeScript([&] { llvm::sys::fs::remove(script); });
  if (llvm::Error error = writeVersionScript(request.exports, script))
    return error;

  llvm::Expected<std::optional<std::string>> failure =
      runDriver(*driver, request, temporary, script, /*staticLibraries=*/true);
  if (failure && *failure && !driver->isZig)
    failure = runDriver(*driver, request, temporary, script,
                        /*staticLibraries=*/false);
  if (!failure)
    return failure.takeError();
  if (*failure)
    return llvm::createStringError("linking '" + request.output +
                                   "' failed:\n" + **failure);
  uint64_t bytes = 0;
  if (llvm::sys::fs::file_size(temporary, bytes) || bytes == 0)
    return llvm::createStringError("'" + driver->path +
                                   "' ended well but wrote nothing");
  // Zig leaves a file of macOS as it was made, which nobody may execute.
  using llvm::sys::fs::perms;
  llvm::ErrorOr<perms> made = llvm::sys::fs::getPermissions(temporary);
  if (driver->isZig && made)
    (void)llvm::sys::fs::setPermissions(
        temporary,
        *made | perms(unsigned(perms::all_exe) & ~llvm::sys::fs::getUmask()));
  if (std::error_code error = llvm::sys::fs::rename(temporary, request.output))
    return llvm::createStringError(error, "cannot rename '" + temporary +
                                              "' to '" + request.output + "'");
  removeTemporary.release();
  return llvm::Error::success();
}
