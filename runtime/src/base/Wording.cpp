//===- Wording.cpp - A person's words for those of messages ---------------===//

#include "base/Wording.h"

#include <algorithm>
#include <cstdlib>

namespace hone::rt {

Wording::Wording(std::vector<Word> given) : words(std::move(given)) {
  std::stable_sort(words.begin(), words.end(),
                   [](const Word &one, const Word &other) {
                     return one.ours.size() > other.ours.size();
                   });
}

Wording Wording::parse(std::string_view text) {
  std::vector<Word> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.rfind('=');
    if (equals != std::string_view::npos && equals > 0)
      words.push_back({std::string(line.substr(0, equals)),
                       std::string(line.substr(equals + 1))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Wording(std::move(words));
}

Wording Wording::given() {
  const char *text = std::getenv(Variable);
  return text ? parse(text) : Wording();
}

std::string Wording::text() const {
  std::string out;
  for (const Word &word : words)
    out += word.ours + "=" + word.theirs + "\n";
  return out;
}

static bool isSpace(char c) { return c == ' ' || c == '\n'; }

/// Whether a word goes on with it.
static bool isOfWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '/';
}

/// How many bytes of `text` are `ours`; 0: it begins with something else.
static size_t lengthOf(std::string_view ours, std::string_view text) {
  size_t at = 0;
  for (char c : ours) {
    if (at == text.size() || (isSpace(c) ? !isSpace(text[at]) : c != text[at]))
      return 0;
    ++at;
    while (isSpace(c) && at < text.size() && isSpace(text[at]))
      ++at;
  }
  return at < text.size() && isOfWord(text[at]) ? 0 : at;
}

std::string Wording::apply(std::string_view message) const {
  std::string out;
  for (size_t i = 0; i < message.size();) {
    size_t length = 0;
    if (i == 0 || !isOfWord(message[i - 1]))
      for (const Word &word : words)
        if ((length = lengthOf(word.ours, message.substr(i))) > 0) {
          out += word.theirs;
          break;
        }
    if (length == 0)
      out += message[i++];
    i += length;
  }
  return out;
}

} // namespace hone::rt
