//===- ConversationReader.h - The turns of a conversation in JSON ---------===//
//
// As OpenAI has them, {"role", "content"}, and as ShareGPT has them, {"from",
// "value"}. Unsupported keys that change the text of a turn (images, marks of
// single turns) are refused by name.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/JsonReader.h"
#include "chat/ChatTemplate.h"
#include "data/KeyMap.h"

#include <functional>
#include <string>
#include <vector>

namespace hone::rt {

/// Reads the array of turns that `reader` is at, of at most `most`; `map` has
/// the names of "role" and "content". `ignored` is told each key that is passed
/// over. Errors of the reader: BadLine, UnsupportedTurn.
bool readTurns(JsonReader &reader, size_t most, const KeyMap &map,
               std::vector<ChatTurn> &turns,
               const std::function<void(const std::string &)> &ignored);

/// Reads the value of "tools": a list of JSON schemas, as one or as its text.
/// `tools` is null if there are none. Errors as readTurns.
bool readTools(JsonReader &reader, const std::string &place, Json &tools);

/// Reads a value; whether it is null, false, "", [] or {}.
bool isEmptyValue(JsonReader &reader);

} // namespace hone::rt
