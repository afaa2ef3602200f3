//===- ChatPresets.h - Chat templates for models without one --------------===//

#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct ChatPreset {
  const char *name;   ///< chat_template in a spec
  const char *source; ///< Jinja
  /// Special tokens that it writes, which the tokenizer must have: a base model
  /// without them would learn their letters.
  std::vector<const char *> tokens;
};

/// Null: there is none of this name.
const ChatPreset *findChatPreset(std::string_view name);

} // namespace hone
