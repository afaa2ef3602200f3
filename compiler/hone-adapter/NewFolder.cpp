//===- NewFolder.cpp - A folder that is whole or gone ---------------------===//

#include "compiler/hone-adapter/NewFolder.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "platform/Files.h"

#include <algorithm>

using namespace hone;
using rt::ErrorCode;
using rt::Result;
using rt::Status;

Result<NewFolder> NewFolder::create(const std::string &path) {
  NewFolder made;
  if (rt::platform::exists(path)) {
    Result<std::vector<std::string>> names = rt::listDirectory(path);
    if (!names.isOk() || !names.value().empty())
      return Status::error(ErrorCode::CannotCreate,
                           {path,
                            names.isOk()
                                ? "expected a new or an empty folder, found " +
                                      names.value().front() + " in it"
                                : "expected a folder, found something else",
                            "give another -o, or remove it"});
  } else {
    made.isNew = true;
    rt::rememberTemporary(path);
    if (Status status = rt::createDirectories(path); !status.isOk()) {
      rt::forgetTemporary(path);
      return status;
    }
  }
  made.folder = path;
  return Result<NewFolder>(std::move(made));
}

NewFolder::~NewFolder() {
  if (folder.empty())
    return;
  for (const std::string &file : files)
    rt::platform::removeFile(file.c_str());
  if (isNew)
    rt::platform::removeFolder(folder.c_str());
  keep();
}

std::string NewFolder::pathOf(std::string_view file) const {
  return folder + "/" + std::string(file);
}

void NewFolder::wrote(std::string_view file) {
  files.push_back(pathOf(file));
  rt::rememberTemporary(files.back());
}

Status NewFolder::write(std::string_view file, std::string_view text) {
  Status status = rt::writeFile(pathOf(file), text);
  if (status.isOk())
    wrote(file);
  return status;
}

Status NewFolder::copy(std::string_view file, const std::string &from) {
  Result<rt::MappedFile> source = rt::MappedFile::open(from);
  if (!source.isOk())
    return source.status();
  Result<rt::OutputFile> made = rt::OutputFile::create(pathOf(file));
  if (!made.isOk())
    return made.status();
  Status status = Status::ok();
  source.value().visit(0, source.value().size(),
                       [&](const char *bytes, uint64_t size) {
                         if (status.isOk())
                           status = made.value().write(bytes, size);
                       });
  if (status.isOk())
    status = made.value().commit(rt::FolderSync::Later);
  if (status.isOk())
    wrote(file);
  return status;
}

void NewFolder::keep() {
  for (const std::string &file : files)
    rt::forgetTemporary(file);
  if (isNew)
    rt::forgetTemporary(folder);
  folder.clear();
  files.clear();
}
