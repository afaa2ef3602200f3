//===- NewFolder.cpp - A folder that is whole or gone ---------------------===//

#include "compiler/hone-adapter/NewFolder.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Process.h"
#include "compiler/driver/CommandLine.h"
#include "platform/Files.h"

using namespace hone;

Result<NewFolder> NewFolder::create(const std::string &path) {
  NewFolder made;
  made.scratch = rt::temporaryPath(path + "/new");
  if (rt::platform::exists(path)) {
    Result<std::vector<std::string>> names = rt::listDirectory(path);
    if (!names.isOk() || !names.value().empty())
      return Status(ErrorCode::CannotCreate, path,
                    names.isOk() ? "expected a new or an empty folder, found " +
                                       names.value().front() + " in it"
                                 : "expected a folder, found something else",
                    "give another -o, or remove it");
  } else {
    made.isNew = true;
    rt::rememberTemporary(path);
  }
  made.folder = path;
  rt::rememberTemporaryFolder(made.scratch);
  Status status = rt::createDirectories(path);
  if (status.isOk())
    status = rt::createDirectories(made.scratch, rt::FolderSync::Later);
  return status.isOk() ? Result<NewFolder>(std::move(made)) : status;
}

NewFolder::~NewFolder() {
  if (folder.empty())
    return;
  rt::platform::removeFlatFolder(scratch.c_str());
  for (const std::string &file : files)
    rt::platform::removeFile((folder + "/" + file).c_str());
  if (isNew)
    rt::platform::removeFolder(folder.c_str());
  forget();
}

std::string NewFolder::pathOf(std::string_view file) const {
  return scratch + "/" + std::string(file);
}

void NewFolder::wrote(std::string_view file) { files.emplace_back(file); }

Status NewFolder::write(std::string_view file, std::string_view text) {
  Status status = rt::writeFile(pathOf(file), text);
  if (status.isOk())
    wrote(file);
  return status;
}

Status NewFolder::copy(std::string_view file, const std::string &from) {
  HONE_ASSIGN(rt::MappedFile source, rt::MappedFile::open(from));
  HONE_ASSIGN(rt::OutputFile made, rt::OutputFile::create(pathOf(file)));
  Status status = Status::ok();
  source.visit(0, source.size(), [&](const char *bytes, uint64_t size) {
    if (status.isOk())
      status = made.write(bytes, size);
  });
  if (status.isOk())
    status = made.commit(rt::FolderSync::Later);
  if (status.isOk())
    wrote(file);
  return status;
}

Status NewFolder::commit() {
  SignalsWait until; // all of them, or none
  for (const std::string &file : files) {
    if (&file == &files.back())
      HONE_TRY(rt::syncDirectory(folder));
    if (rt::platform::Error error =
            rt::platform::rename(pathOf(file), folder + "/" + file))
      return Status(ErrorCode::WriteFailed, folder + "/" + file,
                    "cannot be given its name: " + error.message(),
                    "check the disk and the output folder");
  }
  rt::platform::removeFolder(scratch.c_str());
  forget();
  return rt::syncDirectory(std::exchange(folder, ""));
}

/// The folder is no longer a temporary.
void NewFolder::forget() {
  rt::forgetTemporary(scratch);
  if (isNew)
    rt::forgetTemporary(folder);
}
