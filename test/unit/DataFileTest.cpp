//===- DataFileTest.cpp - Tables, archives, keys, left-out samples --------===//
//
// A table has the samples of the JSON lines that say the same.
//
//===----------------------------------------------------------------------===//

#include "TokenizerFixture.h"

#include "data/Dataset.h"

using namespace hone::rt;
using namespace hone::test;

namespace {

class Files {
public:
  Files() : loaded(goldenTokenizer("gpt2")) {}

  Result<Dataset> prepare(const std::string &name, const std::string &content,
                          const std::string &map = "", bool skips = false) {
    DatasetOptions options{folder.write(name, content), 256, "", 50257};
    options.mapText = map;
    options.map = KeyMap::parse(map).value();
    options.skipUnusable = skips;
    return Dataset::prepare(options, &loaded.tokenizer);
  }
  /// The samples, or the message.
  std::string show(const Result<Dataset> &data) {
    if (!data.isOk())
      return data.status().render();
    std::string out;
    for (uint64_t i = 0; i < data.value().sampleCount(); ++i) {
      const Sample sample = data.value().sample(i);
      for (int64_t k = 0; k < sample.length; ++k)
        out += std::to_string(sample.ids[k]) + ":" +
               std::to_string(sample.targets[k]) + " ";
      out += "\n";
    }
    return out;
  }
  std::string of(const std::string &name, const std::string &content) {
    return show(prepare(name, content));
  }
  void expectError(const std::string &name, const std::string &content,
                   ErrorCode code, const std::string &problem) {
    const Result<Dataset> data = prepare(name, content);
    ASSERT_FALSE(data.isOk()) << content;
    EXPECT_EQ(data.status().errorCode(), code) << data.status().render();
    EXPECT_NE(data.status().render().find(problem), std::string::npos)
        << data.status().render();
  }

  TemporaryFolder folder;
  LoadedTokenizer loaded;
};

} // namespace

TEST(DataFile, ATableIsItsLines) {
  Files files;
  const std::string lines =
      "{\"prompt\":\"a, \\\"b\\\"\\nc\",\"completion\":\" d\"}\n"
      "{\"prompt\":\"\xC3\xB6\",\"completion\":\" '\\\"x\\\"\"}\n"
      "{\"prompt\":\"\",\"completion\":\"e f\"}";
  const std::string expected = files.of("d.jsonl", lines);
  EXPECT_EQ(expected.find("error"), std::string::npos) << expected;
  const std::string csv = "prompt,completion\n"
                          "\"a, \"\"b\"\"\nc\", d\n"
                          "\xC3\xB6, '\"x\"\n"
                          "\n"
                          ",e f\n\n";
  EXPECT_EQ(files.of("d.csv", csv), expected);
  EXPECT_EQ(files.of("D.CSV", "\xEF\xBB\xBF" + csv), expected);
  EXPECT_EQ(files.of("d.csv", "prompt;completion\n\"a, \"\"b\"\"\nc\"; d\n"
                              "\xC3\xB6; '\"x\"\n;e f\n"),
            expected);
  EXPECT_EQ(files.of("d.tsv", "prompt\tcompletion\r\n\"a, \"\"b\"\"\nc\"\t d"
                              "\r\n\xC3\xB6\t '\"x\"\r\n\t\"e f\"\r\n"),
            expected);
  EXPECT_EQ(files.of("d.csv", ",completion,prompt\n0, d,\"a, \"\"b\"\"\nc\"\n"
                              "1,\" '\"\"x\"\"\",\xC3\xB6\n2,e f,"),
            expected);
  EXPECT_EQ(files.of("d.tsv", "prompt\tcompletion\tnote\na\t b\t\n"),
            files.of("d.jsonl", "{\"prompt\":\"a\",\"completion\":\" b\"}"));
  // Lists are JSON.
  EXPECT_EQ(
      files.of("d.csv", "input_ids,labels\n\"[1,2,3]\",\"[-100,2,3]\"\n"),
      files.of("d.jsonl", "{\"input_ids\":[1,2,3],\"labels\":[-100,2,3]}"));
}

TEST(DataFile, TablesThatAreNoneAreRefused) {
  Files files;
  using Code = ErrorCode;
  files.expectError(
      "d.csv", "prompt,completion\na,b\na\n", Code::BadLine,
      "d.csv:3: expected 2 cells as in the first row but found 1");
  files.expectError("d.csv", "prompt,completion\na,b,c\n", Code::BadLine,
                    "found 3");
  files.expectError("d.csv", "prompt,completion\na,\"b\nc\nd\n", Code::BadLine,
                    "d.csv:2: found a quote that is not closed before the file "
                    "ends");
  files.expectError("d.csv", "prompt,completion\na,\"b\"c\n", Code::BadLine,
                    "d.csv:2: found text after the quote that closes a cell");
  files.expectError("d.csv", "prompt,prompt\na,b\n", Code::BadLine,
                    "d.csv:1: the column \"prompt\" is there twice");
  files.expectError("d.csv", "question,answer\na,b\n", Code::MixedFormats,
                    "\"question\", \"answer\"");
  files.expectError("d.csv", "prompt,completion\n", Code::EmptyData, "d.csv");
  files.expectError("d.csv", "prompt,completion\na,\xFF\n", Code::DataNotUtf8,
                    "d.csv:2");
  files.expectError("d.csv", "prompt,completion\ra,b\r", Code::BadLine,
                    "carriage return");
  files.expectError("d.csv", std::string(60000, ','), Code::BadLine,
                    "d.csv:1: expected at most 1024 columns");
  files.expectError("d.csv", std::string(70000, 'a'), Code::LineTooLong,
                    "d.csv:1");
  files.expectError("d.csv", "text\n" + std::string(600000, 'a'),
                    Code::LineTooLong, "d.csv:2");
  files.expectError("d.csv", "text\n\"" + std::string(600000, 'a') + "\"",
                    Code::LineTooLong, "d.csv:2: expected rows of at most");
  // The contents of a cell cannot become another key.
  files.expectError("d.csv", "input_ids\n\"[1,2],\"\"labels\"\":[1,2]\"\n",
                    Code::BadLine, "expected JSON in the column \"input_ids\"");
  files.expectError("d.csv", "messages\n\"[{'role': 'user'}]\"\n",
                    Code::BadLine, "write lists as json.dumps does");
}

TEST(DataFile, OtherProgramsFilesAreRefusedByName) {
  Files files;
  for (const auto &[begin, what] :
       {std::pair("PAR1", "a Parquet file, which Hone does not read\n  help: "
                          "pip install pyarrow"),
        {"ARROW1", "an Arrow file"},
        {"\x28\xB5\x2F\xFD", "Zstandard"},
        {"PK\x03\x04", "a zip archive or a spreadsheet"}})
    files.expectError("d.parquet", std::string(begin) + "1234",
                      ErrorCode::OtherData, what);
}

/// As gzip has it, not compressed.
static std::string storedGzip(const std::string &text) {
  uint32_t crc = 0xFFFFFFFF;
  for (char c : text) {
    crc ^= uint8_t(c);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  const auto number = [](uint32_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
      out += char(value >> 8 * i);
    return out;
  };
  const auto size = uint32_t(text.size());
  return std::string("\x1F\x8B\x08\0\0\0\0\0\0\3\1", 11) + number(size, 2) +
         number(~size, 2) + text + number(~crc, 4) + number(size, 4);
}

TEST(DataFile, CompressedFilesAreWhatTheyHold) {
  Files files;
  const std::string first = "{\"text\":\"a stone\"}\n",
                    second = "{\"text\":\"another\"}\n";
  const std::string expected = files.of("d.jsonl", first + second);
  const std::string whole = storedGzip(first) + storedGzip(second);
  EXPECT_EQ(files.of("d.jsonl.gz", whole), expected);
  EXPECT_EQ(files.of("d.jsonl.gz", whole + std::string(9, '\0')), expected);
  EXPECT_EQ(files.of("d.csv.gz", storedGzip("text\na stone\nanother\n")),
            expected);
  for (size_t size : {5u, 12u, 20u, 60u})
    files.expectError("d.jsonl.gz", whole.substr(0, size),
                      ErrorCode::DamagedArchive, "d.jsonl.gz");
  std::string damaged = whole;
  damaged[20] ^= 1;
  files.expectError("d.jsonl.gz", damaged, ErrorCode::DamagedArchive,
                    "checksum");
  files.expectError("d.jsonl.gz", whole + "x", ErrorCode::DamagedArchive,
                    "expected another compressed part");
  files.expectError("d.gz", storedGzip(" \n"), ErrorCode::EmptyData, "empty");
}

TEST(DataFile, KeysMayHaveOtherNames) {
  Files files;
  const std::string expected =
      files.of("d.jsonl", "{\"prompt\":\"a\",\"completion\":\" b\"}");
  const auto mapped = [&](const std::string &map, const std::string &line) {
    return files.show(files.prepare("d.jsonl", line, map));
  };
  EXPECT_EQ(mapped("prompt=question,completion=answer",
                   "{\"question\":\"a\",\"answer\":\" b\",\"id\":1}"),
            expected);
  // One that another stands for is not looked at, nor one left out.
  EXPECT_EQ(mapped("completion=answer", "{\"prompt\":\"a\",\"completion\":[],"
                                        "\"answer\":\" b\"}"),
            expected);
  EXPECT_EQ(mapped("text=", "{\"prompt\":\"a\",\"completion\":\" b\","
                            "\"text\":\"a b\"}"),
            expected);
  for (const auto &[map, problem] : {std::pair("prompt", "expects KEY=KEY"),
                                     {"promt=a", "no data format"},
                                     {"prompt=a,prompt=b", "twice"},
                                     {"prompt=a,text=a", "twice"}}) {
    const Result<KeyMap> read = KeyMap::parse(map);
    EXPECT_EQ(read.status().errorCode(), ErrorCode::WrongOption);
    EXPECT_NE(read.status().render().find(problem), std::string::npos) << map;
  }
}

TEST(DataFile, SamplesThatCannotBeUsedAreLeftOutAndCounted) {
  Files files;
  const std::string good = "{\"text\":\"a stone\"}\n";
  const std::string lines = "{\"chosen\":\"a\",\"text\":\"b\"}\n" + good +
                            "{\"text\":\n" + good + "{\"prompt\":\"a\"}\n" +
                            std::string(600000, 'x') + "\n{\"text\": 3}\n" +
                            good + "{\"text\":\"\xFF\"}";
  const Result<Dataset> data = files.prepare("d.jsonl", lines, "", true);
  EXPECT_EQ(files.show(data), files.of("e.jsonl", good + good + good));
  ASSERT_TRUE(data.isOk());
  const std::string notes(data.value().notes());
  EXPECT_NE(notes.find("samples that cannot be used and are left out: 6"),
            std::string::npos)
      << notes;
  EXPECT_NE(notes.find("3 with H0603, the first at"), std::string::npos)
      << notes;
  // Without an end of a cell there is no next row; without samples no data.
  EXPECT_FALSE(files.prepare("d.csv", "text\na\n\"b\nc\nd", "", true).isOk());
  EXPECT_EQ(
      files.show(files.prepare("d.csv", "text,a\nx\na stone,1\n", "", true)),
      files.of("e.jsonl", good));
  EXPECT_FALSE(files.prepare("d.jsonl", "x\ny\n", "", true).isOk());
  // An array goes on after an element that cannot be used.
  EXPECT_EQ(files.show(files.prepare(
                "d.json", "[{\"text\": 1}, {\"text\":\"a stone\"}]", "", true)),
            files.of("e.jsonl", good));
}
