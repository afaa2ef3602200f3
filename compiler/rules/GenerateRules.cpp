//===- GenerateRules.cpp - Rules for a program that generates -------------===//

#include "compiler/rules/GenerateRules.h"

#include "formats/JsonFile.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <limits>

using namespace hone;
using rt::Json;

Result<rt::GenerateSettings> hone::settleGenerateSettings(const Spec &spec,
                                                          int64_t positions) {
  constexpr int64_t usual = 1024;
  rt::GenerateSettings settled = spec.generate;
  const int64_t most =
      positions > 0 ? positions : std::numeric_limits<int64_t>::max();
  if (settled.max_length == 0)
    settled.max_length =
        std::max<int64_t>(spec.train.max_seq_length, std::min(usual, most));
  if (settled.max_length > most)
    return Status(ErrorCode::SpecDisagreesWithModel,
                  spec.placeOf("generate.max_length"),
                  "expected at most the model's max_position_embeddings, " +
                      std::to_string(positions) + ", but found " +
                      settled.max_length.text(),
                  "lower it: the model knows no later position");
  settled.prompt_rows =
      std::min<int64_t>(settled.prompt_rows, settled.max_length);
  return settled;
}

Result<std::vector<int64_t>>
hone::readStopTokens(const std::string &directory) {
  std::vector<int64_t> tokens;
  for (const char *name : {"/generation_config.json", "/config.json"}) {
    const std::string path = directory + name;
    if (!llvm::sys::fs::exists(path))
      continue;
    HONE_ASSIGN(Json json, rt::readJsonFile(path));
    const Json *found = json.isObject() ? json.find("eos_token_id") : nullptr;
    if (!found || found->isNull())
      continue;
    auto add = [&](const Json &id) {
      if (id.isInteger() && id.integer() >= 0 &&
          id.integer() <= std::numeric_limits<int32_t>::max())
        tokens.push_back(id.integer());
      else
        found = nullptr;
    };
    if (!found->isArray())
      add(*found);
    else
      for (const Json &id : found->array())
        if (found)
          add(id);
    if (!found)
      return Status(ErrorCode::BadConfig, path + ": /eos_token_id",
                    "expected a token id or a list of them",
                    "take the file from the same place as the weights");
    return tokens;
  }
  return tokens;
}
