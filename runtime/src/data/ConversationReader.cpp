//===- ConversationReader.cpp - The turns of a conversation in JSON -------===//

#include "data/ConversationReader.h"

namespace hone::rt {

static constexpr struct {
  const char *name;
  ChatRole role;
} Roles[] = {
    {"system", ChatRole::System},   {"user", ChatRole::User},
    {"human", ChatRole::User},      {"assistant", ChatRole::Assistant},
    {"gpt", ChatRole::Assistant},   {"chatgpt", ChatRole::Assistant},
    {"bing", ChatRole::Assistant},  {"bard", ChatRole::Assistant},
    {"model", ChatRole::Assistant},
};

/// Keys that say something of their turn.
static constexpr const char *Refused[] = {
    "tool_calls", "function_call", "tool_call_id", "tools",   "images",
    "weight",     "train",         "training",     "refusal", "audio"};

bool isEmptyValue(JsonReader &reader) {
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  Json value;
  std::string text;
  switch (kind) {
  case Json::Kind::Null:
    return reader.value(value);
  case Json::Kind::Bool:
    return reader.value(value) && !value.boolean();
  case Json::Kind::String:
    return reader.string(text) && text.empty();
  case Json::Kind::Array:
    return reader.beginArray() && !reader.nextElement() && reader.ok();
  case Json::Kind::Object:
    return reader.beginObject() && !reader.nextMember(text) && reader.ok();
  default:
    return false;
  }
}

static bool refuse(JsonReader &reader, uint64_t at,
                   const std::string &problem) {
  return reader.ok() &&
         reader.failAt(ErrorCode::UnsupportedTurn, at, problem,
                       "leave such conversations out, or rewrite them as "
                       "turns of system, user and assistant with text");
}

static bool readRole(JsonReader &reader, ChatTurn &turn) {
  const uint64_t start = reader.lastValue();
  std::string name;
  if (!reader.string(name))
    return false;
  for (const auto &each : Roles)
    if (name == each.name) {
      turn.role = each.role;
      return true;
    }
  return refuse(reader, start,
                "expected a turn of system, user or assistant but found the "
                "role \"" +
                    name.substr(0, 64) + "\"");
}

/// A string; others by what they are for.
static bool readText(JsonReader &reader, const std::string &key,
                     std::string &out) {
  const uint64_t start = reader.lastValue();
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (kind == Json::Kind::String)
    return reader.string(out);
  return refuse(reader, start,
                "expected \"" + key + "\" to be a string but found " +
                    describe(kind));
}

static bool readTurn(JsonReader &reader, ChatTurn &turn,
                     const std::function<void(const std::string &)> &ignored) {
  const uint64_t start = reader.lastValue();
  bool hasRole = false, hasContent = false;
  std::string key;
  for (reader.beginObject(); reader.nextMember(key);) {
    const uint64_t keyStart = reader.lastToken();
    const bool isRole = key == "role" || key == "from";
    const bool isContent = key == "content" || key == "value";
    const bool isReasoning =
        key == "reasoning_content" || key == "thinking" || key == "reasoning";
    if ((isRole && hasRole) || (isContent && hasContent) ||
        (isReasoning && turn.hasReasoning))
      return reader.failAt(keyStart,
                           "the turn has \"" + key + "\" and one like it",
                           "keep one of the two");
    if (isRole) {
      hasRole = true;
      if (!readRole(reader, turn))
        return false;
      continue;
    }
    if (isContent) {
      hasContent = true;
      if (!readText(reader, key, turn.content))
        return false;
      continue;
    }
    bool isRefused = false;
    for (const char *each : Refused)
      isRefused |= key == each;
    if (!isRefused && !isReasoning) {
      ignored(key);
      if (!reader.skip())
        return false;
      continue;
    }
    Json::Kind kind;
    if (!reader.peek(kind))
      return false;
    if (isReasoning && kind == Json::Kind::String) {
      turn.hasReasoning = true;
      if (!reader.string(turn.reasoning))
        return false;
    } else if (!isEmptyValue(reader)) {
      return refuse(reader, keyStart, "\"" + key + "\" is not supported");
    }
  }
  if (!reader.ok())
    return false;
  if (!hasRole || !hasContent)
    return reader.failAt(
        start,
        std::string("expected a turn with ") +
            (hasRole ? "\"content\" or \"value\"" : "\"role\" or \"from\"") +
            " but found none",
        "write each turn as {\"role\", \"content\"} or "
        "{\"from\", \"value\"}");
  return true;
}

bool readTurns(JsonReader &reader, size_t most, std::vector<ChatTurn> &turns,
               const std::function<void(const std::string &)> &ignored) {
  const uint64_t start = reader.lastValue();
  for (reader.beginArray(); reader.nextElement();) {
    if (turns.size() == most)
      return reader.failAt(start,
                           "expected a conversation of at most " +
                               std::to_string(most) +
                               " turns but found a longer one",
                           "split it into several");
    turns.emplace_back();
    if (!readTurn(reader, turns.back(), ignored))
      return false;
  }
  return reader.ok();
}

} // namespace hone::rt
