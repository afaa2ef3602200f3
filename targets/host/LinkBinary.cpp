//===- LinkBinary.cpp - One object and the runtime become a program -------===//
//
// The C++ library is linked statically where its archive exists: the binary
// then runs on systems with an older one. A driver without the archive is
// tried again without these flags.
//
//===----------------------------------------------------------------------===//

#include "targets/host/LinkBinary.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
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
};

} // namespace

bool hone::isHostTriple(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  return triple.getArch() == host.getArch() && triple.getOS() == host.getOS() &&
         (triple.getEnvironment() == host.getEnvironment() ||
          triple.getEnvironment() == llvm::Triple::UnknownEnvironment);
}

std::string hone::toolchainTriple(StringRef text) {
  llvm::Triple triple(llvm::Triple::normalize(text));
  return (llvm::Triple::getArchTypeName(triple.getArch()) + "-" +
          triple.getOSAndEnvironmentName())
      .str();
}

static std::optional<std::string> findProgram(StringRef name) {
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  if (!path)
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
    // The system's linker knows the system's own machine only; lld knows all.
    if (!isHost && isClang(*path))
      return Driver{*path, {"--target=" + toolchain, "-fuse-ld=lld"}};
    return Driver{*path, {}};
  }
  if (!request.linker.empty())
    return llvm::createStringError("cannot find the linker '" + request.linker +
                                   "'");
  return llvm::createStringError(
      "found no compiler driver to link with; looked for " +
      llvm::join(names, ", ") +
      "; install one of them or name one with "
      "--linker");
}

/// Runs `driver`; returns what it printed if it failed, nothing if not.
static llvm::Expected<std::optional<std::string>>
runDriver(const Driver &driver, const LinkRequest &request, StringRef output,
          bool staticLibraries) {
  std::vector<std::string> arguments = {driver.path};
  arguments.insert(arguments.end(), driver.flags.begin(), driver.flags.end());
  arguments.insert(arguments.end(), {"-o", output.str(), request.object});
  arguments.insert(arguments.end(), request.libraries.begin(),
                   request.libraries.end());
  if (staticLibraries)
    arguments.insert(arguments.end(), {"-static-libstdc++", "-static-libgcc"});
  // A sanitized compiler comes with a sanitized runtime archive.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  if (driver.flags.empty())
    arguments.push_back("-fsanitize=address,undefined");
#endif
#endif
  // What no code reaches, most of it the C++ library's, stays out.
  arguments.insert(arguments.end(), {"-pthread", "-lm", "-Wl,--gc-sections"});
  llvm::SmallVector<StringRef> views(arguments.begin(), arguments.end());

  llvm::SmallString<128> log;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("hone-link", "log", log))
    return llvm::createStringError(error, "cannot create a temporary file");
  llvm::scope_exit removeLog([&] { llvm::sys::fs::remove(log); });

  std::string failure;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int code = llvm::sys::ExecuteAndWait(driver.path, views,
                                       /*Env=*/std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &failure);
  if (code == 0)
    return std::nullopt;
  auto printed = llvm::MemoryBuffer::getFile(log);
  std::string text = llvm::join(views, " ") + "\n" + failure;
  if (printed)
    text += (*printed)->getBuffer().rtrim().str();
  return text;
}

llvm::Error hone::linkBinary(const LinkRequest &request, StringRef triple) {
  llvm::Expected<Driver> driver = findDriver(request, triple);
  if (!driver)
    return driver.takeError();

  // Beside the output, so that renaming stays within one file system.
  llvm::SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(
          request.output + ".%%%%%%", temporary))
    return llvm::createStringError(error, "cannot write beside '" +
                                              request.output + "'");
  llvm::scope_exit removeTemporary([&] { llvm::sys::fs::remove(temporary); });

  llvm::Expected<std::optional<std::string>> failure =
      runDriver(*driver, request, temporary, /*staticLibraries=*/true);
  if (failure && *failure)
    failure = runDriver(*driver, request, temporary, /*staticLibraries=*/false);
  if (!failure)
    return failure.takeError();
  if (*failure)
    return llvm::createStringError("linking '" + request.output +
                                   "' failed:\n" + **failure);
  if (std::error_code error = llvm::sys::fs::rename(temporary, request.output))
    return llvm::createStringError(error, "cannot rename '" + temporary +
                                              "' to '" + request.output + "'");
  removeTemporary.release();
  return llvm::Error::success();
}
