//===- DataSurvey.h - A data file as a model's tokens ---------------------===//
//
// Reads a file exactly as train will, before anything is compiled: its samples
// decide the length.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "data/Dataset.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// Lengths of samples, in tokens.
class SampleLengths {
public:
  SampleLengths() = default;
  explicit SampleLengths(std::vector<uint32_t> lengths);

  uint64_t count() const { return sorted.size(); }
  /// The least length that `part` (0 to 1) of the samples do not exceed.
  int64_t percentile(double part) const;
  int64_t longest() const { return percentile(1); }
  /// How many are longer.
  uint64_t longerThan(int64_t length) const;
  /// How many samples they become where longer ones are split.
  uint64_t splitAt(int64_t length) const;
  uint64_t tokens() const { return sum; }

private:
  std::vector<uint32_t> sorted;
  uint64_t sum = 0;
};

/// The lines of a text, such as a data set's notes, without their ends.
std::vector<llvm::StringRef> linesOf(llvm::StringRef text);

/// How a file is read, as train's options say it.
struct DataReading {
  std::string map;           ///< --map
  bool skipUnusable = false; ///< --skip-unusable

  std::vector<std::string> options() const;
  /// The reading that `options`, of train, ask for.
  static DataReading among(llvm::ArrayRef<std::string> options);
};

struct SurveyOptions {
  std::string path;
  bool parseSpecialTokens = false;
  std::string chatDate;
  /// Longer samples are counted apart; 0: as long as a sample may be.
  int64_t longest = 0;
  DataReading reading;
  std::string chatTemplate = "model"; ///< as chat_template of a spec
  /// Errors of samples that are printed before the first ends the reading.
  unsigned shownErrors = 1;
};

class DataSurvey {
public:
  /// Reads `options.path` for the model in `folder`. Errors: those of the
  /// tokenizer's builder and of Dataset::prepare; of several samples that
  /// cannot be used all but the last that are shown are printed.
  static Result<DataSurvey> make(const std::string &folder,
                                 const SurveyOptions &options);

  const rt::Dataset &data() const { return samples; }
  const rt::Tokenizer *tokenizer() const {
    return text->tokenizer ? &*text->tokenizer : nullptr;
  }
  const SampleLengths &lengths() const { return sampleLengths; }
  /// Whether it is one text, which fills samples of any length.
  bool isPacked() const {
    return samples.format() == rt::DataFormat::PlainText;
  }
  /// Whether a sample that is cut in two is still two samples of use.
  bool canSplit() const {
    return isPacked() || samples.format() == rt::DataFormat::Text;
  }

private:
  /// The text that the tokenizer is a view of; it does not move.
  struct Text {
    std::string table, chat;
    std::optional<rt::Tokenizer> tokenizer;
  };
  std::unique_ptr<Text> text;
  rt::Dataset samples;
  SampleLengths sampleLengths;
};

} // namespace hone
