//===- TaskTest.cpp - Examples of tasks, their prompts and their faults ---===//
//
// Prompts are written out here as MeZO's templates give them, by hand.
//
//===----------------------------------------------------------------------===//

#include "TokenizerFixture.h"

#include "data/Dataset.h"
#include "tasks/TaskFormat.h"
#include "tasks/TaskReader.h"

#include <gtest/gtest.h>

using namespace hone::rt;
using namespace hone::test;

/// The prompts with their right candidates, or the error.
static std::vector<std::string> read(const char *name,
                                     const std::string &content,
                                     const std::string &path, Status &status) {
  const Task &task = *Task::find(name);
  TaskReader reader(task, content, path);
  std::vector<std::string> out;
  TaskExample example;
  for (bool more = true;;) {
    status = reader.next(example, more);
    if (!status.isOk() || !more)
      return out;
    out.push_back(task.promptOf(example.texts) +
                  task.labels[example.label].candidate);
  }
}

static void expectPrompts(const char *name, const std::string &content,
                          const std::vector<std::string> &expected,
                          const std::string &path = "d.jsonl") {
  Status status = Status::ok();
  EXPECT_EQ(read(name, content, path, status), expected);
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(Task, PromptsAreMeZOs) {
  expectPrompts("sst2", R"({"sentence": " a bonus  ", "label": 1, "idx": 0}
{"sentence": "dull", "label": 0})",
                {"a bonus It was great", "dull It was terrible"});
  expectPrompts(
      "rte",
      R"({"premise": "It rains.", "hypothesis": "It is wet.", "label": "entailment"}
{"premise": "It rains.", "hypothesis": "It is dry.", "label": "not_entailment"})",
      {"It rains.\nDoes this mean that \"It is wet.\" is true? Yes or No?\nYes",
       "It rains.\nDoes this mean that \"It is dry.\" is true? Yes or "
       "No?\nNo"});
  expectPrompts(
      "cb",
      R"([{"premise": "A?", "hypothesis": "b", "label": "entailment"},
 {"premise": "A?", "hypothesis": "b", "label": "contradiction"},
 {"premise": "A?", "hypothesis": "b", "label": "neutral"}])",
      {"Suppose A? Can we infer that \"b\"? Yes, No, or Maybe?\nYes",
       "Suppose A? Can we infer that \"b\"? Yes, No, or Maybe?\nNo",
       "Suppose A? Can we infer that \"b\"? Yes, No, or Maybe?\nMaybe"});
  expectPrompts(
      "boolq",
      R"({"passage": "Ice floats.", "question": "does ice float", "label": true}
{"passage": "Ice floats.", "question": "Is it? Really?", "answer": false})",
      {"Ice floats. Does ice float?\nYes", "Ice floats. Is it? Really?\nNo"});
  expectPrompts(
      "wic",
      R"({"word": "bank", "sentence1": "The bank.", "sentence2": "A bank.", "label": false, "start1": 4}
{"word": "bank", "sentence1": "The bank.", "sentence2": "A bank.", "label": 1})",
      {"Does the word \"bank\" have the same meaning in these two sentences? "
       "Yes, No?\nThe bank.\nA bank.\nNo",
       "Does the word \"bank\" have the same meaning in these two sentences? "
       "Yes, No?\nThe bank.\nA bank.\nYes"});
  const std::string wsc = "Ann met Bea. She waved.\nIn the previous sentence, "
                          "does the pronoun \"she\" refer to Ann? Yes or No?\n";
  expectPrompts(
      "wsc",
      R"({"text": "Ann met Bea. She waved.", "target": {"span1_text": "Ann", "span1_index": 0, "span2_text": "She", "span2_index": 3}, "label": true}
{"text": "Ann met Bea. She waved.", "span1_text": "Ann", "span2_text": "She", "label": 0})",
      {wsc + "Yes", wsc + "No"});
}

TEST(Task, TablesHaveTheNamesOfGlue) {
  expectPrompts("sst2", "sentence\tlabel\na bonus \t1\r\n\"dull\"\t0",
                {"a bonus It was great", "\"dull\" It was terrible"}, "d.tsv");
  expectPrompts(
      "rte", "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tnot_entailment",
      {"A.\nDoes this mean that \"B.\" is true? Yes or No?\nNo"}, "train");
}

// The spelling of a text is not taken for a place of the prompt.
TEST(Task, TextsAreTextAlone) {
  expectPrompts("cb",
                R"({"premise": "{1}{0}", "hypothesis": "{0}", "label": 0})",
                {"Suppose {1}{0} Can we infer that \"{0}\"? Yes, No, or "
                 "Maybe?\nYes"});
}

TEST(Task, RefusesWhatIsNoExampleByItsPlace) {
  const struct {
    const char *task, *path, *content, *place, *expected;
    ErrorCode code = ErrorCode::BadExample;
  } cases[] = {
      {"sst2", "d.jsonl", R"({"text": "a", "label": 1})", "d.jsonl:1",
       "an example of sst2 with \"sentence\""},
      {"rte", "d.jsonl", R"({"premise": "a", "label": 1})", "d.jsonl:1",
       "with \"hypothesis\" or \"sentence2\""},
      {"sst2", "d.jsonl", R"({"sentence": "a"})", "d.jsonl:1",
       "with \"label\" but found none"},
      {"sst2", "d.jsonl",
       "{\"sentence\": \"a\", \"label\": 1}\n{\"sentence\": "
       "\"a\", \"label\": -1}",
       "d.jsonl:2", "found -1, which test sets have"},
      {"cb", "d.jsonl",
       R"({"premise": "a", "hypothesis": "b", "label": "maybe"})", "d.jsonl:1",
       "a label of cb (0, entailment, 1, contradiction, 2, neutral) "
       "but found 'maybe'"},
      {"cb", "d.jsonl", R"({"premise": "a", "hypothesis": "b", "label": 3})",
       "d.jsonl:1", "found '3'"},
      {"sst2", "d.jsonl", R"({"sentence": "a", "label": 0.5})", "d.jsonl:1:28",
       "expected a label but found a number"},
      {"sst2", "d.jsonl", R"({"sentence": "a", "label": null})", "d.jsonl:1:28",
       "expected a label but found null"},
      {"sst2", "d.jsonl", R"({"sentence": "a", "label": [1]})", "d.jsonl:1:28",
       "expected a label but found an array"},
      {"sst2", "d.jsonl", R"({"sentence": " ", "label": 1})", "d.jsonl:1",
       "text in \"sentence\" but it is empty"},
      {"rte", "d.jsonl",
       R"({"premise": "a", "sentence1": "b", "hypothesis": "c", "label": 1})",
       "d.jsonl:1:18", "is there twice"},
      {"sst2", "d.jsonl", R"({"sentence": 5, "label": 1})", "d.jsonl:1",
       "expected a string", ErrorCode::BadLine},
      {"sst2", "d.jsonl", R"({"sentence": "a", "label": 1)", "d.jsonl:1",
       "expected", ErrorCode::BadLine},
      {"sst2", "d.jsonl", "[]", "d.jsonl", "the array is empty",
       ErrorCode::EmptyData},
      {"sst2", "d.tsv", "a bonus\t1\n", "d.tsv:1", "names the columns of sst2"},
      {"sst2", "d.tsv", "index\tsentence\n0\ta\n", "d.tsv:1",
       "with \"label\", but found 'index\tsentence'"},
      {"sst2", "d.tsv", "sentence\tlabel\nok\t1\na\tb\t1\n", "d.tsv:3",
       "expected 2 columns as in the first line but found 3"},
      {"sst2", "d.tsv", "sentence\tlabel\nok\n", "d.tsv:2", "but found 1"},
      {"sst2", "d.tsv", "sentence\tlabel\tlabel\nok\t1\t0\n", "d.tsv:1",
       "\"label\" is there twice"},
      {"sst2", "d.tsv", "sentence\tlabel\n\xff\t1\n", "d.tsv:2", "UTF-8"},
      {"sst2", "d.tsv", "sentence\tlabel", "d.tsv", "only the names of columns",
       ErrorCode::EmptyData},
      {"sst2", "d.tsv", "sentence\tlabel\n\t1\n", "d.tsv:2", "it is empty"},
  };
  for (const auto &each : cases) {
    Status status = Status::ok();
    read(each.task, each.content, each.path, status);
    ASSERT_FALSE(status.isOk()) << each.content;
    EXPECT_EQ(status.errorCode(), each.code) << status.render();
    EXPECT_EQ(status.message().place.substr(0, strlen(each.place)), each.place);
    EXPECT_NE(status.message().problem.find(each.expected), std::string::npos)
        << status.render();
    EXPECT_FALSE(status.message().remedy.empty());
  }
}

TEST(Task, LongLinesTakeNoMemory) {
  Status status = Status::ok();
  read("sst2", "sentence\tlabel\n" + std::string(1 << 20, 'a') + "\t1\n",
       "d.tsv", status);
  EXPECT_EQ(status.errorCode(), ErrorCode::LineTooLong);
  EXPECT_EQ(status.message().place, "d.tsv:2");
}

namespace {
struct TaskDataset : testing::Test {
  TemporaryFolder folder;
  LoadedTokenizer loaded{goldenTokenizer("byte-fallback")};
  std::unique_ptr<CandidateFormat> task;
  DatasetOptions options{folder.file("d.jsonl"), 32, folder.path + "/cache",
                         500};

  Result<Dataset> prepare(const std::string &lines) {
    options.task = (task = findTask("cb")).get();
    folder.write("d.jsonl", lines);
    return Dataset::prepare(options, &loaded.tokenizer);
  }
  static std::string line(const std::string &premise, int label) {
    return "{\"premise\": \"" + premise +
           "\", \"hypothesis\": \"b\", \"label\": " + std::to_string(label) +
           "}\n";
  }
};
} // namespace

// The whole of a candidate and nothing else has a loss: no end of text.
TEST_F(TaskDataset, LossIsOfTheLabelsWords) {
  options.maxSequenceLength = 512;
  Result<Dataset> data = prepare(line("a", 1) + line("c", 2));
  ASSERT_TRUE(data.isOk()) << data.status().render();
  ASSERT_EQ(data.value().sampleCount(), 6u);
  const char *words[] = {"Yes", "No", "Maybe"};
  for (uint64_t i = 0; i < 6; ++i) {
    const Sample sample = data.value().sample(i);
    std::vector<int32_t> targets;
    for (int64_t k = 0; k < sample.length; ++k)
      if (sample.targets[k] != NoTarget)
        targets.push_back(sample.targets[k]);
    EXPECT_EQ(loaded.tokenizer.decode(targets.data(), targets.size()),
              words[i % 3]);
    EXPECT_EQ(sample.ids[sample.length - 1], targets.back());
    EXPECT_EQ(data.value().continues(i), i % 3 != 0);
    EXPECT_EQ(data.value().isWrong(i), i != 1 && i != 5);
  }
  EXPECT_NE(
      data.value().notes().find("2 with 3 candidates each, 0 Yes, 1 No, 1 "
                                "Maybe"),
      std::string_view::npos)
      << data.value().notes();
}

// An example with one candidate that is too long has none.
TEST_F(TaskDataset, LeavesOutWholeExamples) {
  options.maxSequenceLength = 512;
  Result<Dataset> whole = prepare(line("a", 0));
  ASSERT_TRUE(whole.isOk());
  uint64_t most = 0, least = 512;
  for (uint64_t i = 0; i < 3; ++i) {
    most = std::max<uint64_t>(most, uint64_t(whole.value().sample(i).length));
    least = std::min<uint64_t>(least, uint64_t(whole.value().sample(i).length));
  }
  ASSERT_LT(least, most);
  options.maxSequenceLength = int64_t(most - 1);
  Result<Dataset> none = prepare(line("a", 0));
  ASSERT_FALSE(none.isOk());
  EXPECT_EQ(none.status().errorCode(), ErrorCode::NoSample);
  options.tooLong = TooLong::Refuse;
  EXPECT_EQ(prepare(line("a", 0)).status().errorCode(),
            ErrorCode::SampleTooLong);
}

// As MeZO does: the beginning is least needed, and a bos stays.
TEST_F(TaskDataset, CutsTheBeginnings) {
  options.maxSequenceLength = 512;
  std::string premise;
  for (int i = 0; i < 60; ++i)
    premise += "blade ";
  Result<Dataset> whole = prepare(line(premise, 0));
  ASSERT_TRUE(whole.isOk()) << whole.status().render();
  options.maxSequenceLength = 40;
  options.tooLong = TooLong::Cut;
  Result<Dataset> cut = prepare(line(premise, 0));
  ASSERT_TRUE(cut.isOk()) << cut.status().render();
  for (uint64_t i = 0; i < 3; ++i) {
    const Sample all = whole.value().sample(i), kept = cut.value().sample(i);
    const uint32_t before = loaded.tokenizer.contents().beforeCount();
    ASSERT_EQ(kept.length, 40);
    for (uint32_t k = 0; k < before; ++k)
      EXPECT_EQ(kept.ids[k], all.ids[k]);
    for (int64_t k = before; k < 40; ++k) {
      EXPECT_EQ(kept.ids[k], all.ids[all.length - 40 + k]);
      EXPECT_EQ(kept.targets[k], all.targets[all.length - 40 + k]);
    }
  }
}
