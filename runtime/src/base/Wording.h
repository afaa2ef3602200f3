//===- Wording.h - A person's words for those of messages -----------------===//
//
// A program that another one starts has options that nobody typed. The starting
// program says which of its own options they stand for.
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

  /// Reads the result of text(); lines of another form are passed over.
  static Wording parse(std::string_view text);
  /// The one of $HONE_WORDING, which the program that started this one may have
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
