//===- TokenEnds.h - Where tokens end in the text -------------------------===//
//
// The way back from the text that is cut into pieces to the one that was given,
// over NFC. It goes through the text once, beside
// the encoding, and holds no more of it than one run of combining characters.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "text/Normalizer.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace hone::rt {

class TokenEnds {
public:
  /// Of `text`, checked UTF-8 that outlives this. `normalize`: whether it
  /// becomes NFC.
  TokenEnds(std::string_view text, bool normalize)
      : text(text), normalize(normalize) {
    normalizer.reset(text);
  }

  /// The end in the text of the last character among the first `bytes`, at
  /// least 1, of the normalized text; `bytes` never falls. A part of a
  /// character counts as the whole. Of a run that NFC changes the last
  /// character stands for all of the run, each other one for the run's first.
  size_t endOf(size_t bytes);

private:
  size_t endOfCharacter(size_t at) const;
  void nextRun();

  std::string_view text;
  bool normalize;

  // The run at hand.
  NfcNormalizer normalizer;
  std::string run;                ///< its NFC
  size_t begin = 0, runBegin = 0; ///< in the text, and in the normalized one
};

} // namespace hone::rt
