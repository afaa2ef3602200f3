//===- TextStream.h - Text as it may be shown while it is made ------------===//
//
// A token may end inside of a character, and a stop text may begin at the end
// of the text so far: such bytes wait for the next ones.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

class TextStream {
public:
  /// The stream ends before the one of `stops`, none of them empty, that is
  /// whole first; of those that end at one place before the longest.
  explicit TextStream(std::vector<std::string> stops = {})
      : stops(std::move(stops)) {}

  /// Appends bytes, and returns the text that can be shown now: well-formed
  /// UTF-8, with U+FFFD for bytes that belong to no character.
  std::string add(std::string_view bytes);
  /// The rest of the text, when nothing more will come.
  std::string finish();
  /// Whether a stop text was there; nothing after it is shown.
  bool isStopped() const { return stopped; }

private:
  /// Takes the text that cannot be the beginning of a stop text.
  std::string release(bool isEnd);

  std::vector<std::string> stops;
  std::string bytes; ///< the beginning of a character
  std::string held;  ///< whole characters
  bool stopped = false;
};

} // namespace hone::rt
