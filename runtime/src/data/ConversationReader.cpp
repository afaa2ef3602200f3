//===- ConversationReader.cpp - The turns of a conversation in JSON -------===//

#include "data/ConversationReader.h"

#include "base/Utf8.h"

namespace hone::rt {

static constexpr struct {
  const char *name;
  ChatRole role;
} Roles[] = {
    {"system", ChatRole::System},   {"user", ChatRole::User},
    {"human", ChatRole::User},      {"assistant", ChatRole::Assistant},
    {"gpt", ChatRole::Assistant},   {"chatgpt", ChatRole::Assistant},
    {"bing", ChatRole::Assistant},  {"bard", ChatRole::Assistant},
    {"model", ChatRole::Assistant}, {"tool", ChatRole::Tool},
};

/// Keys that say something of their turn.
static constexpr const char *Refused[] = {"function_call", "tools", "images",
                                          "weight",        "train", "training",
                                          "refusal",       "audio"};

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
                       "turns of system, user, assistant and tool with text");
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
                "expected a turn of system, user, assistant or tool but found "
                "the role \"" +
                    shortened(name, 64) + "\"");
}

/// Of a content: each takes about 600 bytes as a template sees it.
static constexpr size_t MostParts = 256;

/// The texts of [{"type": "text", "text": ...}].
static bool readParts(JsonReader &reader, ChatTurn &turn) {
  turn.isInParts = true;
  std::string key, type;
  for (reader.beginArray(); reader.nextElement();) {
    const uint64_t start = reader.lastValue();
    bool hasText = false;
    type.clear();
    if (turn.parts.size() == MostParts)
      return reader.failAt(start,
                           "expected a content of at most " +
                               std::to_string(MostParts) + " parts",
                           "join texts that follow one another");
    turn.parts.emplace_back();
    for (reader.beginObject(); reader.nextMember(key);) {
      if (key == "type")
        reader.string(type);
      else if (key == "text" && !hasText)
        hasText = reader.string(turn.parts.back());
      else if (!isEmptyValue(reader))
        return refuse(reader, reader.lastValue(),
                      "a part of a content has \"" + shortened(key, 64) +
                          "\", which is not supported");
    }
    if (reader.ok() && (type != "text" || !hasText))
      return refuse(reader, start,
                    "expected a part of a content with {\"type\": \"text\", "
                    "\"text\"} but found the type \"" +
                        shortened(type, 64) + "\"");
  }
  return reader.ok();
}

/// A string, parts of text, or null, which calls make up for.
static bool readContent(JsonReader &reader, const std::string &key,
                        ChatTurn &turn) {
  const uint64_t start = reader.lastValue();
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (kind == Json::Kind::String)
    return reader.string(turn.content);
  if (kind == Json::Kind::Array)
    return readParts(reader, turn);
  Json none;
  if (kind == Json::Kind::Null) {
    turn.hasContent = false;
    return reader.value(none);
  }
  return refuse(reader, start,
                "expected \"" + key + "\" to be a string but found " +
                    describe(kind));
}

/// Of a conversation's calls and tools: each value takes about 250 bytes.
static constexpr uint64_t MostTreeValues = 4096;

bool readTools(JsonReader &reader, const std::string &place, Json &tools) {
  const uint64_t start = reader.lastValue();
  reader.limitTree(MostTreeValues);
  if (!reader.value(tools))
    return false;
  if (tools.isString() && !tools.string().empty()) {
    const std::string text = tools.string();
    JsonReader inner(text, place);
    inner.limitTree(MostTreeValues);
    if (!inner.value(tools) || !inner.finish())
      return reader.failAt(
          start,
          "expected \"tools\" to be a list, or its JSON, but " +
              inner.status().message().problem,
          "write tools as a list of JSON schemas");
  }
  if (tools.isNull() || (tools.isString() && tools.string().empty()) ||
      (tools.isArray() && tools.array().empty())) {
    tools = Json();
    return true;
  }
  bool isList = tools.isArray();
  if (isList)
    for (const Json &tool : tools.array())
      isList &= tool.isObject();
  return isList ||
         reader.failAt(start, "expected \"tools\" to be a list of objects",
                       "write tools as a list of JSON schemas");
}

/// Null is none; an empty list is one to a template.
static bool readCalls(JsonReader &reader, ChatTurn &turn) {
  const uint64_t start = reader.lastValue();
  if (!reader.value(turn.calls))
    return false;
  if (turn.calls.isNull())
    return true;
  bool isList = turn.calls.isArray();
  if (isList)
    for (const Json &call : turn.calls.array())
      isList &= call.isObject();
  return isList || refuse(reader, start,
                          "expected \"tool_calls\" to be a list of objects");
}

/// Whether all calls of the conversation have the role that may call.
static bool checkTurn(JsonReader &reader, uint64_t start, ChatTurn &turn,
                      bool hasContent) {
  const bool calls = !turn.calls.array().empty();
  if (calls && turn.role != ChatRole::Assistant)
    return refuse(reader, start,
                  "\"tool_calls\" are an assistant's, but the turn is of the "
                  "role \"" +
                      std::string(roleName(turn.role)) + "\"");
  if (!calls && hasContent && !turn.hasContent)
    return refuse(reader, start,
                  "expected \"content\" to be a string but found null");
  turn.hasContent &= hasContent;
  return true;
}

static bool readTurn(JsonReader &reader, const KeyMap &map, ChatTurn &turn,
                     const std::function<void(const std::string &)> &ignored) {
  const uint64_t start = reader.lastValue();
  bool hasRole = false, hasContent = false;
  std::string given;
  for (reader.beginObject(); reader.nextMember(given);) {
    const uint64_t keyStart = reader.lastToken();
    const std::string *name = map.nameOf(given);
    const std::string &key = name ? *name : given;
    if (name == nullptr) {
      ignored(given);
      if (!reader.skip())
        return false;
      continue;
    }
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
      turn.keys.push_back(char(ChatKey::Role));
      if (!readRole(reader, turn))
        return false;
      continue;
    }
    if (isContent) {
      hasContent = true;
      turn.keys.push_back(char(ChatKey::Content));
      if (!readContent(reader, key, turn))
        return false;
      continue;
    }
    if (key == "tool_calls") {
      if (turn.calls.isArray())
        return reader.failAt(keyStart, "the key \"tool_calls\" is there twice",
                             "keep one of the two");
      if (!readCalls(reader, turn))
        return false;
      if (turn.calls.isArray())
        turn.keys.push_back(char(ChatKey::Calls));
      continue;
    }
    if (key == "tool_call_id" || key == "name") {
      const ChatKey which = key == "name" ? ChatKey::Name : ChatKey::CallId;
      Json::Kind kind;
      if (!reader.peek(kind))
        return false;
      if (turn.keys.find(char(which)) != std::string::npos)
        return reader.failAt(keyStart, "the key \"" + key + "\" is there twice",
                             "keep one of the two");
      if (kind == Json::Kind::String) {
        turn.keys.push_back(char(which));
        if (!reader.string(which == ChatKey::Name ? turn.name : turn.callId))
          return false;
      } else if (!isEmptyValue(reader)) {
        return refuse(reader, keyStart,
                      "expected \"" + key + "\" to be a string");
      }
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
      turn.keys.push_back(char(key == "thinking" ? ChatKey::Thinking
                               : key == "reasoning"
                                   ? ChatKey::Reasoning
                                   : ChatKey::ReasoningContent));
      if (!reader.string(turn.reasoning))
        return false;
    } else if (!isEmptyValue(reader)) {
      return refuse(reader, keyStart, "\"" + key + "\" is not supported");
    }
  }
  if (!reader.ok())
    return false;
  if (!hasRole || (!hasContent && turn.calls.array().empty()))
    return reader.failAt(
        start,
        std::string("expected a turn with ") +
            (hasRole ? "\"content\" or \"value\"" : "\"role\" or \"from\"") +
            " but found none",
        "write each turn as {\"role\", \"content\"} or "
        "{\"from\", \"value\"}");
  return checkTurn(reader, start, turn, hasContent);
}

bool readTurns(JsonReader &reader, size_t most, const KeyMap &map,
               std::vector<ChatTurn> &turns,
               const std::function<void(const std::string &)> &ignored) {
  const uint64_t start = reader.lastValue();
  reader.limitTree(MostTreeValues);
  for (reader.beginArray(); reader.nextElement();) {
    if (turns.size() == most)
      return reader.failAt(start,
                           "expected a conversation of at most " +
                               std::to_string(most) +
                               " turns but found a longer one",
                           "split it into several");
    turns.emplace_back();
    if (!readTurn(reader, map, turns.back(), ignored))
      return false;
  }
  return reader.ok();
}

} // namespace hone::rt
