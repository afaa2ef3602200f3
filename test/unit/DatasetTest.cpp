//===- DatasetTest.cpp - Data files, their samples and their faults -------===//
//
// The expected samples are made by test/reference/tokenizers/make_golden.py.
//
//===----------------------------------------------------------------------===//

#include "TokenizerFixture.h"

#include "data/Dataset.h"
#include "data/TokenCache.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

using namespace hone::rt;
using namespace hone::test;

static constexpr int64_t Vocabulary = 500;

static Result<Dataset> prepare(const TemporaryFolder &folder,
                               const std::string &path,
                               const Tokenizer *tokenizer = nullptr,
                               int64_t length = 256) {
  return Dataset::prepare({path, length, folder.path + "/cache", Vocabulary},
                          tokenizer);
}

static std::vector<int32_t> idsAt(const Dataset &data, uint64_t i) {
  const Sample sample = data.sample(i);
  return {sample.ids, sample.ids + sample.length};
}

static std::vector<int32_t> targetsAt(const Dataset &data, uint64_t i) {
  const Sample sample = data.sample(i);
  return {sample.targets, sample.targets + sample.length};
}

using Ids = std::vector<int32_t>;

static bool hasNote(const Dataset &data, const std::string &note) {
  return data.notes().find(note) != std::string_view::npos;
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

static void expectGolden(const std::string &name, DataFormat format,
                         int64_t length) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  const std::string path = goldenTokenizer("data/") + name;
  TemporaryFolder folder;
  Result<Dataset> data = prepare(folder, path, &loaded.tokenizer, length);
  ASSERT_TRUE(data.isOk()) << data.status().render();
  EXPECT_EQ(data.value().format(), format);
  const std::vector<Json> expected =
      readLines(path.substr(0, path.rfind('.')) + ".expected.jsonl");
  ASSERT_EQ(data.value().sampleCount(), expected.size());
  uint64_t targets = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(idsAt(data.value(), i), idsOf(expected[i].find("ids")));
    EXPECT_EQ(targetsAt(data.value(), i), idsOf(expected[i].find("targets")));
    for (int32_t target : targetsAt(data.value(), i))
      targets += target != NoTarget;
  }
  EXPECT_EQ(data.value().targetCount(), targets);
}

TEST(Dataset, TextLinesMatchTheReference) {
  expectGolden("text.jsonl", DataFormat::Text, 256);
}

TEST(Dataset, CompletionsMatchTheReference) {
  expectGolden("pairs.jsonl", DataFormat::PromptCompletion, 256);
}

TEST(Dataset, PackedTextMatchesTheReference) {
  expectGolden("packed.txt", DataFormat::PlainText, 32);
}

TEST(Dataset, IdsAreTheirOwnLabelsShifted) {
  TemporaryFolder folder;
  Result<Dataset> data = prepare(
      folder, folder.write("d.jsonl", "{\"input_ids\":[5,6,7]}\n"
                                      "{\"labels\":[-100,-100,9,8],"
                                      "\"input_ids\":[1,2,3,4],"
                                      "\"attention_mask\":[1,1,1,1]}\n\n"));
  ASSERT_TRUE(data.isOk()) << data.status().render();
  ASSERT_EQ(data.value().sampleCount(), 2u);
  EXPECT_EQ(idsAt(data.value(), 0), (Ids{5, 6, 7}));
  EXPECT_EQ(targetsAt(data.value(), 0), (Ids{6, 7, -100}));
  EXPECT_EQ(targetsAt(data.value(), 1), (Ids{-100, 9, 8, -100}));
  EXPECT_EQ(data.value().tokenCount(), 7u);
  EXPECT_EQ(data.value().targetCount(), 4u);
}

TEST(Dataset, FormatFollowsTheNameThenTheFirstLine) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  TemporaryFolder folder;
  const auto formatOf = [&](const char *name, const char *content) {
    Result<Dataset> data =
        prepare(folder, folder.write(name, content), &loaded.tokenizer);
    EXPECT_TRUE(data.isOk()) << data.status().render();
    return data.value().format();
  };
  EXPECT_EQ(formatOf("a", "{\"text\":\"the blade\"}"), DataFormat::Text);
  EXPECT_EQ(formatOf("b", "{ not json }\n"), DataFormat::PlainText);
  EXPECT_EQ(formatOf("c.txt", "{\"text\":\"the blade\"}"),
            DataFormat::PlainText);
  EXPECT_EQ(formatOf("d", "\xEF\xBB\xBF{\"text\":\"the blade\"}\r\n"),
            DataFormat::Text);
}

TEST(Dataset, TokenAcrossTheEndOfThePromptIsReported) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  TemporaryFolder folder;
  Result<Dataset> data = prepare(
      folder,
      folder.write("d.jsonl", "{\"prompt\":\"t\",\"completion\":\"he blade\"}"),
      &loaded.tokenizer);
  ASSERT_TRUE(data.isOk());
  EXPECT_TRUE(hasNote(data.value(), "in 1 of 1 sample a token spans"));
}

//===----------------------------------------------------------------------===//
// Left-out samples are counted
//===----------------------------------------------------------------------===//

TEST(Dataset, LongSamplesAreCountedAndLeftOut) {
  TemporaryFolder folder;
  Result<Dataset> data =
      prepare(folder,
              folder.write("d.jsonl", "{\"input_ids\":[1,2,3,4,5]}\n"
                                      "{\"input_ids\":[1,2,3,4]}\n"
                                      "{\"input_ids\":[1,2,3,4,5,6]}\n"),
              nullptr, 4);
  ASSERT_TRUE(data.isOk());
  EXPECT_EQ(data.value().sampleCount(), 1u);
  EXPECT_TRUE(hasNote(data.value(),
                      "2 of 3 samples are longer than 4 tokens and are left "
                      "out; the longest has 6"))
      << data.value().notes();
}

static Ids idsOfAll(const Dataset &data) {
  Ids all;
  for (uint64_t i = 0; i < data.sampleCount(); ++i) {
    const Ids ids = idsAt(data, i);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

TEST(Dataset, TextsAreSplitAndOthersLeftOut) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  TemporaryFolder folder;
  // The second has more than a conversation may have.
  std::string book;
  while (book.size() < 2 * DataLines::LongestConversation)
    book += "the blade gets thinner and thinner ";
  const std::string line = "{\"text\":\"the whetstone turns and turns\"}\n",
                    lines = line + "{\"text\":\"" + book + "\"}\n";
  const auto make = [&](const char *name, const std::string &content,
                        int64_t length) {
    return prepare(folder, folder.write(name, content), &loaded.tokenizer,
                   length);
  };
  Result<Dataset> whole = make("d.jsonl", lines, 1 << 20),
                  split = make("d.jsonl", lines, 16),
                  table = make("d.csv", "text\n\"" + book + "\"\n", 16);
  ASSERT_TRUE(whole.isOk() && split.isOk()) << split.status().render();
  ASSERT_EQ(whole.value().sampleCount(), 2u);
  EXPECT_EQ(idsOfAll(split.value()), idsOfAll(whole.value()));
  uint64_t pieces = 0;
  for (uint64_t i = 0; i < 2; ++i) {
    const auto length = uint64_t(whole.value().sample(i).length);
    pieces += length > 16 ? (length + 15) / 16 : 0;
  }
  EXPECT_TRUE(hasNote(split.value(), "are longer than 16 tokens and are split "
                                     "into " +
                                         std::to_string(pieces) + " samples"))
      << split.value().notes();
  ASSERT_TRUE(table.isOk()) << table.status().render();
  EXPECT_EQ(idsAt(table.value(), table.value().sampleCount() - 1),
            idsAt(split.value(), split.value().sampleCount() - 1));
  Result<Dataset> pairs =
      make("p.jsonl",
           "{\"prompt\":\"the\",\"completion\":\" blade\"}\n"
           "{\"prompt\":\"the blade gets\",\"completion\":\" thinner and "
           "thinner and thinner and thinner\"}\n",
           16);
  ASSERT_TRUE(pairs.isOk()) << pairs.status().render();
  EXPECT_EQ(pairs.value().sampleCount(), 1u);
  EXPECT_TRUE(hasNote(pairs.value(), "is left out"));
}

// 32 KiB of its end have no place to cut.
TEST(Dataset, ATextThatIsPassedOverLeavesNoPiece) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  TemporaryFolder folder;
  const auto make = [&](const std::string &more) {
    DatasetOptions options{
        folder.write("d.jsonl", "{\"text\":\"the whetstone\"}\n" + more), 4, "",
        Vocabulary};
    options.skipUnusable = true;
    return Dataset::prepare(options, &loaded.tokenizer);
  };
  const std::string endless(1 << 16, 'x');
  Result<Dataset> alone = make(""),
                  both = make("{\"text\":\"the blade gets thinner " + endless +
                              "\"}\n");
  ASSERT_TRUE(alone.isOk() && both.isOk()) << both.status().render();
  EXPECT_TRUE(hasNote(both.value(), "cannot be used and are left out: 1"));
  EXPECT_EQ(idsOfAll(both.value()), idsOfAll(alone.value()));
}

TEST(Dataset, SamplesWithoutTargetAreCountedAndLeftOut) {
  TemporaryFolder folder;
  Result<Dataset> data = prepare(
      folder,
      folder.write("d.jsonl", "{\"input_ids\":[1]}\n"
                              "{\"input_ids\":[1,2],\"labels\":[2,-100]}\n"
                              "{\"input_ids\":[1,2],\"id\":{\"a\":[1]}}\n"));
  ASSERT_TRUE(data.isOk());
  EXPECT_EQ(data.value().sampleCount(), 1u);
  EXPECT_TRUE(hasNote(data.value(), "2 of 3 samples have no target token"));
  EXPECT_TRUE(hasNote(data.value(), "keys that are not used: \"id\""));
}

//===----------------------------------------------------------------------===//
// Special tokens
//===----------------------------------------------------------------------===//

TEST(Dataset, SpecialTokensAreTextAndCountedUnlessTheyAreParsed) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  TemporaryFolder folder;
  const std::string rendered = "<s>the stone</s>";
  DatasetOptions options{folder.write("d.jsonl",
                                      "{\"prompt\":\"<s>the\",\"completion\":"
                                      "\" stone</s>\"}\n"),
                         64, folder.path + "/cache", Vocabulary};
  Result<Dataset> text = Dataset::prepare(options, &loaded.tokenizer);
  ASSERT_TRUE(text.isOk()) << text.status().render();
  EXPECT_TRUE(hasNote(text.value(),
                      "2 special tokens that the text spells are text; if a "
                      "chat template wrote it, give --special-tokens parse"))
      << text.value().notes();
  options.parseSpecialTokens = true;
  Result<Dataset> parsed = Dataset::prepare(options, &loaded.tokenizer);
  ASSERT_TRUE(parsed.isOk()) << parsed.status().render();
  EXPECT_FALSE(parsed.value().wasCached());
  EXPECT_FALSE(hasNote(parsed.value(), "special tokens"));
  // One bos and one eos, which the text has.
  EXPECT_EQ(idsAt(parsed.value(), 0), loaded.encode(rendered, {true}));
  EXPECT_EQ(idsAt(parsed.value(), 0).front(), 1);
  EXPECT_EQ(idsAt(parsed.value(), 0).back(), 2);
  options.path = folder.write("d.txt", rendered);
  parsed = Dataset::prepare(options, &loaded.tokenizer);
  ASSERT_TRUE(parsed.isOk()) << parsed.status().render();
  EXPECT_EQ(idsAt(parsed.value(), 0), loaded.encode(rendered, {true}));
  options.path = folder.write("ids.jsonl", "{\"input_ids\":[1,2]}");
  parsed = Dataset::prepare(options, &loaded.tokenizer);
  EXPECT_EQ(parsed.status().errorCode(), ErrorCode::OptionsDisagree);
}

TEST(Dataset, AddedTokensThatAreNotSpecialAreTokens) {
  LoadedTokenizer loaded(goldenTokenizer("gemma"));
  TemporaryFolder folder;
  Result<Dataset> data = prepare(folder, folder.write("d.txt", "a\n\nb<table>"),
                                 &loaded.tokenizer);
  ASSERT_TRUE(data.isOk()) << data.status().render();
  const Ids ids = idsAt(data.value(), 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 352), 1); // two line ends
  EXPECT_EQ(ids.back(), 414);
}

//===----------------------------------------------------------------------===//
// Other meanings
//===----------------------------------------------------------------------===//

static std::string refusedAs(ErrorCode code, const std::string &name,
                             const std::string &content) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  TemporaryFolder folder;
  Result<Dataset> data =
      prepare(folder, folder.write(name, content), &loaded.tokenizer);
  EXPECT_FALSE(data.isOk()) << content;
  if (data.isOk())
    return "";
  EXPECT_EQ(data.status().errorCode(), code) << data.status().render();
  return data.status().render();
}

TEST(Dataset, RefusesKeysOfAnotherTraining) {
  const std::string pair = "{\"prompt\":\"a\",\"completion\":\" stone\",";
  const std::string ids = "{\"input_ids\":[1,2],";
  for (const auto &[line, problem] :
       {std::pair(std::string("{\"prompt\":\"a\",\"chosen\":\"b\",") +
                      "\"rejected\":\"c\"}",
                  "\"chosen\" is an answer that is preferred"),
        {"{\"rejected\":[{\"role\":\"user\"}],\"text\":\"a stone\"}",
         "\"rejected\" is an answer"},
        {pair + "\"label\":false}", "\"label\" is a verdict"},
        {"{\"label\":true," + pair.substr(1) + "\"id\":1}",
         "\"label\" is a verdict"},
        {"{\"instruction\":\"a\",\"output\":\"b\",\"kto_tag\":true}",
         "\"kto_tag\" is a verdict"},
        {"{\"text\":\"a stone\",\"images\":[\"a.png\"]}",
         "\"images\" is more than text"},
        {ids + "\"completion_mask\":[0,1]}", "a mask of the loss"},
        {ids + "\"position_ids\":[0,0]}", "several samples in one"}})
    EXPECT_NE(refusedAs(ErrorCode::OtherData, "d.jsonl", line).find(problem),
              std::string::npos)
        << line;
  EXPECT_NE(refusedAs(ErrorCode::OtherData, "d.jsonl",
                      pair + "\"label\":null}\n" + pair + "\"label\":true}")
                .find("d.jsonl:2:"),
            std::string::npos);
}

TEST(Dataset, KeysThatSayNothingArePassedOver) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  for (const char *line :
       {"{\"text\":\"a stone\",\"label\":true}",
        "{\"text\":\"a stone\",\"documents\":[\"d\"]}",
        "{\"prompt\":\"a\",\"completion\":\" stone\",\"label\":\"rocks\"}",
        "{\"prompt\":\"a\",\"completion\":\" stone\",\"images\":[],"
        "\"chosen\":null}"}) {
    TemporaryFolder folder;
    Result<Dataset> data =
        prepare(folder, folder.write("d.jsonl", line), &loaded.tokenizer);
    EXPECT_TRUE(data.isOk()) << line << data.status().render();
  }
}

TEST(Dataset, RefusesTablesButAsTasksAndCalledText) {
  const std::string table = "prompt,completion\nthe stone,turns\n";
  for (const char *name : {"d", "d.data", "d.gz"})
    EXPECT_NE(refusedAs(ErrorCode::OtherData, name, table).find("is a table"),
              std::string::npos)
        << name;
  for (const char *header :
       {"\"text\",\"label\"\r\n\"a\",1\n", "id\ttext\n1\ta\n"})
    EXPECT_NE(refusedAs(ErrorCode::OtherData, "d", header)
                  .find("its first line names columns"),
              std::string::npos)
        << header;
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  for (const auto &[name, text] : {std::pair("d.txt", table),
                                   {"d", "text, which is no table,\nis text\n"},
                                   {"e", "text\n"},
                                   {"f", "one,two\nthree,four\n"}}) {
    TemporaryFolder folder;
    Result<Dataset> data =
        prepare(folder, folder.write(name, text), &loaded.tokenizer);
    EXPECT_TRUE(data.isOk()) << text << data.status().render();
  }
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

TEST(Dataset, SecondRunUsesTheCache) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  LoadedTokenizer other(goldenTokenizer("qwen2"));
  TemporaryFolder folder;
  const std::string path = folder.write("d.jsonl", "{\"text\":\"a 12 stone\"}");
  const auto cached = [&](const Tokenizer &tokenizer, int64_t length) {
    Result<Dataset> data = prepare(folder, path, &tokenizer, length);
    EXPECT_TRUE(data.isOk()) << data.status().render();
    EXPECT_TRUE(hasNote(data.value(), "1 sample,"));
    return data.value().wasCached();
  };
  EXPECT_FALSE(cached(loaded.tokenizer, 64));
  EXPECT_TRUE(cached(loaded.tokenizer, 64));
  EXPECT_FALSE(cached(loaded.tokenizer, 65));
  EXPECT_FALSE(cached(other.tokenizer, 64));
  folder.write("d.jsonl", "{\"text\":\"a 13 stone\"}");
  EXPECT_FALSE(cached(loaded.tokenizer, 64));
  // Nothing but caches is left behind.
  for (const auto &entry :
       std::filesystem::directory_iterator(folder.path + "/cache"))
    EXPECT_EQ(entry.path().extension(), ".tokens");
}

TEST(Dataset, DamagedCacheIsMadeAgain) {
  TemporaryFolder folder;
  const std::string path =
      folder.write("d.jsonl", "{\"input_ids\":[1,2,3]}\n{\"input_ids\":[4,5]}");
  Result<Dataset> first = prepare(folder, path);
  ASSERT_TRUE(first.isOk());
  const std::string good =
      readAll(folder.path + "/cache/" + first.value().name());
  const std::string name = "cache/" + first.value().name();
  for (size_t at = 0; at + 4 <= good.size(); at += 4) {
    std::string damaged = good;
    const uint32_t bad = 0x7FFFFFF0;
    std::memcpy(&damaged[at], &bad, sizeof bad);
    folder.write(name, damaged);
    Result<Dataset> again = prepare(folder, path);
    ASSERT_TRUE(again.isOk()) << at;
    EXPECT_EQ(idsAt(again.value(), 1), (Ids{4, 5})) << at;
  }
  for (size_t size = 0; size < good.size(); size += 5) {
    folder.write(name, good.substr(0, size));
    Result<Dataset> again = prepare(folder, path);
    ASSERT_TRUE(again.isOk()) << size;
    EXPECT_FALSE(again.value().wasCached());
  }
  EXPECT_EQ(readAll(folder.path + "/cache/" + first.value().name()), good);
}

// Generated code indexes tables with the ids of a cache, and a batch has room
// for the compiled length.
TEST(Dataset, CacheWithValuesOutOfRangeIsRefused) {
  TemporaryFolder folder;
  const std::string path = folder.path + "/c.tokens";
  const auto opens = [&](Ids ids, Ids labels, int64_t vocabulary,
                         int64_t length) {
    TokenCacheWriter writer;
    EXPECT_TRUE(writer.open(folder.path, path).isOk());
    EXPECT_TRUE(writer.add(ids.data(), labels.data(), ids.size()).isOk());
    Result<MappedFile> file =
        writer.commit(DataFormat::TokenIds, vocabulary, "");
    EXPECT_TRUE(file.isOk());
    Status status =
        TokenCache::open(std::move(file.value()), vocabulary, length).status();
    EXPECT_TRUE(status.isOk() ||
                status.errorCode() == ErrorCode::BadTokenCache);
    return status.isOk();
  };
  EXPECT_TRUE(opens({0, 8, 9}, {0, 9, NoTarget}, 10, 3));
  EXPECT_FALSE(opens({0, 8, 10}, {0, 9, 9}, 10, 3)) << "id";
  EXPECT_FALSE(opens({0, -1, 9}, {0, 9, 9}, 10, 3)) << "negative id";
  EXPECT_FALSE(opens({0, 8, 9}, {0, 10, 9}, 10, 3)) << "target";
  EXPECT_FALSE(opens({0, 8, 9}, {0, -1, 9}, 10, 3)) << "negative target";
  EXPECT_FALSE(opens({0, 8, 9}, {0, 9, 9}, 10, 2)) << "too long";
}

//===----------------------------------------------------------------------===//
// Leftovers
//===----------------------------------------------------------------------===//

// A run without --output has no folder that the next one could clean up.
TEST(Dataset, WithoutACacheNothingEverHasAName) {
  TemporaryFolder folder;
  const std::string path =
      folder.write("d.jsonl", "{\"input_ids\": [1, 2, 3]}\n");
  ::setenv("TMPDIR", folder.path.c_str(), 1);
  size_t during = 0;
  const auto count = [&] {
    during = folder.count();
    return Status::ok();
  };
  Result<Dataset> data =
      Dataset::prepare({path, 8, "", Vocabulary, count}, nullptr);
  ::unsetenv("TMPDIR");
  ASSERT_TRUE(data.isOk()) << data.status().render();
  EXPECT_EQ(idsAt(data.value(), 0), (Ids{1, 2, 3}));
  EXPECT_EQ(during, 1u);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(Dataset, TemporariesOfKilledRunsGo) {
  TemporaryFolder folder;
  const std::string path =
      folder.write("d.jsonl", "{\"input_ids\": [1, 2, 3]}\n");
  std::filesystem::create_directory(folder.file("cache"));
  folder.write("cache/other.tokens.tmp-0123456789abcdef", "half");
  ASSERT_TRUE(prepare(folder, path).isOk());
  EXPECT_EQ(folder.count("cache"), 1u);
}

TEST(Dataset, AStopEndsThePreparationAndLeavesNothing) {
  TemporaryFolder folder;
  std::string lines;
  while (lines.size() < 4 * MappedFile::VisitBytes)
    lines += "{\"input_ids\": [1, 2, 3]}\n";
  int calls = 0;
  const auto stop = [&] {
    return ++calls < 3 ? Status::ok() : Status(ErrorCode::Stopped, {});
  };
  Result<Dataset> data =
      Dataset::prepare({folder.write("d.jsonl", lines), 8,
                        folder.path + "/cache", Vocabulary, stop},
                       nullptr);
  EXPECT_EQ(data.status().errorCode(), ErrorCode::Stopped);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(folder.count("cache"), 0u);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static void expectFault(ErrorCode code, const std::string &content,
                        const std::string &expected,
                        const char *name = "d.jsonl",
                        const char *kind = "gpt2") {
  TemporaryFolder folder;
  std::unique_ptr<LoadedTokenizer> loaded;
  if (kind != nullptr)
    loaded = std::make_unique<LoadedTokenizer>(goldenTokenizer(kind));
  Result<Dataset> data =
      prepare(folder, folder.write(name, content),
              loaded == nullptr ? nullptr : &loaded->tokenizer, 8);
  ASSERT_FALSE(data.isOk()) << expected;
  EXPECT_EQ(data.status().errorCode(), code);
  EXPECT_NE(data.status().render().find(expected), std::string::npos)
      << data.status().render();
  EXPECT_FALSE(data.status().message().remedy.empty());
  // No half-written cache.
  if (std::filesystem::exists(folder.path + "/cache"))
    EXPECT_TRUE(std::filesystem::is_empty(folder.path + "/cache"));
}

TEST(DatasetFault, MissingFile) {
  TemporaryFolder folder;
  Result<Dataset> data = prepare(folder, folder.path + "/none.jsonl");
  ASSERT_FALSE(data.isOk());
  EXPECT_EQ(data.status().errorCode(), ErrorCode::CannotRead);
}

TEST(DatasetFault, EmptyFile) {
  for (const char *content : {"", "\n \n", "\xEF\xBB\xBF"})
    for (const char *name : {"d.jsonl", "d.txt", "d"})
      expectFault(ErrorCode::EmptyData, content, "the file is empty", name);
}

TEST(DatasetFault, LongLine) {
  const std::string line = "{\"text\": \"a b\", \"more\": \"" +
                           std::string(DataLines::LongestLine, 'x') + "\"}\n";
  expectFault(ErrorCode::LineTooLong, "{\"text\": \"a b c\"}\n" + line,
              "d.jsonl:2: expected lines of at most 524288 bytes");
  // Not taken for plain text because its end is not looked at.
  expectFault(ErrorCode::LineTooLong, line,
              "d.data:1: expected lines of at most", "d.data");
}

TEST(DatasetFault, NotJson) {
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\"}\n{\"text\":\"b\"\n",
              "d.jsonl:2:");
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\"}\n{\"text\":\"b\"} x\n",
              "d.jsonl:2:14");
  expectFault(ErrorCode::BadLine, "just text\n", "d.jsonl:1:1");
  expectFault(ErrorCode::BadLine, "[{\"text\":\"a\"}\n", "d.json:1:14",
              "d.json");
}

TEST(DatasetFault, UnknownOrMixedKeys) {
  expectFault(ErrorCode::MixedFormats, "{\"turns\":[]}\n",
              "d.jsonl:1: expected the keys of one data format but found none "
              "of these keys: \"turns\"");
  expectFault(ErrorCode::MixedFormats, "{\"text\":\"a\",\"input_ids\":[1]}\n",
              "found \"text\", \"input_ids\"");
  expectFault(ErrorCode::MixedFormats, "{\"prompt\":\"a\"}\n",
              "d.jsonl:1: expected JSON with \"prompt\"");
}

TEST(DatasetFault, LaterLineOfAnotherShape) {
  expectFault(ErrorCode::MixedFormats,
              "{\"text\":\"a\"}\n{\"prompt\":\"a\",\"completion\":\"b\"}\n",
              "d.jsonl:2: expected JSON with \"text\" as in the first line but "
              "found \"prompt\", \"completion\"");
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\"}\n\n{\"text\":\"a\"}\n",
              "d.jsonl:2:");
}

TEST(DatasetFault, WrongTypes) {
  expectFault(ErrorCode::BadLine, "{\"text\":1}\n", "d.jsonl:1:9");
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\"}\n{\"text\":null}\n",
              "d.jsonl:2:9");
  expectFault(ErrorCode::BadLine, "{\"prompt\":[],\"completion\":\"a\"}",
              "d.jsonl:1:11");
  expectFault(ErrorCode::BadLine, "{\"input_ids\":\"a\"}", "d.jsonl:1:14");
  expectFault(ErrorCode::TokenOutOfRange, "{\"input_ids\":[1,\"2\"]}",
              "but found a string");
  expectFault(ErrorCode::TokenOutOfRange, "{\"input_ids\":[1,2.5]}",
              "d.jsonl:1:17");
}

TEST(DatasetFault, DuplicateKey) {
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\",\"text\":\"b\"}",
              "\"text\" is there twice");
}

TEST(DatasetFault, IdsOutsideTheVocabulary) {
  expectFault(
      ErrorCode::TokenOutOfRange,
      "{\"input_ids\":[1,2]}\n{\"input_ids\":[1,500]}\n",
      "d.jsonl:2:17: expected in \"input_ids\" a token id from 0 to 499 "
      "but found 500",
      "d.jsonl", nullptr);
  expectFault(ErrorCode::TokenOutOfRange, "{\"input_ids\":[-1,2]}\n",
              "but found -1");
  expectFault(ErrorCode::TokenOutOfRange, "{\"input_ids\":[-100,2]}\n",
              "but found -100");
  expectFault(ErrorCode::TokenOutOfRange,
              "{\"input_ids\":[1,99999999999999999999]}\n", "d.jsonl:1:17");
  expectFault(ErrorCode::TokenOutOfRange,
              "{\"input_ids\":[1,2],\"labels\":[1,-99]}\n",
              "or -100 but found");
}

TEST(DatasetFault, LabelsOfAnotherLength) {
  expectFault(ErrorCode::BadLine, "{\"input_ids\":[1,2],\"labels\":[1]}\n",
              "d.jsonl:1: expected as many \"labels\" as \"input_ids\", 2, but "
              "found 1");
}

TEST(DatasetFault, PaddingMask) {
  expectFault(ErrorCode::BadLine,
              "{\"input_ids\":[1,2],\"attention_mask\":[1,0]}\n",
              "expected \"attention_mask\" to be all 1");
}

TEST(DatasetFault, EmptySample) {
  expectFault(ErrorCode::BadLine, "{\"text\":\"\"}\n",
              "d.jsonl:1: expected a sample but its \"text\" is empty");
  expectFault(ErrorCode::BadLine, "{\"prompt\":\"a\",\"completion\":\"\"}\n",
              "its \"completion\" is empty");
  expectFault(ErrorCode::BadLine, "{\"input_ids\":[]}\n",
              "its \"input_ids\" is empty");
}

TEST(DatasetFault, InvalidUtf8) {
  expectFault(ErrorCode::BadLine, "{\"text\":\"a\"}\n{\"text\":\"\xFF\"}\n",
              "d.jsonl:2:");
  expectFault(ErrorCode::DataNotUtf8, "one\ntwo\n\xFFthree",
              "d.txt:3: expected UTF-8 text but byte 8", "d.txt");
}

TEST(DatasetFault, Utf16) {
  using namespace std::string_literals;
  const auto wide = [](const std::string &text, bool isBig) {
    std::string out;
    for (char byte : text)
      out += isBig ? "\0"s + byte : byte + "\0"s;
    return out;
  };
  for (const char *name : {"d.txt", "d.jsonl", "d.json", "d.csv", "d"})
    for (const char *text : {"{\"text\":\"a\"}\n", "text,b\na,b\n"}) {
      expectFault(ErrorCode::DataNotUtf8, wide(text, false),
                  ":1: expected UTF-8 text but byte 1 of the file is zero, as "
                  "in UTF-16\n  help: convert the file, for example with iconv "
                  "-f UTF-16LE -t UTF-8",
                  name);
      expectFault(ErrorCode::DataNotUtf8, wide(text, true),
                  "iconv -f UTF-16BE -t UTF-8", name);
      for (bool isBig : {false, true})
        expectFault(ErrorCode::DataNotUtf8,
                    (isBig ? "\xFE\xFF" : "\xFF\xFE") + wide(text, isBig),
                    ":1: expected UTF-8 text but the file begins with the mark "
                    "of UTF-16\n  help: convert the file, for example with "
                    "iconv -f UTF-16 -t UTF-8",
                    name);
    }
}

TEST(DatasetFault, AZeroInText) {
  using namespace std::string_literals;
  const std::string start = std::string(5000, 'a') + "\n";
  expectFault(ErrorCode::DataNotUtf8, start + "b\0c"s,
              "d.txt:2: expected UTF-8 text but byte 5002", "d.txt");
  expectFault(ErrorCode::DataNotUtf8, "text\n" + start + "b\0c\n"s,
              "d.csv:3:", "d.csv");
  expectFault(ErrorCode::BadLine,
              "{\"text\":\"" + std::string(5000, 'a') +
                  "\"}\n{\"text\":\"b\0c\"}\n"s,
              "d.jsonl:2:");
}

TEST(DatasetFault, TextWithoutTokenizer) {
  expectFault(ErrorCode::NoTokenizer, "{\"text\":\"a\"}\n",
              "without a tokenizer", "d.jsonl", nullptr);
  expectFault(ErrorCode::NoTokenizer, "some text", "without a tokenizer",
              "d.txt", nullptr);
}

TEST(DatasetFault, NothingLeft) {
  expectFault(ErrorCode::NoSample, "{\"input_ids\":[1,2,3,4,5,6,7,8,9]}\n",
              "1 of 1 sample is longer than 8 tokens");
  expectFault(ErrorCode::NoSample, "{\"input_ids\":[1]}\n",
              "no sample is left to train on");
}

TEST(DatasetFault, TokenizerLargerThanTheModel) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  TemporaryFolder folder;
  Result<Dataset> data =
      Dataset::prepare({folder.write("d.jsonl", "{\"text\":\"the blade\"}"), 8,
                        folder.path + "/cache", 50},
                       &loaded.tokenizer);
  ASSERT_FALSE(data.isOk());
  EXPECT_NE(data.status().render().find("the model's vocabulary has 50"),
            std::string::npos);
}
