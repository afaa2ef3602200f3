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

/// The turns in `content`, the bytes of the file `path`: one conversation, as
/// training data has them. Errors: EmptyData, BadData as DataLines, and if
/// there is another sample or one that is no conversation.
Result<std::vector<ChatTurn>> readConversation(std::string_view content,
                                               const std::string &path);

/// The turns as a line of training data, with its line end.
std::string conversationLine(const std::vector<ChatTurn> &turns);

} // namespace hone::rt
