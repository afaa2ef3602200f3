//===- ReplayLogTest.cpp - A run as the numbers of its steps --------------===//

#include "formats/ReplayLog.h"
#include "TemporaryFolder.h"

#include "gtest/gtest.h"

using namespace hone::rt;

namespace {

class ReplayLogTest : public testing::Test {
protected:
  static constexpr uint64_t recordBytes = 2 * sizeof(float) + 8;

  /// Steps 0 to count - 1.
  void write(uint64_t count) {
    Result<ReplayWriter> log = ReplayWriter::create(path, header);
    ASSERT_TRUE(log.isOk());
    append(log.value(), 0, count);
  }
  static void append(ReplayWriter &log, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const float numbers[] = {float(i), -0.5f};
      ASSERT_TRUE(log.append(numbers).isOk());
    }
  }
  std::string bytes() const { return folder.read("replay.hone"); }
  void replace(const std::string &content) const {
    folder.write("replay.hone", content);
  }
  void expectError(ErrorCode code, const std::string &part) const {
    Result<ReplayReader> log = ReplayReader::open(path);
    ASSERT_FALSE(log.isOk());
    EXPECT_EQ(log.status().errorCode(), code);
    EXPECT_NE(log.status().render().find(part), std::string::npos)
        << log.status().render();
  }

  TemporaryFolder folder;
  std::string path = folder.file("replay.hone");
  ReplayHeader header{{{"--seed", "42"}, {"a \"name\"", "b"}}, "abc", 2};
};

TEST_F(ReplayLogTest, ReadsWhatWasWritten) {
  write(3);
  Result<ReplayReader> log = ReplayReader::open(path);
  ASSERT_TRUE(log.isOk());
  EXPECT_EQ(log.value().header().run, header.run);
  EXPECT_EQ(log.value().header().start, "abc");
  EXPECT_EQ(log.value().header().coefficients, 2u);
  ASSERT_EQ(log.value().steps(), 3u);
  EXPECT_EQ(log.value().step(2), (std::vector<float>{2, -0.5f}));
}

TEST_F(ReplayLogTest, ResumesBehindTheCheckpointWithTheSameBytes) {
  write(5);
  const std::string whole = bytes();
  for (uint64_t tornBytes : {uint64_t(0), uint64_t(7)}) {
    replace(whole.substr(0, whole.size() - tornBytes));
    Result<ReplayWriter> log = ReplayWriter::resume(path, 3, header.run);
    ASSERT_TRUE(log.isOk());
    append(log.value(), 3, 5);
    EXPECT_EQ(bytes(), whole);
  }
}

TEST_F(ReplayLogTest, RefusesToGoOnWithAnotherRunOrTooFewSteps) {
  write(2);
  EXPECT_EQ(ReplayWriter::resume(path, 3, header.run).status().errorCode(),
            ErrorCode::DamagedReplay);
  EXPECT_EQ(
      ReplayWriter::resume(path, 2, {{"--seed", "43"}}).status().errorCode(),
      ErrorCode::DamagedReplay);
}

TEST_F(ReplayLogTest, NamesWhatIsDamaged) {
  write(4);
  const std::string whole = bytes();
  replace(whole.substr(0, whole.size() - 1));
  expectError(ErrorCode::DamagedReplay, "has 3 and a part of one");
  // Each bit of each record.
  const uint64_t first = whole.size() - 4 * recordBytes;
  for (uint64_t i = first; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = char(changed[i] ^ 4);
    replace(changed);
    expectError(ErrorCode::DamagedReplay,
                "step " + std::to_string((i - first) / recordBytes + 1) +
                    " of 4");
  }
  // A record that is missing, and two that changed places.
  replace(whole.substr(0, first) + whole.substr(first + recordBytes));
  expectError(ErrorCode::DamagedReplay, "step 1 of 3");
  replace(
      whole.substr(0, first) + whole.substr(first + recordBytes, recordBytes) +
      whole.substr(first, recordBytes) + whole.substr(first + 2 * recordBytes));
  expectError(ErrorCode::DamagedReplay, "step 1 of 4");
}

TEST_F(ReplayLogTest, RefusesOtherFiles) {
  for (const char *content :
       {"", "{}\n", "{\"hone_replay\": 2, \"coefficients\": 1}\n",
        "{\"hone_replay\": 1, \"coefficients\": 0}\n",
        "{\"hone_replay\": 1, \"coefficients\": 1, \"more\": 2}\n", "text"}) {
    replace(content);
    expectError(ErrorCode::NotAReplay, "replay.hone");
  }
}

} // namespace
