//===- JsonFile.cpp - Small JSON files with a known layout ----------------===//
//
// Reads through a mapping, so a huge file is refused without being read.
//
//===----------------------------------------------------------------------===//

#include "formats/JsonFile.h"

namespace hone::rt {

Status badJson(ErrorCode code, const std::string &path, const Json *value,
               const std::string &problem, const std::string &remedy) {
  std::string place = path;
  if (value)
    place += ":" + std::to_string(value->line()) + ":" +
             std::to_string(value->column());
  return Status(code, place, problem, remedy);
}

Result<MappedFile> openJsonFile(const std::string &path) {
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  if (file.size() > MaxJsonFileBytes)
    return badJson(ErrorCode::BadJson, path, nullptr,
                   "expected at most " + std::to_string(MaxJsonFileBytes) +
                       " bytes, found " + std::to_string(file.size()),
                   "check that this is the right file");
  return file;
}

Result<Json> readJsonFile(const std::string &path, uint64_t values) {
  HONE_ASSIGN(const MappedFile file, openJsonFile(path));
  Result<Json> json = Json::parse(file.bytes(), path, values);
  if (json.isOk() && !json.value().isObject())
    return badJson(ErrorCode::BadJson, path, &json.value(),
                   std::string("expected an object, found ") +
                       describe(json.value().kind()),
                   "check that this is the right file");
  return json;
}

} // namespace hone::rt
