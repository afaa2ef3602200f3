//===- NewFile.cpp - Files that nobody has yet ----------------------------===//

#include "targets/host/NewFile.h"

#include "runtime/src/platform/System.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace hone;
using llvm::StringRef;

llvm::Expected<std::string> hone::createNewFile(StringRef prefix,
                                                StringRef suffix) {
  std::string file = prefix.str() +
                     llvm::utohexstr(rt::platform::randomNumber(),
                                     /*LowerCase=*/true) +
                     suffix.str();
  int descriptor = -1;
  if (std::error_code error = llvm::sys::fs::openFileForWrite(
          file, descriptor, llvm::sys::fs::CD_CreateNew))
    return llvm::errorCodeToError(error);
  (void)llvm::sys::fs::closeFile(descriptor);
  return file;
}

llvm::Expected<std::string> hone::createTemporaryFile(StringRef prefix,
                                                      StringRef suffix) {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  llvm::sys::path::append(path, prefix);
  return createNewFile(path, suffix);
}
