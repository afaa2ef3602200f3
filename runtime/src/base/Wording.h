//===- Wording.h - What a person calls what messages name -----------------===//
//
// A program that another one starts has options that nobody typed. The one that
// was typed says how its own are called.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

class Wording {
public:
  struct Word {
    std::string ours, theirs;
  };

  Wording() = default;
  explicit Wording(std::vector<Word> words);

  /// Reads what text() wrote; lines of another form are passed over.
  static Wording parse(std::string_view text);
  /// That of $HONE_WORDING, which the program that started this one may have
  /// set.
  static Wording given();
  static constexpr const char *Variable = "HONE_WORDING";

  /// "ours=theirs", a line each; the last "=" divides.
  std::string text() const;

  /// `message` with their words. The longest of ours is taken that begins and
  /// ends where words do; white space in it stands for any.
  std::string apply(std::string_view message) const;

private:
  std::vector<Word> words; ///< the longest of ours first
};

} // namespace hone::rt
