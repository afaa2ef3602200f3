//===- JsonFile.h - Small JSON files with a known layout ------------------===//
//
// Settings and manifests. Their size is capped before they are parsed, since a
// tree takes many times the bytes of its text.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hone::rt {

static constexpr uint64_t MaxJsonFileBytes = 1 << 20;
/// The most values whose tree fits the memory that a program's plan has for
/// preparing data.
static constexpr uint64_t FewJsonValues = 10'000;

/// Maps a file of at most MaxJsonFileBytes. Errors: NoInput, BadData, IoError.
Result<MappedFile> openJsonFile(const std::string &path);

/// Reads a file of at most MaxJsonFileBytes whose root is an object, with at
/// most so many values. Errors: NoInput, BadData, IoError.
Result<Json> readJsonFile(const std::string &path,
                          uint64_t values = Json::MaxValues);

/// An error at `value`, or at the file when it is null.
Status badJson(ErrorCode code, const std::string &path, const Json *value,
               const std::string &problem, const std::string &remedy);

} // namespace hone::rt
