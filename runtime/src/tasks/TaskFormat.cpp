//===- TaskFormat.cpp - Tasks as a format of data -------------------------===//

#include "tasks/TaskFormat.h"

#include "tasks/TaskEncoder.h"
#include "tasks/TaskReader.h"

namespace hone::rt {

namespace {

class EncodedTask final : public CandidateReader {
public:
  EncodedTask(const Task &task, const CandidateInput &input)
      : path(input.path), reader(task, input.content, input.path),
        encoder(task, input.tokenizer, input.scratch, input.vocabularySize,
                input.most) {}

  Status next(CandidateExample &example, bool &more) override {
    HONE_TRY(reader.next(read, more));
    if (!more)
      return Status::ok();
    example.label = read.label;
    example.place = path + ":" + std::to_string(read.number);
    return encoder.encode(read, example);
  }
  bool goesOn() const override { return reader.goesOn(); }
  uint64_t position() const override { return reader.position(); }

private:
  std::string path;
  TaskReader reader;
  TaskEncoder encoder;
  TaskExample read;
};

class TaskFormat final : public CandidateFormat {
public:
  explicit TaskFormat(const Task &task) : task(task) {}

  std::string name() const override { return task.name; }
  size_t labelCount() const override { return task.labels.size(); }
  std::string word(size_t label) const override { return task.word(label); }
  std::unique_ptr<CandidateReader>
  read(const CandidateInput &input) const override {
    return std::make_unique<EncodedTask>(task, input);
  }

private:
  const Task &task;
};

} // namespace

std::unique_ptr<CandidateFormat> findTask(const std::string &name) {
  const Task *task = Task::find(name);
  return task ? std::make_unique<TaskFormat>(*task) : nullptr;
}

} // namespace hone::rt
