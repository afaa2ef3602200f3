//===- JsonFuzzer.cpp - Any bytes as JSON ---------------------------------===//
//
// libFuzzer target. Beyond not crashing: every string that was read must read
// back the same after jsonString; skipping accepts all that a tree accepts, and
// duplicate keys.
//
//===----------------------------------------------------------------------===//

#include "base/JsonReader.h"

#include "Parts.h"

using namespace hone::rt;

static void checkStrings(const Json &value) {
  if (value.isString()) {
    std::string text = jsonString(value.string());
    Result<Json> again = Json::parse(text, "again");
    if (!again.isOk() || again.value().string() != value.string())
      std::abort();
  }
  for (const Json &item : value.array())
    checkStrings(item);
  for (const Json::Member &member : value.object()) {
    if (value.find(member.first) != &member.second)
      std::abort(); // a duplicate key got through
    checkStrings(member.second);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<Json> json = Json::parse(text, "input");
  JsonReader reader(text, "input");
  const bool passes = reader.skip() && reader.finish();
  if (json.isOk()) {
    checkStrings(json.value());
    if (!passes)
      std::abort();
    return 0;
  }
  hone::fuzz::requireMessage(json.status());
  const bool isDuplicate = json.status().message().problem.find(
                               "each key once") != std::string::npos;
  if (passes && !isDuplicate)
    std::abort();
  return 0;
}
