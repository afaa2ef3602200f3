//===- ConversationFile.h - A file with one conversation ------------------===//

#pragma once

#include "base/Status.h"
#include "data/DataLines.h"

#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Makes the key "system" beside the turns of `line` its first turn. Errors:
/// BadLine if there is a system turn already.
Status joinSystem(DataLine &line, const std::string &place);

/// The one conversation in `content`, the bytes of the file `path`, in a format
/// of training data. Errors: EmptyData; BadData as DataLines, and if there is
/// another sample or one that is no conversation.
Result<Conversation> readConversation(std::string_view content,
                                      const std::string &path);

/// As a line of training data, with its line end.
std::string conversationLine(const Conversation &conversation);

} // namespace hone::rt
