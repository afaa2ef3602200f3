//===- Rows.cpp - A caller's rows as samples ------------------------------===//

#include "api/Rows.h"

namespace hone::rt {

/// A row of another program's, counted from 0 as there.
static Status wrong(ErrorCode code, uint64_t row, const std::string &problem,
                    const std::string &remedy) {
  return Status(code, "row " + std::to_string(row), problem, remedy);
}

Result<Rows> Rows::read(const hone_rows &given, const Module &module) {
  const ModuleConfig &config = module.config();
  const auto vocabulary = int64_t(config.vocabSize);
  const auto longest = uint64_t(config.train.max_seq_length);
  if (given.count == 0 || !given.ids || !given.targets ||
      !given.sequence_starts)
    return Status(ErrorCode::EmptyData, "hone_rows", "there are no rows",
                  "give at least one sequence");
  Rows out;
  out.rows = given;
  bool endsInTarget = false;
  for (uint64_t i = 0; i < given.count; ++i) {
    const int32_t start = given.sequence_starts[i];
    const bool begins = start == int64_t(i);
    if (!begins && (i == 0 || start != given.sequence_starts[i - 1]))
      return wrong(ErrorCode::BadLine, i,
                   "expects sequence_starts to be its own row or that of the "
                   "row before, but got " +
                       std::to_string(start),
                   "sequences are one after another, without rows between");
    if (begins) {
      if (endsInTarget)
        break;
      out.starts.push_back(i);
    }
    if (i - out.starts.back() >= longest)
      return wrong(ErrorCode::SampleTooLong, i,
                   "the sequence is longer than max_seq_length, which is " +
                       std::to_string(longest),
                   "cut it, or compile with a larger train.max_seq_length");
    for (const int32_t id : {given.ids[i], given.targets[i]})
      if (id >= vocabulary || (id < 0 && (id != -100 || id == given.ids[i])))
        return wrong(ErrorCode::TokenOutOfRange, i,
                     "expects ids below " + std::to_string(vocabulary) +
                         " but got " + std::to_string(id),
                     "use the model's tokenizer; a target of -100 has no loss");
    endsInTarget = given.targets[i] >= 0;
    out.targets += endsInTarget;
  }
  if (endsInTarget)
    return wrong(ErrorCode::BadLine,
                 out.starts.back(), // where the sequence begins is known
                 "expects the last target of its sequence to be -100",
                 "targets are the next row's ids, which the last has not");
  if (out.targets == 0)
    return Status(ErrorCode::NoSample, "hone_rows", "no row has a target",
                  "give targets: the id of the next row");
  out.starts.push_back(given.count);
  return out;
}

Sample Rows::sample(uint64_t index) const {
  const uint64_t first = starts[index];
  return {rows.ids + first, rows.targets + first,
          int64_t(starts[index + 1] - first)};
}

} // namespace hone::rt
