//===- Predictions.cpp - The losses of an example's candidates ------------===//

#include "program/Predictions.h"

#include "base/Json.h"
#include "module/Setting.h"

#include <cmath>

namespace hone::rt {

Result<Predictions> Predictions::open(const std::string &path,
                                      const CandidateFormat *task) {
  Predictions out;
  if (path.empty())
    return out;
  HONE_ASSIGN(out.file, OutputFile::create(path));
  out.task = task;
  return out;
}

void Predictions::add(const ScoredExample &example) {
  if (!task || !written.isOk())
    return;
  std::string line =
      "{\"example\": " + std::to_string(++examples) + ", \"label\": ";
  line += jsonString(task->word(example.label)) + ", \"prediction\": ";
  if (const std::optional<size_t> prediction = example.prediction())
    line += jsonString(task->word(*prediction));
  else
    line += "null";
  line += ", \"losses\": {";
  for (size_t i = 0; i < example.candidates; ++i) {
    line += i > 0 ? ", " : "";
    line += jsonString(task->word(i));
    const double loss = example.losses[i];
    line += ": " + (std::isfinite(loss) ? formatExact(loss) : "null");
  }
  written = file.write(line + "}}\n");
}

Status Predictions::commit() {
  return task && written.isOk() ? file.commit() : written;
}

} // namespace hone::rt
