//===- TemporaryFolder.cpp - A folder that is gone afterwards -------------===//
//
// mkdtemp, so that nobody else can have made it before us.
//
//===----------------------------------------------------------------------===//

#include "program/TemporaryFolder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <unistd.h>

namespace hone::rt {

Status TemporaryFolder::create() {
  const char *parent = getenv("TMPDIR");
  name = std::string(parent && *parent ? parent : P_tmpdir) + "/hone-XXXXXX";
  if (mkdtemp(name.data()))
    return Status::ok();
  std::string place = name;
  name.clear();
  return Status::error(
      ExitCode::CannotCreate,
      {place,
       std::string("cannot create a temporary folder: ") + strerror(errno),
       "set TMPDIR to a folder that is writable"});
}

TemporaryFolder::~TemporaryFolder() {
  if (name.empty())
    return;
  if (DIR *folder = opendir(name.c_str())) {
    while (dirent *entry = readdir(folder))
      unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
  }
  rmdir(name.c_str());
}

} // namespace hone::rt
