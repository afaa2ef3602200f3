//===- TaskEncoder.h - From an example of a task to its candidates --------===//
//
// Prompt and candidate are tokenised as one text. The loss is of the tokens
// after the prompt's own number of them, as in MeZO's encode_prompt; nothing
// follows them, so that only the label's words are compared.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "data/CandidateFormat.h"
#include "data/SampleIds.h"
#include "tasks/TaskReader.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace hone::rt {

class TaskEncoder {
public:
  /// Candidates of more than `most` tokens lose their beginning, after the
  /// tokens that the tokenizer puts first.
  TaskEncoder(const Task &task, const Tokenizer &tokenizer,
              TokenizerScratch &scratch, int64_t vocabularySize, uint64_t most)
      : task(task), tokenizer(tokenizer), scratch(scratch),
        vocabularySize(vocabularySize), most(most),
        whole(most,
              std::min<uint64_t>(tokenizer.contents().beforeCount(), most)) {}

  /// Fills the candidates of `out`, which has a place. Errors: BadExample,
  /// TokenizerMisfit, those of Tokenizer::encode.
  Status encode(const TaskExample &example, CandidateExample &out);

private:
  Status encodeOne(const std::string &text, size_t label,
                   CandidateExample &out);

  const Task &task;
  const Tokenizer &tokenizer;
  TokenizerScratch &scratch;
  int64_t vocabularySize;
  uint64_t most;
  SampleIds prompt{0}, whole; ///< of `prompt` the number alone
};

} // namespace hone::rt
