//===- TaskEncoder.h - From an example of a task to its candidates --------===//
//
// Prompt and candidate are tokenised as one text. The loss is of the tokens
// behind the prompt's own number of them, as in MeZO's encode_prompt; nothing
// follows them, so that what is compared are the label's words alone.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_TASKS_TASKENCODER_H
#define HONE_RUNTIME_TASKS_TASKENCODER_H

#include "base/Status.h"
#include "data/SampleIds.h"
#include "tasks/TaskReader.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

class TaskEncoder {
public:
  struct Candidate {
    std::vector<int32_t> ids, labels; ///< labels are not shifted
  };

  /// Candidates of more than `most` tokens lose their beginning, behind what
  /// the tokenizer puts first.
  TaskEncoder(const Task &task, const Tokenizer &tokenizer,
              TokenizerScratch &scratch, int64_t vocabularySize, uint64_t most)
      : task(task), tokenizer(tokenizer), scratch(scratch),
        vocabularySize(vocabularySize), most(most),
        candidates(task.labels.size()),
        whole(most,
              std::min<uint64_t>(tokenizer.contents().beforeCount(), most)) {}

  /// `place` is where the example is from. Errors: BadExample,
  /// TokenizerMisfit, those of Tokenizer::encode.
  Status encode(const TaskExample &example, const std::string &place);

  const Candidate &candidate(size_t label) const { return candidates[label]; }
  /// Tokens of the longest candidate, before it was cut.
  uint64_t longest() const { return longestOf; }

private:
  Status encodeOne(const std::string &text, size_t label,
                   const std::string &place);

  const Task &task;
  const Tokenizer &tokenizer;
  TokenizerScratch &scratch;
  int64_t vocabularySize;
  uint64_t most, longestOf = 0;
  std::vector<Candidate> candidates;
  SampleIds prompt{0}, whole; ///< of `prompt` the number alone
};

} // namespace hone::rt

#endif
