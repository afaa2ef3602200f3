//===- ModelConfig.cpp - The files beside a model's weights ---------------===//

#include "compiler/weights/ModelConfig.h"

#include <charconv>
#include <cmath>

using namespace hone;
using rt::Dtype;
using rt::Json;

llvm::ArrayRef<const char *> hone::modelCompanions() {
  static constexpr const char *names[] = {"added_tokens.json",
                                          "chat_template.jinja",
                                          "chat_template.json",
                                          "generation_config.json",
                                          "merges.txt",
                                          "special_tokens_map.json",
                                          "tokenizer.json",
                                          "tokenizer.model",
                                          "tokenizer_config.json",
                                          "vocab.json",
                                          "LICENSE",
                                          "LICENSE.txt",
                                          "preprocessor_config.json"};
  return names;
}

/// `value` as JSON, with keys in their order, indented by 2.
static std::string renderJson(const Json &value, unsigned indent) {
  const std::string space(indent + 2, ' ');
  std::string out, separator = "\n";
  char text[40];
  switch (value.kind()) {
  case Json::Kind::Null:
    return "null";
  case Json::Kind::Bool:
    return value.boolean() ? "true" : "false";
  case Json::Kind::Number: {
    if (value.isInteger())
      return std::to_string(value.integer());
    if (!std::isfinite(value.number())) // beyond a double's range
      return value.number() > 0 ? "1e999" : "-1e999";
    auto end = std::to_chars(text, text + sizeof text, value.number()).ptr;
    return std::string(text, end);
  }
  case Json::Kind::String:
    out += rt::jsonString(value.string());
    return out;
  case Json::Kind::Array:
    for (const Json &item : value.array()) {
      out += separator + space + renderJson(item, indent + 2);
      separator = ",\n";
    }
    return out.empty() ? "[]"
                       : "[" + out + "\n" + std::string(indent, ' ') + "]";
  case Json::Kind::Object:
    for (const auto &[key, member] : value.object()) {
      out += separator + space + rt::jsonString(key) + ": " +
             renderJson(member, indent + 2);
      separator = ",\n";
    }
    return out.empty() ? "{}"
                       : "{" + out + "\n" + std::string(indent, ' ') + "}";
  }
  return "null";
}

const char *hone::torchName(Dtype dtype) {
  switch (dtype) {
  case Dtype::F64:
    return "float64";
  case Dtype::F32:
    return "float32";
  case Dtype::BF16:
    return "bfloat16";
  default:
    return "float16";
  }
}

std::string hone::renderConfig(const Json &config,
                               const ConfigChanges &changes) {
  std::string text;
  const std::string tie = "tie_word_embeddings";
  bool hasType = false, hasTie = false;
  auto member = [&](const std::string &key, const std::string &value) {
    text += text.empty() ? "\n  " : ",\n  ";
    text += rt::jsonString(key) + ": " + value;
  };
  std::string type;
  if (changes.dtype)
    type += rt::jsonString(torchName(*changes.dtype));
  for (const auto &[key, value] : config.object()) {
    if (changes.losesGroups &&
        (key == "quantization" || key == "quantization_config"))
      continue;
    bool isType = key == "dtype" || key == "torch_dtype";
    hasType |= isType;
    const bool isUntied = changes.untiesHead && key == tie;
    hasTie |= isUntied;
    member(key, isUntied                  ? "false"
                : isType && changes.dtype ? type
                                          : renderJson(value, 2));
  }
  if (changes.untiesHead && !hasTie)
    member(tie, "false");
  if (changes.dtype && !hasType)
    member("torch_dtype", type);
  return "{" + text + "\n}\n";
}
