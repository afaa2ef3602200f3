//===- ConversationReader.cpp - The turns of a conversation in JSON -------===//

#include "data/ConversationReader.h"

#include "base/Utf8.h"

#include <algorithm>

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

/// Most parts of a content: each takes about 600 bytes as a template sees it.
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

/// Most values of a conversation's calls and tools: each takes about 250 bytes.
static constexpr uint64_t MostTreeValues = 4096;

static bool isListOfObjects(const Json &value) {
  return value.isArray() &&
         std::all_of(value.array().begin(), value.array().end(),
                     [](const Json &each) { return each.isObject(); });
}

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
  return isListOfObjects(tools) ||
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
  return isListOfObjects(turn.calls) ||
         refuse(reader, start,
                "expected \"tool_calls\" to be a list of objects");
}

/// Calls are an assistant's, and without any there is content.
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

namespace {
/// Reads one turn, key by key; the JSON reader keeps the error.
class TurnReader {
public:
  TurnReader(JsonReader &reader, ChatTurn &turn) : reader(reader), turn(turn) {}

  bool read(const KeyMap &map,
            const std::function<void(const std::string &)> &ignored);

private:
  enum class Key { Role, Content, Reasoning, Calls, Text, Refused, Ignored };
  static Key kindOf(const std::string &key);

  bool readKey(Key kind, const std::string &key);
  bool readText(const std::string &key);
  bool readReasoning(const std::string &key);
  bool repeated(const std::string &key) {
    return reader.failAt(keyStart, "the key \"" + key + "\" is there twice",
                         "keep one of the two");
  }

  JsonReader &reader;
  ChatTurn &turn;
  uint64_t keyStart = 0;
  bool hasRole = false, hasContent = false;
};
} // namespace

TurnReader::Key TurnReader::kindOf(const std::string &key) {
  if (key == "role" || key == "from")
    return Key::Role;
  if (key == "content" || key == "value")
    return Key::Content;
  if (key == "reasoning_content" || key == "thinking" || key == "reasoning")
    return Key::Reasoning;
  if (key == "tool_calls")
    return Key::Calls;
  if (key == "tool_call_id" || key == "name")
    return Key::Text;
  return std::find(std::begin(Refused), std::end(Refused), key) ==
                 std::end(Refused)
             ? Key::Ignored
             : Key::Refused;
}

bool TurnReader::readText(const std::string &key) {
  const ChatKey which = key == "name" ? ChatKey::Name : ChatKey::CallId;
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (turn.keys.find(char(which)) != std::string::npos)
    return repeated(key);
  if (kind == Json::Kind::String) {
    turn.keys.push_back(char(which));
    return reader.string(which == ChatKey::Name ? turn.name : turn.callId);
  }
  return isEmptyValue(reader) ||
         refuse(reader, keyStart, "expected \"" + key + "\" to be a string");
}

bool TurnReader::readReasoning(const std::string &key) {
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (kind != Json::Kind::String)
    return isEmptyValue(reader) ||
           refuse(reader, keyStart, "\"" + key + "\" is not supported");
  turn.hasReasoning = true;
  turn.keys.push_back(char(key == "thinking"    ? ChatKey::Thinking
                           : key == "reasoning" ? ChatKey::Reasoning
                                                : ChatKey::ReasoningContent));
  return reader.string(turn.reasoning);
}

bool TurnReader::readKey(Key kind, const std::string &key) {
  switch (kind) {
  case Key::Role:
    hasRole = true;
    turn.keys.push_back(char(ChatKey::Role));
    return readRole(reader, turn);
  case Key::Content:
    hasContent = true;
    turn.keys.push_back(char(ChatKey::Content));
    return readContent(reader, key, turn);
  case Key::Reasoning:
    return readReasoning(key);
  case Key::Calls:
    if (turn.calls.isArray())
      return repeated(key);
    if (!readCalls(reader, turn))
      return false;
    if (turn.calls.isArray())
      turn.keys.push_back(char(ChatKey::Calls));
    return true;
  case Key::Text:
    return readText(key);
  case Key::Refused:
    return isEmptyValue(reader) ||
           refuse(reader, keyStart, "\"" + key + "\" is not supported");
  case Key::Ignored:
    return reader.skip();
  }
  return false;
}

bool TurnReader::read(const KeyMap &map,
                      const std::function<void(const std::string &)> &ignored) {
  const uint64_t start = reader.lastValue();
  std::string given;
  for (reader.beginObject(); reader.nextMember(given);) {
    keyStart = reader.lastToken();
    const std::string *name = map.nameOf(given);
    const std::string &key = name ? *name : given;
    const Key kind = name ? kindOf(key) : Key::Ignored;
    if (kind == Key::Ignored)
      ignored(key);
    if ((kind == Key::Role && hasRole) ||
        (kind == Key::Content && hasContent) ||
        (kind == Key::Reasoning && turn.hasReasoning))
      return reader.failAt(keyStart,
                           "the turn has \"" + key + "\" and one like it",
                           "keep one of the two");
    if (!readKey(kind, key))
      return false;
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
    if (!TurnReader(reader, turns.back()).read(map, ignored))
      return false;
  }
  return reader.ok();
}

} // namespace hone::rt
