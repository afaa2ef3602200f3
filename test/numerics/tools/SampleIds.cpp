//===- SampleIds.cpp - A data line from a generation sample ---------------===//
//
// sample-ids generation_sample.json: prints {"input_ids": prompt, generated}.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/MappedFile.h"

#include <cstdio>

using namespace hone::rt;

int main(int argc, char **argv) {
  Result<MappedFile> file = MappedFile::open(argc == 2 ? argv[1] : "");
  if (!file.isOk())
    return std::fputs(file.status().render().c_str(), stderr), 1;
  Result<Json> root = Json::parse(
      std::string_view(file.value().data(), file.value().size()), argv[1]);
  if (!root.isOk())
    return std::fputs(root.status().render().c_str(), stderr), 1;
  const char *separator = "{\"input_ids\": [";
  for (const char *key : {"prompt_ids", "generated_ids"}) {
    const Json *ids = root.value().find(key);
    for (const Json &id : ids ? ids->array() : std::vector<Json>()) {
      std::printf("%s%lld", separator, static_cast<long long>(id.integer()));
      separator = ", ";
    }
  }
  std::printf("]}\n");
  return 0;
}
