//===- SampleSelectionTest.cpp - Held-out samples and drawn ones ----------===//
//
// Samples are told apart by their first id.
//
//===----------------------------------------------------------------------===//

#include "TokenizerFixture.h"

#include "data/Dataset.h"
#include "tasks/TaskFormat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace hone::rt;
using namespace hone::test;

namespace {
struct SelectionTest : testing::Test {
  TemporaryFolder folder;
  DatasetOptions options{folder.file("d.jsonl"), 4, folder.path + "/cache",
                         1000};

  Dataset prepare(const std::string &lines) {
    folder.write("d.jsonl", lines);
    Result<Dataset> data = Dataset::prepare(options, nullptr);
    EXPECT_TRUE(data.isOk()) << data.status().render();
    return std::move(data.value());
  }
  /// `count` samples of two ids.
  Dataset prepare(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += "{\"input_ids\": [" + std::to_string(i) + ", 0]}\n";
    return prepare(lines);
  }
  std::vector<int32_t> select(const Dataset &data, SampleSelection selection) {
    Result<Dataset> selected = data.select(selection, options);
    EXPECT_TRUE(selected.isOk()) << selected.status().render();
    std::vector<int32_t> out;
    for (uint64_t i = 0; selected.isOk() && i < selected.value().sampleCount();
         ++i)
      out.push_back(selected.value().sample(i).ids[0]);
    return out;
  }
};
} // namespace

TEST_F(SelectionTest, EachSampleIsOnOneSideInTheFilesOrder) {
  Dataset data = prepare(100);
  for (auto [asked, expected] :
       {std::pair(0.1, 10), std::pair(0.07, 7), std::pair(0.001, 1),
        std::pair(0.999, 100 - 0), std::pair(1.0, 1), std::pair(37.0, 37),
        std::pair(99.0, 99)}) {
    if (expected == 100)
      continue; // leaves none: see below
    std::vector<int32_t> held = select(data, {asked, true, 0, 42});
    std::vector<int32_t> left = select(data, {asked, false, 0, 42});
    EXPECT_EQ(held.size(), size_t(expected));
    EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
    EXPECT_TRUE(std::is_sorted(left.begin(), left.end()));
    std::set<int32_t> all(held.begin(), held.end());
    all.insert(left.begin(), left.end());
    EXPECT_EQ(all.size(), 100u);
    EXPECT_EQ(held.size() + left.size(), 100u);
  }
}

TEST_F(SelectionTest, SeedsDrawOtherOnesAndTheSameOneTheSame) {
  Dataset data = prepare(100);
  std::vector<int32_t> one = select(data, {0.2, true, 0, 1});
  EXPECT_NE(one, select(data, {0.2, true, 0, 2}));
  std::filesystem::remove_all(folder.path + "/cache");
  EXPECT_EQ(one, select(prepare(100), {0.2, true, 0, 1}));
}

// Each sample is held out about as often as any other: 400 seeds, a tenth.
TEST_F(SelectionTest, NoSampleIsPreferred) {
  Dataset data = prepare(20);
  std::vector<int> times(20);
  for (uint64_t seed = 0; seed < 400; ++seed)
    for (int32_t id : select(data, {0.1, true, 0, seed}))
      ++times[size_t(id)];
  // Binomial, mean 40 and deviation 6.
  for (int each : times)
    EXPECT_NEAR(each, 40, 27);
}

// Two pieces of a line are never on both sides.
TEST_F(SelectionTest, PiecesOfALineStayTogether) {
  options.tooLong = TooLong::Split;
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    const std::string id = std::to_string(i);
    lines += "{\"input_ids\": [" + id + "," + id + "," + id + "," + id + "," +
             id + "," + id + "]}\n";
  }
  Dataset data = prepare(lines);
  ASSERT_EQ(data.sampleCount(), 60u);
  std::vector<int32_t> held = select(data, {10, true, 0, 3});
  ASSERT_EQ(held.size(), 20u);
  for (size_t i = 0; i < held.size(); i += 2)
    EXPECT_EQ(held[i], held[i + 1]);
}

TEST_F(SelectionTest, LeavesSomethingToTrainOn) {
  Dataset data = prepare(10);
  for (double asked : {10.0, 11.0, 0.95}) {
    Result<Dataset> all = data.select({asked, false, 0, 1}, options);
    ASSERT_FALSE(all.isOk()) << asked;
    EXPECT_EQ(all.status().errorCode(), ErrorCode::TooFewSamples);
    EXPECT_EQ(all.status().message().place, options.path);
  }
}

namespace {
/// Texts of a task, with a byte-fallback tokenizer.
struct TaskSelectionTest : SelectionTest {
  LoadedTokenizer loaded{goldenTokenizer("byte-fallback")};
  std::unique_ptr<CandidateFormat> task;

  Dataset prepareTask(int count) {
    options.task = (task = findTask("sst2")).get();
    options.maxSequenceLength = 64;
    std::string lines;
    for (int i = 0; i < count; ++i) // a third is positive
      lines += "{\"sentence\": \"number " + std::to_string(i) +
               "\", \"label\": " + std::to_string(i % 3 == 0) + "}\n";
    folder.write("d.jsonl", lines);
    Result<Dataset> data = Dataset::prepare(options, &loaded.tokenizer);
    EXPECT_TRUE(data.isOk()) << data.status().render();
    return std::move(data.value());
  }
  std::string textOf(const Dataset &data, uint64_t i) {
    const Sample sample = data.sample(i);
    return loaded.tokenizer.decode(sample.ids, size_t(sample.length));
  }
};
} // namespace

TEST_F(TaskSelectionTest, TrainsOnRightCandidatesAlone) {
  Dataset data = prepareTask(9);
  ASSERT_EQ(data.sampleCount(), 18u);
  Result<Dataset> left = data.select({0, false, 0, 1}, options);
  ASSERT_TRUE(left.isOk());
  ASSERT_EQ(left.value().sampleCount(), 9u);
  for (uint64_t i = 0; i < 9; ++i) {
    const std::string text = textOf(left.value(), i);
    EXPECT_NE(text.find(i % 3 == 0 ? " great" : " terrible"), std::string::npos)
        << text;
    EXPECT_FALSE(left.value().continues(i));
  }
}

TEST_F(TaskSelectionTest, DrawsAsManyOfEachLabel) {
  Dataset data = prepareTask(60);
  Result<Dataset> drawn = data.select({20, false, 5, 7}, options);
  ASSERT_TRUE(drawn.isOk()) << drawn.status().render();
  Result<Dataset> held = data.select({20, true, 0, 7}, options);
  ASSERT_TRUE(held.isOk());
  EXPECT_EQ(held.value().sampleCount(), 40u); // with all candidates
  std::set<std::string> texts;
  int great = 0;
  for (uint64_t i = 0; i < drawn.value().sampleCount(); ++i) {
    texts.insert(textOf(drawn.value(), i));
    great += textOf(drawn.value(), i).find(" great") != std::string::npos;
  }
  EXPECT_EQ(texts.size(), 10u);
  EXPECT_EQ(great, 5);
  for (uint64_t i = 0; i < held.value().sampleCount(); ++i)
    EXPECT_EQ(texts.count(textOf(held.value(), i)), 0u);
}

TEST_F(TaskSelectionTest, NamesTheLabelThatHasTooFew) {
  Dataset data = prepareTask(9);
  Result<Dataset> drawn = data.select({0, false, 4, 7}, options);
  ASSERT_FALSE(drawn.isOk());
  EXPECT_EQ(drawn.status().errorCode(), ErrorCode::TooFewSamples);
  EXPECT_NE(drawn.status().render().find("'great' has 3"), std::string::npos)
      << drawn.status().render();
}
