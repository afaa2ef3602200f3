//===- Normalizer.h - Unicode normalisation form C ------------------------===//
//
// Unicode 9, because the Hugging Face `tokenizers` library has that version:
// newer combining marks are left where they are. Almost all real text is
// already in this form, and isNfc finds that out without copying it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// The quick check of UAX #15 on a text that comes in parts, which are checked
/// UTF-8 and cut between characters.
class NfcCheck {
public:
  /// True when the text up to the end of `part` is its own NFC, provided that
  /// the parts before are; false means that it may not be.
  bool add(std::string_view part);

private:
  uint8_t previous = 0; // the combining class of the last character
};

inline bool isNfc(std::string_view text) { return NfcCheck().add(text); }

/// Normalises a long text piece by piece, with memory for one piece.
class NfcNormalizer {
public:
  /// Starts at the beginning of `checkedText`, which must outlive the use.
  void reset(std::string_view checkedText);

  /// Appends the NFC of the rest of the text to `out` until `out` has at
  /// least `wantedSize` bytes or the text ends. Returns false when a single
  /// run of combining characters is longer than `longestRun` code points.
  bool append(std::string &out, size_t wantedSize, size_t longestRun);

  bool atEnd() const { return offset == text.size(); }
  /// Bytes of the text that were read.
  size_t position() const { return offset; }

private:
  struct Mark {
    uint32_t point;
    uint32_t order; // in the text: equal classes keep their order
    uint8_t combiningClass;
  };
  void decompose(uint32_t point);
  void push(uint32_t point);
  void reorder();
  void composeTo(std::string &out);

  std::string_view text;
  size_t offset = 0;
  std::vector<Mark> run;
};

} // namespace hone::rt
