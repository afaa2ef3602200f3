//===- TaskEncoder.cpp - From an example of a task to its candidates ------===//

#include "tasks/TaskEncoder.h"

#include "data/DataLines.h"

#include <algorithm>

namespace hone::rt {

Status TaskEncoder::encodeOne(const std::string &text, size_t label,
                              CandidateExample &out) {
  const std::string &place = out.place;
  const TokenizerTable &table = tokenizer.contents();
  whole.clear();
  for (uint32_t i = 0; i < table.beforeCount(); ++i)
    whole.add(int32_t(table.before(i)));
  const uint64_t begin = whole.count, masked = begin + prompt.count;
  HONE_TRY(tokenizer.encode(text + task.labels[label].candidate, place, whole,
                            scratch));
  HONE_TRY(checkLargest(whole, vocabularySize, place));
  if (masked >= whole.count || begin + 2 > most)
    return Status(
        ErrorCode::BadExample, place,
        "expected the label's word '" + task.word(label) +
            "' to have a token of its own after the prompt, but it has none",
        "the tokenizer joins them, or max_seq_length is too small: train on "
        "prompts and completions of your own");
  whole.finish();
  out.longest = std::max(out.longest, whole.count);
  const uint64_t cut = whole.count - whole.kept.size();
  const uint64_t target = masked < begin + cut ? begin : masked - cut;
  Candidate &own = out.candidates[label];
  own.ids = whole.kept;
  own.labels.assign(target, NoTarget);
  own.labels.insert(own.labels.end(), own.ids.begin() + ptrdiff_t(target),
                    own.ids.end());
  return Status::ok();
}

Status TaskEncoder::encode(const TaskExample &example, CandidateExample &out) {
  out.longest = 0;
  out.candidates.resize(task.labels.size());
  const std::string text = task.promptOf(example.texts);
  prompt.clear();
  HONE_TRY(tokenizer.encode(text, out.place, prompt, scratch));
  for (size_t label = 0; label < out.candidates.size(); ++label)
    HONE_TRY(encodeOne(text, label, out));
  return Status::ok();
}

} // namespace hone::rt
