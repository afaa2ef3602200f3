//===- TextOutput.h - Text that is made, on standard output ---------------===//
//
// Standard output has the text and nothing else; notes for a person are on
// standard error.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "generate/TextStream.h"
#include "program/GenerateOptions.h"
#include "text/Tokenizer.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// One text, as it is made, or its ids, a line for each.
class TextOutput {
public:
  /// `tokenizer` may be null if ids are shown, and outlives the output.
  TextOutput(const GenerateOptions &options, const Tokenizer *tokenizer);

  /// Errors of these three: WriteFailed. A pipe that nobody reads is none.
  Status add(int32_t id);
  /// Writes the text that was held back, and if `endsLine` the end of a line.
  Status finish(bool endsLine);
  /// Something that is no part of the text.
  Status write(std::string_view text);

  /// All of the text so far, whether text or ids are shown. Control characters
  /// are as the model made them.
  const std::string &text() const { return made; }
  /// Whether a stop text ended it.
  bool isStopped() const { return stream.isStopped(); }
  /// Whether nobody reads standard output any more.
  bool isClosed() const { return closed; }

private:
  Status show(const std::string &text);

  const Tokenizer *tokenizer;
  bool showsIds, isTerminal, closed = false;
  TextStream stream;
  std::string bytes, made;
};

/// Ends the line of the text where statistics would go on with it: they are on
/// a terminal and the text is not, or both are in one file.
void endLineOfText();

} // namespace hone::rt
