//===- Tokenizer.cpp - Text to token ids ----------------------------------===//
//
// Text that needs no change is cut where it lies. Text that is normalised or
// gets a space in front passes through a window that holds whole pieces: a
// piece is only taken when the text behind it cannot change it.
//
//===----------------------------------------------------------------------===//

#include "text/Tokenizer.h"

#include "base/Utf8.h"

#include <algorithm>

namespace hone::rt {

static constexpr size_t WindowBytes = size_t(128) << 10;
static constexpr std::string_view MetaspaceCharacter = "\xE2\x96\x81";

Result<Tokenizer> Tokenizer::fromTable(std::string_view block,
                                       const std::string &place) {
  Result<TokenizerTable> opened = TokenizerTable::open(block, place);
  if (!opened.isOk())
    return opened.status();
  Tokenizer tokenizer;
  tokenizer.table = opened.value();
  return tokenizer;
}

/// The byte of a byte-fallback token "<0x0A>", or -1.
static int fallbackByte(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>')
    return -1;
  int value = 0;
  for (char digit : token.substr(3, 2)) {
    if (digit >= '0' && digit <= '9')
      value = value * 16 + (digit - '0');
    else if (digit >= 'A' && digit <= 'F')
      value = value * 16 + (digit - 'A' + 10);
    else
      return -1;
  }
  return value;
}

/// How many bytes at the start of `rest` the token stands for. U+2581 is itself
/// or a space.
size_t Tokenizer::bytesOf(int32_t id, std::string_view rest) const {
  const std::string_view token = table.token(uint32_t(id));
  if (!table.hasFlag(TokenizerTable::ByteFallback))
    return token.size();
  if (fallbackByte(token) >= 0)
    return 1;
  if (!table.hasFlag(TokenizerTable::Metaspace))
    return token.size();
  size_t bytes = 0;
  for (size_t at = 0; at < token.size();) {
    const size_t length = utf8Length(uint8_t(token[at]));
    const bool isSpace = token.substr(at, length) == MetaspaceCharacter &&
                         bytes < rest.size() && rest[bytes] == ' ';
    bytes += isSpace ? 1 : length;
    at += length;
  }
  return bytes;
}

/// All ids of `piece`.
bool Tokenizer::append(const int32_t *ids, size_t count, std::string_view piece,
                       Encoding &encoding) const {
  const size_t begin = encoding.taken;
  encoding.taken += piece.size();
  if (encoding.ends == nullptr)
    return encoding.sink.append(ids, count);
  for (size_t i = 0, at = 0; i < count; ++i) {
    at = i + 1 == count
             ? piece.size()
             : std::min(piece.size(), at + bytesOf(ids[i], piece.substr(at)));
    if (!encoding.sink.appendOne(ids[i], encoding.ends->endOf(begin + at)))
      return false;
  }
  return true;
}

bool Tokenizer::encodePiece(std::string_view piece, Encoding &encoding) const {
  if (table.hasFlag(TokenizerTable::IgnoreMerges)) {
    const int64_t whole = table.find(piece);
    const int32_t id = int32_t(whole);
    if (whole >= 0)
      return append(&id, 1, piece, encoding);
  }
  PieceMerger &merger = encoding.scratch.merger;
  merger.begin(piece.size());
  const auto addBytes = [&](std::string_view bytes) {
    for (char byte : bytes)
      merger.add(table.byteId(uint8_t(byte)));
  };
  if (!table.hasFlag(TokenizerTable::ByteFallback)) {
    addBytes(piece);
  } else {
    const bool metaspace = table.hasFlag(TokenizerTable::Metaspace);
    for (size_t at = 0; at < piece.size();) {
      std::string_view character =
          piece.substr(at, utf8Length(uint8_t(piece[at])));
      at += character.size();
      if (metaspace && character == " ")
        character = MetaspaceCharacter;
      const int64_t id = table.find(character);
      if (id >= 0)
        merger.add(uint32_t(id));
      else
        addBytes(character);
    }
  }
  std::vector<int32_t> &ids = encoding.scratch.ids;
  merger.merge(table.merges(), ids);
  return append(ids.data(), ids.size(), piece, encoding);
}

static Status pieceTooLong(const std::string &place, size_t offset) {
  return Status::error(
      ErrorCode::NoWordBoundary,
      {place,
       "expected a word boundary in every " +
           std::to_string(Tokenizer::LongestPiece) +
           " bytes but found none from byte " + std::to_string(offset),
       "split the text into shorter samples or lines with white space"});
}

/// At most `size` bytes of `text` from `at`, a few more to end a character.
static std::string_view charactersAt(std::string_view text, size_t at,
                                     size_t size) {
  size_t end = at + std::min(size, text.size() - at);
  for (int more = 0;
       more < 3 && end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80;
       ++more)
    ++end;
  return text.substr(at, end - at);
}

Status Tokenizer::encode(std::string_view text, const std::string &place,
                         TokenSink &sink, TokenizerScratch &scratch,
                         bool mayPrefix) const {
  NfcCheck check;
  bool normalize = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view part = charactersAt(text, at, WindowBytes);
    const size_t invalid = findInvalidUtf8(part);
    if (invalid != std::string_view::npos)
      return Status::error(
          ErrorCode::DataNotUtf8,
          {place,
           "expected UTF-8 text but byte " + std::to_string(at + invalid) +
               " begins no valid character",
           "convert the file to UTF-8, for example with iconv -t UTF-8"});
    normalize =
        normalize || (table.hasFlag(TokenizerTable::Nfc) && !check.add(part));
    at += part.size();
    if (!sink.passed(at))
      return Status::ok();
  }
  if (text.empty())
    return Status::ok();
  const bool prefix =
      mayPrefix &&
      (table.hasFlag(TokenizerTable::PrependSpace) ||
       (table.hasFlag(TokenizerTable::PrefixSpace) && text.front() != ' '));
  TokenEnds ends(text, prefix ? 1 : 0, normalize);
  Encoding encoding{sink, scratch, sink.wantsEnds() ? &ends : nullptr};
  if (!normalize && !prefix)
    return encodeInPlace(text, place, encoding);
  scratch.window.assign(prefix ? 1 : 0, ' ');
  return encodeWindows(text, place, encoding, normalize);
}

/// Encodes the pieces of `window`. `taken` is what they hold; if one is too
/// long, what those before it hold.
Tokenizer::Outcome Tokenizer::encodeWindow(std::string_view window,
                                           bool isWhole, Encoding &encoding,
                                           size_t &taken) const {
  PieceScanner scanner(table.preTokenizer(), window, isWhole,
                       table.joinedPairs());
  for (std::string_view piece = scanner.next(); !piece.empty();
       piece = scanner.next()) {
    taken = size_t(piece.data() - window.data());
    if (piece.size() > LongestPiece)
      return Outcome::TooLong;
    if (!encodePiece(piece, encoding))
      return Outcome::Stopped;
  }
  taken = scanner.position();
  // What is left of a window is the start of a piece.
  return !isWhole && window.size() - taken > LongestPiece ? Outcome::TooLong
                                                          : Outcome::Done;
}

/// Text that needs no change is cut where it lies.
Status Tokenizer::encodeInPlace(std::string_view text, const std::string &place,
                                Encoding &encoding) const {
  for (size_t position = 0, taken = 0; position < text.size();
       position += taken) {
    const std::string_view window = charactersAt(text, position, WindowBytes);
    const bool isWhole = position + window.size() == text.size();
    const Outcome outcome = encodeWindow(window, isWhole, encoding, taken);
    if (outcome == Outcome::TooLong)
      return pieceTooLong(place, position + taken);
    if (outcome == Outcome::Stopped || !encoding.sink.passed(position + taken))
      break;
  }
  return Status::ok();
}

Status Tokenizer::encodeWindows(std::string_view text, const std::string &place,
                                Encoding &encoding, bool normalize) const {
  TokenizerScratch &scratch = encoding.scratch;
  std::string &window = scratch.window;
  window.reserve(WindowBytes + LongestPiece); // marks follow what is wanted
  if (normalize)
    scratch.normalizer.reset(text);
  for (size_t position = 0;;) {
    if (normalize) {
      if (!scratch.normalizer.append(window, WindowBytes, LongestPiece / 4))
        return pieceTooLong(place, position);
      position = scratch.normalizer.position();
    } else {
      const std::string_view more = charactersAt(
          text, position, WindowBytes - std::min(WindowBytes, window.size()));
      window += more;
      position += more.size();
    }
    size_t taken = 0;
    const bool isWhole = position == text.size();
    const Outcome outcome = encodeWindow(window, isWhole, encoding, taken);
    if (outcome == Outcome::TooLong)
      return pieceTooLong(place,
                          position - std::min(position, window.size() - taken));
    if (outcome == Outcome::Stopped || isWhole ||
        !encoding.sink.passed(position))
      return Status::ok();
    window.erase(0, taken);
  }
}

void Tokenizer::appendToken(int32_t id, std::string &out) const {
  if (id < 0 || uint32_t(id) >= table.tokenCount())
    return;
  std::string_view token = table.token(uint32_t(id));
  const int byte =
      table.hasFlag(TokenizerTable::ByteFallback) ? fallbackByte(token) : -1;
  if (byte >= 0) {
    out.push_back(char(byte));
    return;
  }
  if (!table.hasFlag(TokenizerTable::Metaspace)) {
    out += token;
    return;
  }
  while (!token.empty()) {
    const bool space =
        token.substr(0, MetaspaceCharacter.size()) == MetaspaceCharacter;
    out.push_back(space ? ' ' : token.front());
    token.remove_prefix(space ? MetaspaceCharacter.size() : 1);
  }
}

std::string Tokenizer::decode(const int32_t *ids, size_t count) const {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    appendToken(ids[i], out);
  if (table.hasFlag(TokenizerTable::PrependSpace) && !out.empty() &&
      out.front() == ' ')
    out.erase(0, 1);
  return out;
}

} // namespace hone::rt
