//===- TokenizerFolder.cpp - The tokenizer's files of a Hugging Face model ===//

#include "compiler/text/TokenizerFolder.h"

#include "base/JsonReader.h"
#include "base/MappedFile.h"
#include "platform/Files.h"

#include <algorithm>

using namespace hone::rt;

namespace hone {

bool TokenizerFolder::has(const char *file) const {
  platform::FileInfo info;
  return !platform::inspect(path(file), info);
}

Status
TokenizerFolder::readMembers(const char *file,
                             std::initializer_list<std::string_view> wanted,
                             Json &out) const {
  if (!has(file))
    return Status::ok();
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(path(file)));
  JsonReader reader(mapped.bytes(), path(file), ErrorCode::BadTokenizer);
  if (reader.members(out, [&](const std::string &key) {
        return std::find(wanted.begin(), wanted.end(), key) != wanted.end();
      }))
    reader.finish();
  return reader.status();
}

std::string placeOf(const std::string &file, const Json &where) {
  return file + ":" + std::to_string(where.line()) + ":" +
         std::to_string(where.column());
}

} // namespace hone
