//===- Tokenizer.cpp - Text to token ids ----------------------------------===//
//
// Text that needs no change is cut where it lies. Text that is normalised or
// gets a space in front passes through a window that holds whole pieces: a
// piece is only taken when the text behind it cannot change it.
//
//===----------------------------------------------------------------------===//

#include "text/Tokenizer.h"

#include "text/Utf8.h"

#include <algorithm>

namespace hone::rt {

static constexpr size_t WindowBytes = size_t(256) << 10;
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

bool Tokenizer::encodePiece(std::string_view piece, TokenSink &sink,
                            TokenizerScratch &scratch) const {
  if (table.hasFlag(TokenizerTable::IgnoreMerges)) {
    const int64_t whole = table.find(piece);
    const int32_t id = int32_t(whole);
    if (whole >= 0)
      return sink.append(&id, 1);
  }
  PieceMerger &merger = scratch.merger;
  merger.clear();
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
  merger.merge(table.merges(), scratch.ids);
  return sink.append(scratch.ids.data(), scratch.ids.size());
}

static Status pieceTooLong(const std::string &place, size_t offset) {
  return Status::error(
      ExitCode::BadData,
      {place,
       "expected a word boundary in every " +
           std::to_string(Tokenizer::LongestPiece) +
           " bytes but found none from byte " + std::to_string(offset),
       "split the text into shorter samples or lines with white space"});
}

Status Tokenizer::encode(std::string_view text, const std::string &place,
                         TokenSink &sink, TokenizerScratch &scratch) const {
  const size_t invalid = findInvalidUtf8(text);
  if (invalid != std::string_view::npos)
    return Status::error(
        ExitCode::BadData,
        {place,
         "expected UTF-8 text but byte " + std::to_string(invalid) +
             " begins no valid character",
         "convert the file to UTF-8, for example with iconv -t UTF-8"});
  if (text.empty())
    return Status::ok();
  const bool normalize = table.hasFlag(TokenizerTable::Nfc) && !isNfc(text);
  const bool prefix =
      table.hasFlag(TokenizerTable::PrependSpace) ||
      (table.hasFlag(TokenizerTable::PrefixSpace) && text.front() != ' ');
  if (normalize || prefix) {
    scratch.window.assign(prefix ? 1 : 0, ' ');
    return encodeWindows(text, place, sink, scratch, normalize);
  }
  PieceScanner scanner(table.preTokenizer(), text, /*isWhole=*/true);
  for (std::string_view piece = scanner.next(); !piece.empty();
       piece = scanner.next()) {
    if (piece.size() > LongestPiece)
      return pieceTooLong(place, size_t(piece.data() - text.data()));
    if (!encodePiece(piece, sink, scratch))
      return Status::ok();
  }
  return Status::ok();
}

Status Tokenizer::encodeWindows(std::string_view text, const std::string &place,
                                TokenSink &sink, TokenizerScratch &scratch,
                                bool normalize) const {
  std::string &window = scratch.window;
  if (normalize)
    scratch.normalizer.reset(text);
  size_t position = 0;
  for (size_t wanted = WindowBytes;;) {
    if (normalize) {
      if (!scratch.normalizer.append(window, wanted, LongestPiece / 4))
        return pieceTooLong(place, position);
      position = scratch.normalizer.position();
    } else if (window.size() < wanted) {
      size_t end =
          position + std::min(wanted - window.size(), text.size() - position);
      while (end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80)
        ++end;
      window.append(text.substr(position, end - position));
      position = end;
    }
    const bool isWhole = position == text.size();
    PieceScanner scanner(table.preTokenizer(), window, isWhole);
    for (std::string_view piece = scanner.next(); !piece.empty();
         piece = scanner.next()) {
      if (piece.size() > LongestPiece)
        return pieceTooLong(place,
                            position - (window.size() - scanner.position()));
      if (!encodePiece(piece, sink, scratch))
        return Status::ok();
    }
    if (isWhole)
      return Status::ok();
    window.erase(0, scanner.position());
    // A piece that fills the window needs a larger one.
    if (window.size() > LongestPiece)
      return pieceTooLong(place, position - std::min(position, window.size()));
    wanted = std::max(WindowBytes, 2 * window.size());
  }
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

std::string Tokenizer::decode(const int32_t *ids, size_t count) const {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || uint32_t(ids[i]) >= table.tokenCount())
      continue;
    std::string_view token = table.token(uint32_t(ids[i]));
    const int byte =
        table.hasFlag(TokenizerTable::ByteFallback) ? fallbackByte(token) : -1;
    if (byte >= 0) {
      out.push_back(char(byte));
      continue;
    }
    if (!table.hasFlag(TokenizerTable::Metaspace)) {
      out += token;
      continue;
    }
    while (!token.empty()) {
      const bool space =
          token.substr(0, MetaspaceCharacter.size()) == MetaspaceCharacter;
      out.push_back(space ? ' ' : token.front());
      token.remove_prefix(space ? MetaspaceCharacter.size() : 1);
    }
  }
  if (table.hasFlag(TokenizerTable::PrependSpace) && !out.empty() &&
      out.front() == ' ')
    out.erase(0, 1);
  return out;
}

} // namespace hone::rt
