//===- RunName.cpp - The run that a folder's checkpoints are of -----------===//

#include "formats/RunName.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "platform/Files.h"

#include <cinttypes>
#include <cstdio>

namespace hone::rt {

static constexpr size_t kDigits = 16;

static std::string pathIn(const std::string &folder) {
  return folder + "/together.run";
}

/// 0 where `text` is not as it is written.
static uint64_t parse(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() != kDigits + 1 || text.back() != '\n')
    return 0;
  uint64_t name = 0;
  for (char letter : text.substr(0, kDigits)) {
    const size_t digit = digits.find(letter);
    if (digit == std::string_view::npos)
      return 0;
    name = name << 4 | digit;
  }
  return name;
}

Result<uint64_t> readRunName(const std::string &folder) {
  const std::string path = pathIn(folder);
  if (!platform::exists(path))
    return uint64_t(0);
  HONE_ASSIGN(const MappedFile found, MappedFile::open(path));
  if (const uint64_t name = parse(found.bytes()))
    return name;
  return Status(
      ErrorCode::DamagedCheckpoint, path,
      "expects the run's name, 16 hexadecimal digits and the end of the line, "
      "but has " +
          std::to_string(found.size()) + " bytes that are none",
      "copy together.run from the folder of another program of the same run; "
      "folders without it are not compared");
}

Status writeRunName(const std::string &folder, uint64_t name) {
  char text[kDigits + 2];
  snprintf(text, sizeof(text), "%016" PRIx64 "\n", name);
  return writeFile(pathIn(folder), text);
}

} // namespace hone::rt
