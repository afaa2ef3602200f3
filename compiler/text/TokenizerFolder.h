//===- TokenizerFolder.h - The tokenizer's files of a Hugging Face model --===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace hone {

class TokenizerFolder {
public:
  explicit TokenizerFolder(std::string directory)
      : name(std::move(directory)) {}

  std::string path(const char *file) const { return name + "/" + file; }
  bool has(const char *file) const;

  /// The members `wanted` of the object in `file`; none when there is no file.
  /// Errors: BadTokenizer, as MappedFile::open.
  Status readMembers(const char *file,
                     std::initializer_list<std::string_view> wanted,
                     rt::Json &out) const;

private:
  std::string name;
};

/// "tokenizer.json:3:14"
std::string placeOf(const std::string &file, const rt::Json &where);

} // namespace hone
