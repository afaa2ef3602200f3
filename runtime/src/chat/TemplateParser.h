//===- TemplateParser.h - A chat template, checked ------------------------===//
//
// Accepts exactly the templates that the interpreter can render. honec runs it
// when a model is compiled, a training binary when its data has conversations.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "chat/TemplateSyntax.h"

#include <string>
#include <string_view>

namespace hone::rt {

/// Levels of nodes; the interpreter's stack is bounded by a multiple of it.
inline constexpr unsigned DeepestTemplate = 160;

/// `place` names the template in messages, which are about "place:line".
/// Errors: BadChatTemplate for text that is no Jinja, UnsupportedChatTemplate
/// naming the construct beyond the subset.
Result<TemplateTree> parseTemplate(std::string_view source,
                                   const std::string &place);

} // namespace hone::rt
