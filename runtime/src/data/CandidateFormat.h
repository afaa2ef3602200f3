//===- CandidateFormat.h - Data whose examples have several candidates ----===//
//
// The interface of tasks to a data set; the program may be linked without them.
// Prompt and candidate are one sequence; which candidate is right is the
// example's label.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "text/Tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct Candidate {
  std::vector<int32_t> ids, labels; ///< labels are not shifted
};

struct CandidateExample {
  std::vector<Candidate> candidates; ///< by label
  size_t label = 0;                  ///< the right one
  std::string place;                 ///< "cb.jsonl:3"
  uint64_t longest = 0; ///< tokens of the longest, before it was cut
};

/// The input of a reader.
struct CandidateInput {
  std::string_view content; ///< of the file, without empty lines at the end
  std::string path;
  const Tokenizer &tokenizer;
  TokenizerScratch &scratch;
  int64_t vocabularySize;
  uint64_t most; ///< longer candidates lose their beginning
};

class CandidateReader {
public:
  virtual ~CandidateReader() = default;
  /// Reads the next example; `more` becomes false at the end. Errors:
  /// BadExample, BadLine, LineTooLong, EmptyData, with file and line, and those
  /// of Tokenizer::encode.
  virtual Status next(CandidateExample &example, bool &more) = 0;
  /// Whether it may be called after an error, for the example after that.
  virtual bool goesOn() const = 0;
  /// Bytes of the file that were read.
  virtual uint64_t position() const = 0;
};

class CandidateFormat {
public:
  virtual ~CandidateFormat() = default;
  virtual std::string name() const = 0;
  virtual size_t labelCount() const = 0;
  virtual std::string word(size_t label) const = 0;
  /// Memory that `input` refers to outlives the reader.
  virtual std::unique_ptr<CandidateReader>
  read(const CandidateInput &input) const = 0;
};

} // namespace hone::rt
