//===- AddedTokens.cpp - Tokens that are found before text is cut ---------===//

#include "text/AddedTokens.h"

#include "base/Utf8.h"
#include "text/UnicodeClass.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr std::string_view Metaspace = "\xE2\x96\x81";

AddedTokens::AddedTokens(const char *entries, uint32_t count,
                         std::string_view texts, Normalization normalization)
    : entries(entries), count(count), texts(texts),
      normalization(normalization) {
  for (uint32_t i = 0; i < count; ++i) {
    const AddedToken token = at(i);
    const bool normalized = token.has(AddedToken::Normalized);
    if (!normalized)
      raw = i + 1;
    else // a space may be spelled with three bytes
      longest = std::max(longest, 3 * (size_t(token.size) + 1));
    if (token.size == 0 || token.offset >= texts.size())
      continue; // which check() says
    const char first =
        normalized && normalization.prepends ? ' ' : texts[token.offset];
    begins[normalized][uint8_t(first)] = true;
    if (normalized && normalization.spaces && first == ' ')
      begins[1][uint8_t(Metaspace.front())] = true;
  }
}

AddedToken AddedTokens::at(uint32_t index) const {
  uint32_t words[4];
  std::memcpy(words, entries + index * EntryBytes, EntryBytes);
  return {words[0], words[1], words[2], words[3]};
}

const char *AddedTokens::check(uint32_t tokens) const {
  for (uint32_t i = 0; i < count; ++i) {
    const AddedToken token = at(i);
    if (token.id >= tokens || (token.flags & ~uint32_t(AddedToken::AllFlags)))
      return "an added token is none";
    if (token.size == 0 || token.offset > texts.size() ||
        token.size > texts.size() - token.offset ||
        findInvalidUtf8(text(token)) != std::string_view::npos)
      return "the text of an added token is not in it";
    if (token.size > LongestText)
      return "an added token is too long";
    if (token.has(AddedToken::Normalized) != (i >= raw))
      return "the added tokens are not sorted";
    if (i != 0 && i != raw && text(at(i - 1)) >= text(token))
      return "the added tokens are not sorted";
  }
  return nullptr;
}

bool AddedTokens::isSpecial(int32_t id) const {
  for (uint32_t i = 0; i < count; ++i)
    if (int32_t(at(i).id) == id)
      return at(i).has(AddedToken::Special);
  return false;
}

/// Of the entries [from, to), whose texts agree in `depth` bytes, the first
/// whose next byte is `byte` or more; texts that end there come before all.
uint32_t AddedTokens::firstAfter(uint32_t from, uint32_t to, size_t depth,
                                 unsigned byte) const {
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    const AddedToken token = at(middle);
    if (token.size <= depth || uint8_t(texts[token.offset + depth]) < byte)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/// The longest token of its kind at `at` and where it ends, strips aside.
bool AddedTokens::longestAt(std::string_view all, size_t at, bool normalized,
                            bool withPrefix, AddedToken &token,
                            size_t &end) const {
  const bool spaces = normalized && normalization.spaces;
  const auto take = [&](size_t &place) {
    if (spaces && all.substr(place, Metaspace.size()) == Metaspace) {
      place += Metaspace.size();
      return ' ';
    }
    return all[place++];
  };
  if (withPrefix && (at >= all.size() || take(at) != ' '))
    return false;
  bool found = false;
  uint32_t from = normalized ? raw : 0, to = normalized ? count : raw;
  for (size_t depth = 0; from < to && at < all.size(); ++depth) {
    const unsigned byte = uint8_t(take(at));
    from = firstAfter(from, to, depth, byte);
    to = firstAfter(from, to, depth, byte + 1);
    if (from == to || this->at(from).size != depth + 1)
      continue;
    token = this->at(from);
    end = at;
    found = true;
  }
  return found;
}

bool AddedTokens::spellsSpecial(std::string_view all, size_t at) const {
  AddedToken token;
  size_t end;
  for (bool normalized : {false, true})
    if (longestAt(all, at, normalized, /*withPrefix=*/false, token, end) &&
        token.has(AddedToken::Special))
      return true;
  return false;
}

/// In U+2581, which the normalizer makes of spaces, nothing is white space.
bool AddedTokens::isSpace(std::string_view all, size_t at,
                          bool normalized) const {
  return (all[at] != ' ' || !normalized || !normalization.spaces) &&
         classify(decodeUtf8(all, at)) == UnicodeClass::WhiteSpace;
}

/// Where the character before `at` begins, `least` or later.
static size_t characterBefore(std::string_view all, size_t at, size_t least) {
  for (--at; at > least && (uint8_t(all[at]) & 0xC0) == 0x80;)
    --at;
  return at;
}

size_t AddedTokens::decidedEnd(std::string_view all) const {
  size_t end = all.size() - std::min(all.size(), longest);
  while (end > 0) {
    const size_t last = characterBefore(all, end, 0);
    if (end < all.size() && !isUtf8Continuation(all[end]) &&
        !isSpace(all, last, /*normalized=*/true))
      break;
    end = last;
  }
  return end;
}

bool AddedTokens::next(std::string_view all, size_t limit, bool normalized,
                       Cursor &cursor, const MayBe &mayBe, Match &match) const {
  size_t &at = cursor.resume;
  while (at < limit) {
    const size_t begin = at;
    if (!begins[normalized][uint8_t(all[begin])] ||
        !longestAt(all, begin, normalized, normalized && normalization.prepends,
                   match.token, at)) {
      at = begin + 1;
      continue;
    }
    if (match.token.has(AddedToken::Special) && !mayBe(begin, at))
      continue;
    match.begin = begin;
    match.end = at;
    if (match.token.has(AddedToken::LeftStrip)) {
      while (match.begin > cursor.head) {
        const size_t last = characterBefore(all, match.begin, cursor.head);
        if (!isSpace(all, last, normalized))
          break;
        match.begin = last;
      }
      match.begin = std::max(match.begin, cursor.head);
    }
    if (match.token.has(AddedToken::RightStrip))
      while (match.end < all.size() && isSpace(all, match.end, normalized))
        match.end += utf8Length(uint8_t(all[match.end]));
    // One in the space that the last one took is a token all the same, unless
    // it would take that space.
    if (match.begin < match.end)
      return true;
    cursor.head = match.end;
  }
  return false;
}

} // namespace hone::rt
