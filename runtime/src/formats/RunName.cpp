//===- RunName.cpp - The run that a folder's checkpoints are of -----------===//

#include "formats/RunName.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "platform/Files.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace hone::rt {

static constexpr size_t kDigits = 16;

static std::string pathIn(const std::string &folder) {
  return folder + "/together.run";
}

std::string_view runNameDigits(std::string_view line) {
  if (line.size() != kDigits + 1 || line.back() != '\n' ||
      line.find_first_not_of("0123456789abcdef") != kDigits)
    return {};
  return line.substr(0, kDigits);
}

Result<uint64_t> readRunName(const std::string &folder) {
  const std::string path = pathIn(folder);
  if (!platform::exists(path))
    return uint64_t(0);
  HONE_ASSIGN(const MappedFile found, MappedFile::open(path));
  const std::string digits(runNameDigits(found.bytes()));
  if (const uint64_t name = strtoull(digits.c_str(), nullptr, 16))
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
