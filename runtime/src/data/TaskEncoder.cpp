//===- TaskEncoder.cpp - From an example of a task to its candidates ------===//

#include "data/TaskEncoder.h"

#include "data/DataLines.h"

#include <algorithm>

namespace hone::rt {

Status TaskEncoder::encodeOne(const std::string &text, size_t label,
                              const std::string &place) {
  const TokenizerTable &table = tokenizer.contents();
  whole.clear();
  for (uint32_t i = 0; i < table.beforeCount(); ++i)
    whole.add(int32_t(table.before(i)));
  const uint64_t begin = whole.count, masked = begin + prompt.count;
  if (Status s = tokenizer.encode(text + task.labels[label].candidate, place,
                                  whole, scratch);
      !s.isOk())
    return s;
  if (Status s = checkLargest(whole, vocabularySize, place); !s.isOk())
    return s;
  if (masked >= whole.count || begin + 2 > most)
    return Status::error(
        ErrorCode::BadExample,
        {place,
         "expected the label's word '" + task.word(label) +
             "' to have a token of its own behind the prompt, but it has none",
         "the tokenizer joins them, or max_seq_length is too small: train on "
         "prompts and completions of your own"});
  longestOf = std::max(longestOf, whole.count);
  Candidate &own = candidates[label];
  own.ids.assign(whole.kept.begin(), whole.kept.end());
  own.labels.assign(own.ids.size(), NoTarget);
  std::copy(own.ids.begin() + ptrdiff_t(masked), own.ids.end(),
            own.labels.begin() + ptrdiff_t(masked));
  if (own.ids.size() <= most)
    return Status::ok();
  const auto cut = ptrdiff_t(own.ids.size() - most);
  for (std::vector<int32_t> *each : {&own.ids, &own.labels})
    each->erase(each->begin() + ptrdiff_t(begin),
                each->begin() + ptrdiff_t(begin) + cut);
  return Status::ok();
}

Status TaskEncoder::encode(const TaskExample &example,
                           const std::string &place) {
  longestOf = 0;
  const std::string text = task.promptOf(example.texts);
  prompt.clear();
  if (Status s = tokenizer.encode(text, place, prompt, scratch); !s.isOk())
    return s;
  for (size_t label = 0; label < candidates.size(); ++label)
    if (Status s = encodeOne(text, label, place); !s.isOk())
      return s;
  return Status::ok();
}

} // namespace hone::rt
