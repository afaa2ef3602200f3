//===- TaskFuzzer.cpp - Any bytes as examples of a task -------------------===//
//
// libFuzzer target. The first line names the task, the second the file. Beyond
// not crashing: every example has all its texts and a label of the task.
//
//===----------------------------------------------------------------------===//

#include "tasks/TaskReader.h"

#include "Parts.h"

using namespace hone::rt;

static std::string_view takeLine(std::string_view &text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  const Task *task = Task::find(takeLine(text));
  const std::string path(takeLine(text));
  if (!task)
    return 0;
  TaskReader reader(*task, text, path);
  TaskExample example;
  Status status = Status::ok();
  for (bool more = true; more;) {
    status = reader.next(example, more);
    if (!status.isOk())
      break;
    if (!more)
      continue;
    if (example.texts.size() != task->fields.size() ||
        example.label >= task->labels.size() || example.number == 0 ||
        task->promptOf(example.texts).empty())
      std::abort();
  }
  if (!status.isOk()) {
    if (status.message().problem.empty() || status.message().remedy.empty())
      std::abort();
  }
  return 0;
}
