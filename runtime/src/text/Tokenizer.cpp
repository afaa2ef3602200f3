//===- Tokenizer.cpp - Text to token ids ----------------------------------===//
//
// Text that needs no change is cut where it lies. Text that is normalised or
// gets a space in front passes through a window that holds whole pieces: a
// piece is only taken when the text after it cannot change it.
//
//===----------------------------------------------------------------------===//

#include "text/Tokenizer.h"

#include "base/Counted.h"
#include "base/Utf8.h"
#include "text/TextBytes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hone::rt {

static constexpr size_t WindowBytes = size_t(128) << 10;
static constexpr std::string_view MetaspaceCharacter = "\xE2\x96\x81";

Result<Tokenizer> Tokenizer::fromTable(std::string_view block,
                                       const std::string &place) {
  HONE_ASSIGN(TokenizerTable opened, TokenizerTable::open(block, place));
  Tokenizer tokenizer;
  tokenizer.table = opened;
  return tokenizer;
}

std::string describeSpecialAsText(uint64_t count) {
  return counted(count, "special token") + " that the text spells " +
         plural(count, "is", "are") + " text" +
         "; if a chat template wrote it, give --special-tokens parse";
}

uint32_t Tokenizer::missingBefore(std::string_view text, bool parse) const {
  std::string all;
  for (uint32_t i = 0; i < table.beforeCount(); ++i)
    all += table.token(table.before(i));
  return parse && text.substr(0, all.size()) == all ? 0 : table.beforeCount();
}

uint32_t Tokenizer::missingAfter(std::string_view text, bool parse) const {
  std::string all;
  for (uint32_t i = 0; i < table.afterCount(); ++i)
    all += table.token(table.after(i));
  return parse && text.size() >= all.size() &&
                 text.substr(text.size() - all.size()) == all
             ? 0
             : table.afterCount();
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

/// One text, and of it the part at hand, between tokens that are not
/// normalized.
struct Tokenizer::Encoding {
  TokenSink &sink;
  TokenizerScratch &scratch;
  const std::string &place;
  const SpecialTokens &special;
  bool normalize;

  std::string_view text = {};         ///< the part
  size_t begin = 0;                   ///< where it is
  std::optional<TokenEnds> ends = {}; ///< none: the sink wants none
  size_t taken = 0;    ///< bytes of the normalized part that are encoded
  size_t inserted = 0; ///< of the next piece the first, which the part has not
  bool isStopped = false;

  void open(std::string_view part, size_t at) {
    text = part;
    begin = at;
    if (sink.wantsEnds())
      ends.emplace(part, normalize);
  }
  /// `end`: in the normalized part.
  bool appendOne(int32_t id, size_t end) {
    return ends ? sink.appendOne(id,
                                 begin + ends->endOf(std::max<size_t>(end, 1)))
                : sink.append(&id, 1);
  }
  /// Whether a special token from `from` to `to` of the whole text is one.
  bool mayBeSpecial(size_t from, size_t to) const {
    bool may = special.parse;
    if (may && special.marks) {
      const auto mark =
          std::lower_bound(special.marks->begin(), special.marks->end(), from);
      may = mark == special.marks->end() || *mark >= to;
    }
    if (!may && special.asText)
      ++*special.asText;
    return may;
  }
};

/// All ids of `piece`.
bool Tokenizer::append(const int32_t *ids, size_t count, std::string_view piece,
                       Encoding &encoding) const {
  const size_t begin = encoding.taken;
  const size_t inserted = std::exchange(encoding.inserted, 0);
  encoding.taken += piece.size() - inserted;
  if (!encoding.ends)
    return encoding.sink.append(ids, count);
  for (size_t i = 0, at = 0; i < count; ++i) {
    at = i + 1 == count
             ? piece.size()
             : std::min(piece.size(), at + bytesOf(ids[i], piece.substr(at)));
    // An inserted space stands for the first character.
    if (!encoding.appendOne(ids[i],
                            begin + std::max(at, inserted + 1) - inserted))
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
  return Status(
      ErrorCode::NoWordBoundary, place,
      "expected a word boundary in every " +
          std::to_string(Tokenizer::LongestPiece) +
          " bytes but found none from byte " + std::to_string(offset),
      "split the text into shorter samples or lines with white space");
}

/// At most `size` bytes of `text` from `at`, a few more to end a character.
static std::string_view charactersAt(std::string_view text, size_t at,
                                     size_t size) {
  size_t end = at + std::min(size, text.size() - at);
  for (int more = 0;
       more < 3 && end < text.size() && isUtf8Continuation(text[end]); ++more)
    ++end;
  return text.substr(at, end - at);
}

Status Tokenizer::encode(std::string_view text, const std::string &place,
                         TokenSink &sink, TokenizerScratch &scratch,
                         const SpecialTokens &special) const {
  NfcCheck check;
  bool normalize = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view part = charactersAt(text, at, WindowBytes);
    const size_t invalid = findInvalidUtf8(part);
    if (invalid != std::string_view::npos)
      return Status(ErrorCode::DataNotUtf8, place,
                    "expected UTF-8 text but byte " +
                        std::to_string(at + invalid) +
                        " begins no valid character",
                    utf8Remedy());
    normalize =
        normalize || (table.hasFlag(TokenizerTable::Nfc) && !check.add(part));
    at += part.size();
    if (!sink.passed(at))
      return Status::ok();
  }
  Encoding encoding{sink, scratch, place, special, normalize};
  const auto mayBe = [&](size_t begin, size_t end) {
    return encoding.mayBeSpecial(begin, end);
  };
  const AddedTokens &added = table.added();
  AddedTokens::Cursor cursor;
  AddedTokens::Match match;
  for (bool found = true; found && !encoding.isStopped;) {
    found = false;
    while (added.size() != 0 && !found && cursor.resume < text.size()) {
      found =
          added.next(text, std::min(text.size(), cursor.resume + WindowBytes),
                     /*normalized=*/false, cursor, mayBe, match);
      if (!found && !sink.passed(cursor.resume))
        return Status::ok();
    }
    const size_t end = found ? match.begin : text.size();
    if (cursor.head < end) {
      encoding.open(text.substr(cursor.head, end - cursor.head), cursor.head);
      HONE_TRY(encodeSegment(encoding));
    }
    if (!found || encoding.isStopped)
      break;
    cursor.head = match.end;
    const auto id = int32_t(match.token.id);
    encoding.isStopped = !(sink.wantsEnds() ? sink.appendOne(id, match.end)
                                            : sink.append(&id, 1));
  }
  return Status::ok();
}

/// Whether the pre-tokenizer puts a space in front of `text`; `isFirst`: of the
/// whole text's beginning.
bool Tokenizer::wantsPrefix(std::string_view text, bool isFirst) const {
  return table.hasFlag(TokenizerTable::PrefixSpace) &&
         (isFirst || !table.hasFlag(TokenizerTable::PrefixOnce)) &&
         text.front() != ' ' &&
         (!table.hasFlag(TokenizerTable::Metaspace) ||
          text.substr(0, MetaspaceCharacter.size()) != MetaspaceCharacter);
}

/// Encodes the pieces of `window`. `taken` is their length; if one is too long,
/// the length of those before it.
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
  // The rest of a window is the start of a piece.
  return !isWhole && window.size() - taken > LongestPiece ? Outcome::TooLong
                                                          : Outcome::Done;
}

/// Text that needs no change is cut where it lies.
Status Tokenizer::encodeInPlace(Encoding &encoding) const {
  const std::string_view text = encoding.text;
  for (size_t position = 0, taken = 0; position < text.size();
       position += taken) {
    const std::string_view window = charactersAt(text, position, WindowBytes);
    const bool isWhole = position + window.size() == text.size();
    const Outcome outcome = encodeWindow(window, isWhole, encoding, taken);
    if (outcome == Outcome::TooLong)
      return pieceTooLong(encoding.place, encoding.begin + position + taken);
    encoding.isStopped =
        outcome == Outcome::Stopped ||
        !encoding.sink.passed(encoding.begin + position + taken);
    if (encoding.isStopped)
      break;
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Text that is changed before it is encoded
//===----------------------------------------------------------------------===//

/// Cuts the normalized text at normalized tokens, and the text between them
/// into pieces. Memory holds one window of it at a time.
class Tokenizer::Windows {
public:
  Windows(const Tokenizer &tokenizer, Encoding &encoding);
  /// Errors: NoWordBoundary.
  Status encode();

private:
  bool isWhole() const { return position == text.size(); }
  /// Appends the next part of the text to the window.
  Status fill();
  /// Encodes as much of the window as is decided.
  Status encodeDecided();
  /// Encodes the text between tokens, up to `end`; `isAll`: nothing follows it.
  Status encodeUntil(size_t end, bool isAll);
  void append(const AddedTokens::Match &match);
  /// Drops text that is no longer needed from the window's beginning.
  void slide();

  /// The place of the window's byte `at` in the normalized text, and below in
  /// the given one.
  size_t normalizedAt(size_t at) const {
    return size_t(std::max<ptrdiff_t>(ptrdiff_t(at) - origin, 0));
  }
  size_t placeOf(size_t at) {
    const size_t bytes = normalizedAt(at);
    return encoding.begin + (bytes == 0 ? 0 : places.endOf(bytes));
  }
  bool mayBeSpecial(size_t begin, size_t end) {
    const bool isMarked = encoding.special.marks;
    const size_t from = isMarked ? placeOf(begin) : 0;
    return encoding.mayBeSpecial(from, isMarked ? placeOf(end) : 0);
  }
  /// A piece that begins at byte `at` of the window.
  Status tooLong(size_t at) const {
    return pieceTooLong(encoding.place,
                        encoding.begin + position -
                            std::min(position, window.size() - at));
  }

  const Tokenizer &tokenizer;
  const AddedTokens &added;
  Encoding &encoding;
  const std::string_view text;
  NfcNormalizer &normalizer;
  std::string &window;
  size_t position = 0; ///< up to which the text is, or was, in the window
  /// The byte before the cursor belongs to the encoded text: a space goes
  /// there.
  AddedTokens::Cursor cursor{1, 1};
  /// Where the normalized text begins in the window, or began before it.
  ptrdiff_t origin;
  TokenEnds places;
  bool isFresh =
      true; ///< nothing is encoded since the last token that is added
};

Tokenizer::Windows::Windows(const Tokenizer &tokenizer, Encoding &encoding)
    : tokenizer(tokenizer), added(tokenizer.table.added()), encoding(encoding),
      text(encoding.text), normalizer(encoding.scratch.normalizer),
      window(encoding.scratch.window),
      origin(1 + tokenizer.table.hasFlag(TokenizerTable::PrependSpace)),
      places(text, encoding.normalize) {
  window.reserve(WindowBytes + LongestPiece); // marks may go beyond
  window.assign(size_t(origin), ' ');
  if (encoding.normalize)
    normalizer.reset(text);
}

Status Tokenizer::Windows::encode() {
  for (;;) {
    HONE_TRY(fill());
    HONE_TRY(encodeDecided());
    if (encoding.isStopped || isWhole())
      return Status::ok();
    encoding.isStopped = !encoding.sink.passed(encoding.begin + position);
    if (encoding.isStopped)
      return Status::ok();
    slide();
  }
}

Status Tokenizer::Windows::fill() {
  if (window.size() >= WindowBytes)
    return tooLong(cursor.head); // white space that a token may take
  if (encoding.normalize) {
    if (!normalizer.append(window, WindowBytes, LongestPiece / 4))
      return tooLong(window.size());
    position = normalizer.position();
    return Status::ok();
  }
  const std::string_view more =
      charactersAt(text, position, WindowBytes - window.size());
  window += more;
  position += more.size();
  return Status::ok();
}

Status Tokenizer::Windows::encodeDecided() {
  const auto mayBe = [&](size_t begin, size_t end) {
    return mayBeSpecial(begin, end);
  };
  size_t limit = isWhole() || !added.hasNormalized() ? window.size()
                                                     : added.decidedEnd(window);
  for (bool found = true; found && !encoding.isStopped;) {
    AddedTokens::Match match;
    const AddedTokens::Cursor before = cursor;
    found =
        added.hasNormalized() &&
        added.next(window, limit, /*normalized=*/true, cursor, mayBe, match);
    if (found && !isWhole() && match.end == window.size()) {
      cursor = before; // it may take more than there is
      limit = match.begin;
      found = false;
    }
    const size_t end = found ? match.begin : limit;
    if (cursor.head < end)
      HONE_TRY(encodeUntil(end, found || isWhole()));
    if (found && !encoding.isStopped)
      append(match);
  }
  return Status::ok();
}

Status Tokenizer::Windows::encodeUntil(size_t end, bool isAll) {
  const size_t head = cursor.head;
  const bool prefix = isFresh && tokenizer.wantsPrefix(
                                     std::string_view(window).substr(head),
                                     encoding.begin + normalizedAt(head) == 0);
  if (prefix)
    window[head - 1] = ' ';
  encoding.taken = normalizedAt(head);
  encoding.inserted =
      prefix + size_t(std::max<ptrdiff_t>(origin - ptrdiff_t(head), 0));
  const size_t from = head - prefix;
  size_t taken = 0;
  const Outcome outcome =
      tokenizer.encodeWindow(std::string_view(window).substr(from, end - from),
                             isAll, encoding, taken);
  if (outcome == Outcome::TooLong)
    return tooLong(from + taken);
  encoding.isStopped = outcome == Outcome::Stopped;
  isFresh &= taken == 0;
  if (taken != 0)
    cursor.head = from + taken;
  return Status::ok();
}

void Tokenizer::Windows::append(const AddedTokens::Match &match) {
  cursor.head = match.end;
  isFresh = true;
  encoding.isStopped =
      !encoding.appendOne(int32_t(match.token.id), normalizedAt(match.end));
}

void Tokenizer::Windows::slide() {
  if (!added.hasNormalized())
    cursor.resume = cursor.head;
  const size_t done = std::min(cursor.head, cursor.resume) - 1;
  window.erase(0, done);
  cursor.head -= done;
  cursor.resume -= done;
  origin -= ptrdiff_t(done);
}

Status Tokenizer::encodeSegment(Encoding &encoding) const {
  encoding.taken = encoding.inserted = 0;
  const bool isChanged = encoding.normalize ||
                         table.hasFlag(TokenizerTable::PrependSpace) ||
                         wantsPrefix(encoding.text, encoding.begin == 0);
  if (isChanged || table.added().hasNormalized())
    return Windows(*this, encoding).encode();
  return encodeInPlace(encoding);
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
