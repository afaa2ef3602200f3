//===- TokenizerTest.cpp - Ids, tables and refusals -----------------------===//
//
// The golden ids are Hugging Face's own (test/reference/tokenizers). Tests on
// published tokenizers need HONE_SHARED and are skipped without it.
//
//===----------------------------------------------------------------------===//

#include "TokenizerFixture.h"

#include "text/TextBytes.h"

#include <chrono>
#include <cstring>
#include <random>

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

namespace {
class GoldenTokenizer : public ::testing::TestWithParam<const char *> {};
} // namespace

TEST_P(GoldenTokenizer, GivesTheIdsOfHuggingFace) {
  const std::string folder = goldenTokenizer(GetParam());
  LoadedTokenizer loaded(folder);
  for (const Json &test : readLines(folder + "/cases.jsonl")) {
    const std::string &text = test.find("text")->string();
    EXPECT_EQ(loaded.encode(text), idsOf(test.find("ids"))) << text;
    if (const Json *parsed = test.find("parsed"))
      EXPECT_EQ(loaded.encode(text, {/*parse=*/true}), idsOf(parsed)) << text;
  }
}

TEST_P(GoldenTokenizer, DecodesWhatItEncoded) {
  LoadedTokenizer loaded(goldenTokenizer(GetParam()));
  const std::string text = "it's 12 st\xC3\xB6nes,\n\n  \xE7\x9F\xB3 \x01!";
  const std::vector<int32_t> ids = loaded.encode(text);
  std::string decoded = loaded.tokenizer.decode(ids.data(), ids.size());
  if (decoded.front() == ' ') // that a pre-tokenizer put there
    decoded.erase(0, 1);
  EXPECT_EQ(decoded, text);
}

INSTANTIATE_TEST_SUITE_P(, GoldenTokenizer,
                         ::testing::Values("gpt2", "gpt2-prefix", "qwen2",
                                           "llama3", "digits", "byte-fallback",
                                           "gemma", "prepend-added",
                                           "metaspace-added", "nfc-added",
                                           "prefix-added"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Tokenizer, SpecialTokensInTextAreTextAndCounted) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  uint64_t count = 0;
  EXPECT_GT(loaded.encode("<|end|>", {false, nullptr, &count}).size(), 1u);
  EXPECT_EQ(count, 1u);
  loaded.encode("a <|end|><|end|>", {false, nullptr, &count});
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(loaded.encode("<|end|>", {true, nullptr, &count}),
            std::vector<int32_t>{0});
  EXPECT_EQ(count, 3u);
}

TEST(Tokenizer, MarkedSpecialTokensAreText) {
  for (const char *kind : {"prepend-added", "nfc-added"}) {
    LoadedTokenizer loaded(goldenTokenizer(kind));
    const std::string text = "e\xCC\x81 [S] x [S]"; // [S] is normalized
    const std::vector<size_t> first = {4}, both = {4, 10}, none;
    const auto encode = [&](const std::vector<size_t> &marks) {
      return loaded.encode(text, {true, &marks, nullptr});
    };
    EXPECT_EQ(encode(none), loaded.encode(text, {true, nullptr, nullptr}));
    EXPECT_EQ(encode(both), loaded.encode(text));
    EXPECT_NE(encode(first), encode(none)) << kind;
    EXPECT_NE(encode(first), encode(both)) << kind;
  }
}

namespace {
/// Ids with the ends of their tokens.
class EndSink : public IdSink {
public:
  bool wantsEnds() const override { return true; }
  bool appendOne(int32_t id, size_t end) override {
    ids.push_back(id);
    ends.push_back(end);
    return true;
  }
  std::vector<size_t> ends;
};
} // namespace

TEST_P(GoldenTokenizer, TokensEndInTheText) {
  LoadedTokenizer loaded(goldenTokenizer(GetParam()));
  for (const Json &test :
       readLines(goldenTokenizer(GetParam()) + "/cases.jsonl")) {
    const std::string &text = test.find("text")->string();
    EndSink sink;
    ASSERT_TRUE(
        loaded.tokenizer.encode(text, "text", sink, loaded.scratch, {true})
            .isOk());
    EXPECT_EQ(sink.ids, loaded.encode(text, {true}));
    for (size_t i = 0; i < sink.ends.size(); ++i)
      EXPECT_TRUE(sink.ends[i] > 0 && sink.ends[i] <= text.size()) << text;
    if (!sink.ends.empty())
      EXPECT_EQ(sink.ends.back(), text.size()) << text;
  }
}

// More than one window; a token at a border must be found as elsewhere.
TEST(Tokenizer, AddedTokensAreFoundAcrossWindows) {
  for (const char *kind : {"gemma", "prepend-added", "metaspace-added",
                           "nfc-added", "prefix-added"}) {
    LoadedTokenizer loaded(goldenTokenizer(kind));
    const std::string line =
        "stone [L]  of[R] \n  cafe\xCC\x81 [INST]\n\n\nblade"
        "<mask>  the stone<table>";
    const std::vector<int32_t> one = loaded.encode(line);
    std::vector<int32_t> more = loaded.encode(line + line);
    ASSERT_TRUE(std::equal(one.begin(), one.end(), more.begin())) << kind;
    more.erase(more.begin(), more.begin() + ptrdiff_t(one.size()));
    std::string text = line;
    std::vector<int32_t> expected = one;
    while (text.size() < 1500000) {
      text += line;
      expected.insert(expected.end(), more.begin(), more.end());
    }
    EXPECT_EQ(loaded.encode(text) == expected, true) << kind;
  }
}

/// The hash of names in a tokenizer table.
static uint32_t fnv1a(const std::string &name) {
  uint32_t hash = 2166136261u;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 16777619u;
  return hash ^ hash >> 15;
}

TEST(Tokenizer, RefusesTokensThatWereChosenToCollide) {
  TokenizerDefinition definition;
  for (int i = 0; definition.tokens.size() < 1200; ++i)
    if (std::string name = "t" + std::to_string(i); fnv1a(name) % 2048 == 7)
      definition.tokens.push_back(name);
  definition.unreachable.assign(1200, false);
  Result<std::string> table = writeTokenizerTable(definition, "place");
  ASSERT_FALSE(table.isOk());
  EXPECT_EQ(table.status().errorCode(), ErrorCode::BadTokenizer);
  EXPECT_EQ(table.status().message().place, "place");
  EXPECT_NE(table.status().message().problem.find("collide"),
            std::string::npos);
}

TEST(Tokenizer, RefusesMergesThatWereChosenToCollide) {
  TokenizerDefinition definition;
  for (int i = 0; i < 2000; ++i)
    definition.tokens.push_back("t" + std::to_string(i));
  definition.unreachable.assign(2000, false);
  EXPECT_TRUE(writeTokenizerTable(definition, "place").isOk());
  for (uint32_t left = 0; left < 2000; ++left)
    for (uint32_t right = 0; right < 2000; ++right)
      if (definition.merges.size() < 1200 &&
          MergeTable::hash(left, right) % 2048 == 7)
        definition.merges.push_back({left, right, 0});
  ASSERT_EQ(definition.merges.size(), 1200u);
  EXPECT_FALSE(writeTokenizerTable(definition, "place").isOk());
}

TEST(Tokenizer, RefusesATableWithALongAddedToken) {
  TokenizerDefinition definition;
  definition.tokens = {"a"};
  definition.unreachable = {false};
  for (size_t size : {AddedTokens::LongestText, AddedTokens::LongestText + 1}) {
    definition.added = {{0, 0, std::string(size, 'a')}};
    Result<std::string> block = writeTokenizerTable(definition, "place");
    ASSERT_TRUE(block.isOk());
    Result<TokenizerTable> table = TokenizerTable::open(block.value(), "place");
    EXPECT_EQ(table.isOk(), size == AddedTokens::LongestText);
    if (!table.isOk())
      EXPECT_NE(table.status().message().problem.find("too long"),
                std::string::npos);
  }
}

TEST(Tokenizer, ReadsTemplateAndEos) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  const TokenizerTable &table = loaded.tokenizer.contents();
  ASSERT_EQ(table.beforeCount(), 1u);
  EXPECT_EQ(table.before(0), 1u);
  EXPECT_EQ(table.afterCount(), 0u);
  EXPECT_EQ(loaded.tokenizer.eosToken(), 2);
}

TEST(Tokenizer, EmptyTextHasNoTokens) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  EXPECT_TRUE(loaded.encode("").empty());
}

TEST(Tokenizer, InvalidUtf8NamesTheByte) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  IdSink sink;
  Status status =
      loaded.tokenizer.encode("abc\xFF", "data.txt", sink, loaded.scratch);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), ErrorCode::DataNotUtf8);
  EXPECT_NE(status.render().find("data.txt: expected UTF-8 text but byte 3"),
            std::string::npos)
      << status.render();
  EXPECT_NE(status.render().find("\n  help: " + utf8Remedy()),
            std::string::npos)
      << status.render();
}

// Each text here is one piece; a quadratic merge would take minutes.
TEST(Tokenizer, TheLongestPieceTakesNoTime) {
  for (const char *kind : {"gpt2", "qwen2", "byte-fallback"}) {
    LoadedTokenizer loaded(goldenTokenizer(kind));
    for (const char *unit : {"e", " ", "\xE7\x9F\xB3", "!"}) {
      std::string text;
      while (text.size() + strlen(unit) < Tokenizer::LongestPiece)
        text += unit;
      const auto began = std::chrono::steady_clock::now();
      const std::vector<int32_t> ids = loaded.encode(text);
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - began;
      EXPECT_LT(took.count(), 5.0) << kind;
      std::string decoded = loaded.tokenizer.decode(ids.data(), ids.size());
      EXPECT_EQ(decoded == text, true) << kind << " " << unit;
    }
  }
}

TEST(Tokenizer, EndlessWordIsRefused) {
  LoadedTokenizer loaded(goldenTokenizer("qwen2"));
  std::string text(Tokenizer::LongestPiece + 100, 'e');
  for (const char *start : {"", "e\xCC\x81"}) { // as it lies, and normalised
    IdSink sink;
    Status status =
        loaded.tokenizer.encode(start + text, "data.txt", sink, loaded.scratch);
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(status.errorCode(), ErrorCode::NoWordBoundary);
  }
}

/// `block` as a table that says nothing of where text may be cut.
static std::string withoutBorders(std::string block) {
  uint32_t header[13];
  std::memcpy(header, block.data() + 8, sizeof header);
  header[1] -= header[7]; // as many bytes as merge slots, before added tokens
  header[3] = uint32_t(PreTokenizerKind::None);
  std::memcpy(&block[8], header, sizeof header);
  const size_t added = header[11] * AddedTokens::EntryBytes + header[12];
  return block.erase(header[1] - added, header[7]);
}

TEST(Tokenizer, CutsAtBordersChangeNoId) {
  Result<std::string> block =
      buildTokenizerTable(goldenTokenizer("byte-fallback"));
  ASSERT_TRUE(block.isOk());
  const std::string whole = withoutBorders(block.value());
  Tokenizer cut = Tokenizer::fromTable(block.value()).value();
  Tokenizer uncut = Tokenizer::fromTable(whole).value();
  EXPECT_EQ(cut.contents().preTokenizer(), PreTokenizerKind::UnmergedBorder);
  // Tokens one after another, with and without spaces, and texts that are no
  // token.
  std::mt19937 random(1);
  TokenizerScratch scratch;
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    while (text.size() < 2000)
      text += random() % 8 == 0
                  ? std::string("\xE7\x9F\xB3")
                  : std::string(cut.contents().token(
                        259 + random() % (cut.vocabularySize() - 259)));
    IdSink pieces, one;
    ASSERT_TRUE(cut.encode(text, "text", pieces, scratch).isOk());
    ASSERT_TRUE(uncut.encode(text, "text", one, scratch).isOk());
    ASSERT_EQ(pieces.ids, one.ids) << text;
  }
}

TEST(Tokenizer, TextWithoutSpacesIsCutAtBorders) {
  LoadedTokenizer loaded(goldenTokenizer("byte-fallback"));
  std::string text; // letters and characters without tokens: 1 MiB
  while (text.size() < (1u << 20))
    text += "the\xE7\x9F\xB3\xE7\xA0\x81Qx";
  IdSink sink;
  Status status =
      loaded.tokenizer.encode(text, "data.txt", sink, loaded.scratch);
  EXPECT_TRUE(status.isOk()) << status.render();
  EXPECT_EQ(loaded.tokenizer.decode(sink.ids.data(), sink.ids.size()) == text,
            true);
}

TEST(Tokenizer, LongTextEqualsItsLines) {
  // More than one window, with a character that is normalised in each line.
  LoadedTokenizer loaded(goldenTokenizer("qwen2"));
  const std::string line = "the blade gets thinner, cafe\xCC\x81 12\n";
  const std::vector<int32_t> one = loaded.encode(line);
  std::string text;
  std::vector<int32_t> expected;
  for (int i = 0; i < 20000; ++i) {
    text += line;
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(loaded.encode(text), expected);
}

//===----------------------------------------------------------------------===//
// Hostile tables
//===----------------------------------------------------------------------===//

TEST(TokenizerTable, WorksAtAnyAlignment) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  const std::string shifted = "x" + loaded.block;
  Result<Tokenizer> opened =
      Tokenizer::fromTable(std::string_view(shifted).substr(1));
  ASSERT_TRUE(opened.isOk());
  IdSink sink;
  ASSERT_TRUE(
      opened.value().encode("the blade", "text", sink, loaded.scratch).isOk());
  EXPECT_EQ(sink.ids, loaded.encode("the blade"));
}

TEST(TokenizerTable, EveryTruncationIsRefused) {
  LoadedTokenizer loaded(goldenTokenizer("gpt2"));
  for (size_t size = 0; size < loaded.block.size(); size += 13) {
    const std::string cut = loaded.block.substr(0, size);
    EXPECT_EQ(Tokenizer::fromTable(cut).status().errorCode(),
              ErrorCode::BadTokenizerTable)
        << size;
  }
}

// With any bytes a table is refused or encodes within its bounds; the
// sanitizers watch.
TEST(TokenizerTable, DamagedWordsAreHarmless) {
  LoadedTokenizer loaded(goldenTokenizer("nfc-added"));
  uint32_t random = 12345;
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = loaded.block;
    random = random * 1664525u + 1013904223u;
    const size_t at = round < 60    ? size_t(round)
                      : round < 600 ? damaged.size() - 4 - size_t(round - 60)
                                    : (random >> 4) % (damaged.size() - 4);
    const uint32_t values[] = {0, 0xFFFFFFFF, 0x7FFFFFFF, random};
    std::memcpy(&damaged[at], &values[round % 4], 4);
    Result<Tokenizer> opened = Tokenizer::fromTable(damaged);
    if (!opened.isOk())
      continue;
    ++accepted;
    IdSink sink;
    EXPECT_TRUE(opened.value()
                    .encode("it's the 12[INST] blades [L]\n", "text", sink,
                            loaded.scratch)
                    .isOk());
    for (int32_t id : sink.ids)
      EXPECT_LT(uint32_t(id), opened.value().vocabularySize());
  }
  EXPECT_GT(accepted, 0);
}

//===----------------------------------------------------------------------===//
// Refusals, by name
//===----------------------------------------------------------------------===//

static void expectRefused(const TemporaryFolder &folder,
                          const std::string &expected) {
  Result<std::string> built = buildTokenizerTable(folder.path);
  ASSERT_FALSE(built.isOk()) << expected;
  EXPECT_NE(built.status().render().find(expected), std::string::npos)
      << built.status().render();
  EXPECT_FALSE(built.status().message().remedy.empty());
}

/// The golden tokenizer `kind` with `from` replaced by `to`.
static void expectChangeRefused(const char *kind, const std::string &from,
                                const std::string &to,
                                const std::string &expected) {
  std::string text = readAll(goldenTokenizer(kind) + "/tokenizer.json");
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  TemporaryFolder folder;
  folder.write("tokenizer.json", text.replace(at, from.size(), to));
  expectRefused(folder, expected);
}

TEST(TokenizerBuilder, FolderWithoutTokenizerIsEmpty) {
  TemporaryFolder folder;
  Result<std::string> built = buildTokenizerTable(folder.path);
  ASSERT_TRUE(built.isOk());
  EXPECT_TRUE(built.value().empty());
}

TEST(TokenizerBuilder, RefusesWhatItDoesNotKnow) {
  expectChangeRefused("gpt2", "\"type\":\"BPE\"", "\"type\":\"Unigram\"",
                      "the tokenizer model \"Unigram\" is not supported");
  expectChangeRefused("qwen2", "\"type\":\"NFC\"", "\"type\":\"NFKC\"",
                      "the normalizer \"NFKC\"");
  expectChangeRefused("qwen2", "\\\\p{N}|", "\\\\p{N}{1,2}|",
                      "the pre-tokenizer's regular expression");
  expectChangeRefused("gpt2", "\"type\":\"ByteLevel\"",
                      "\"type\":\"Whitespace\"",
                      "the pre-tokenizer \"Whitespace\"");
  expectChangeRefused("qwen2", "\"behavior\":\"Isolated\"",
                      "\"behavior\":\"Removed\"",
                      "the pre-tokenizer \"Split\"");
  expectChangeRefused("gpt2", "\"dropout\":null", "\"dropout\":0.1",
                      "the BPE setting \"dropout\"");
  expectChangeRefused("byte-fallback", "\"type\":\"TemplateProcessing\"",
                      "\"type\":\"BertProcessing\"",
                      "the post-processor \"BertProcessing\"");
  expectChangeRefused("byte-fallback", "\"<0x41>\"", "\"<0x4G>\"",
                      "no token for the byte <0x41>");
}

TEST(TokenizerBuilder, RefusesAddedTokensThatItDoesNotKnow) {
  const std::string inst = "\"content\":\"[INST]\",\"single_word\":";
  expectChangeRefused("prepend-added", inst + "false", inst + "true",
                      "the added token \"[INST]\" has single_word");
  expectChangeRefused("prepend-added", "{\"id\":416,", "{\"id\":417,",
                      "but Hugging Face's library gives it 416");
  expectChangeRefused("gpt2", "\"trim_offsets\":true,", "",
                      "the pre-tokenizer \"ByteLevel\" with these settings");
  expectChangeRefused("byte-fallback", "{\"type\":\"Replace\"",
                      "{\"type\":\"Prepend\",\"prepend\":\"\xE2\x96\x81\"},"
                      "{\"type\":\"Replace\"",
                      "the normalizer \"Prepend\"");
}

TEST(TokenizerBuilder, SettingsThatDisagreeOfATokenAreRefused) {
  const auto build = [](const std::string &flags) {
    TemporaryFolder folder;
    folder.write("tokenizer.json",
                 readAll(goldenTokenizer("prepend-added/tokenizer.json")));
    folder.write("tokenizer_config.json",
                 "{\"added_tokens_decoder\": {\"409\": {\"content\": "
                 "\"[INST]\", \"single_word\": false, " +
                     flags + "}}}");
    return buildTokenizerTable(folder.path).status();
  };
  const std::string strips = "\"lstrip\": false, \"rstrip\": false, ";
  EXPECT_TRUE(
      build(strips + "\"normalized\": true, \"special\": false").isOk());
  for (const std::string &flags :
       {strips + "\"normalized\": false, \"special\": false",
        std::string("\"lstrip\": true, \"rstrip\": false, "
                    "\"normalized\": true, \"special\": false")})
    EXPECT_NE(build(flags).render().find("is another one in tokenizer.json"),
              std::string::npos)
        << flags;
}

TEST(TokenizerBuilder, NamesTheDamage) {
  expectChangeRefused("gpt2", "\"merges\":[\"", "\"merges\":[\"q\",\"",
                      "expected a merge as");
  expectChangeRefused("gpt2", "\"merges\":[\"", "\"merges\":[\"zz y\",\"",
                      "which the vocabulary does not have");
  expectChangeRefused("gpt2", "\"!\":1", "\"!\":2", "is given to two tokens");
  expectChangeRefused("gpt2", "\"!\":1", "\"!\":-1", "expected an id from 0");
  expectChangeRefused("gpt2", "\"!\":1", "\"!\":99999999999",
                      "expected an id from 0");
  expectChangeRefused("gpt2", "\"!\":1", "\"!\":\"1\"",
                      "expected an integer id");
  // A name may be as long as the file.
  std::string name;
  for (int i = 0; i < 100; ++i)
    name += "\u20ac";
  expectChangeRefused("gpt2", "\"!\":1", "\"" + name + "\":-1,\"!\":1",
                      "expected an id from 0");
  expectChangeRefused("gpt2", "\"!\":1", "\"" + name + "\":\"1\",\"!\":1",
                      "for \"" + name.substr(0, 78) + "...\" but found");
}

/// Splits a golden byte-level tokenizer into vocab.json and merges.txt.
static void writeVocabAndMerges(const TemporaryFolder &folder,
                                const std::string &ending) {
  const std::string path = goldenTokenizer("gpt2") + "/tokenizer.json";
  Result<Json> root = Json::parse(readAll(path), path);
  ASSERT_TRUE(root.isOk());
  const Json *model = root.value().find("model");
  std::string vocab = "{", merges = "#version: 0.2" + ending;
  for (const auto &[name, id] : model->find("vocab")->object()) {
    vocab += vocab.size() == 1 ? "" : ",";
    vocab += jsonString(name) + ":" + std::to_string(id.integer());
  }
  for (const Json &merge : model->find("merges")->array())
    merges += merge.string() + ending;
  folder.write("vocab.json", vocab + "}");
  folder.write("merges.txt", merges);
}

TEST(TokenizerBuilder, VocabAndMergesFollowTheClass) {
  const std::string text = "IT'S the 12 blades";
  for (const char *ending : {"\n", "\r\n"}) {
    TemporaryFolder folder;
    writeVocabAndMerges(folder, ending);
    expectRefused(folder, "the way to split text is unknown");
    folder.write("config.json", R"({"model_type":"opt"})");
    EXPECT_EQ(LoadedTokenizer(folder.path).encode(text),
              LoadedTokenizer(goldenTokenizer("gpt2")).encode(text));
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class":"Qwen2Tokenizer"})");
    EXPECT_EQ(LoadedTokenizer(folder.path).tokenizer.contents().preTokenizer(),
              PreTokenizerKind::Qwen2);
  }
}

TEST(TokenizerBuilder, ConfigAddsTokensBosAndEos) {
  TemporaryFolder folder;
  writeVocabAndMerges(folder, "\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer",
    "added_tokens_decoder":{"400":{"content":"<bos>"},"401":{"content":"<eos>"}},
    "add_bos_token":true,"bos_token":"<bos>","eos_token":{"content":"<eos>"}})");
  LoadedTokenizer loaded(folder.path);
  EXPECT_EQ(loaded.tokenizer.vocabularySize(), 402u);
  EXPECT_EQ(loaded.tokenizer.contents().before(0), 400u);
  EXPECT_EQ(loaded.tokenizer.eosToken(), 401);
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer",
    "eos_token":"<none>"})");
  expectRefused(folder, "which is not a token of this tokenizer");
}

TEST(TokenizerBuilder, HalfOfAPairIsAnError) {
  TemporaryFolder folder;
  folder.write("vocab.json", "{}");
  expectRefused(folder,
                "merges.txt: vocab.json and merges.txt make a tokenizer");
}

//===----------------------------------------------------------------------===//
// A real tokenizer
//===----------------------------------------------------------------------===//

TEST(Tokenizer, Stories260kMatchesItsExamples) {
  const char *shared = std::getenv("HONE_SHARED");
  if (shared == nullptr || *shared == '\0')
    GTEST_SKIP() << "HONE_SHARED is not set";
  const std::string folder = std::string(shared) + "/data/stories260k";
  LoadedTokenizer loaded(folder);
  EXPECT_EQ(loaded.tokenizer.vocabularySize(), 512u);
  EXPECT_EQ(loaded.tokenizer.contents().preTokenizer(),
            PreTokenizerKind::UnmergedBorder);
  const std::string path = folder + "/generation_sample.json";
  Result<Json> sample = Json::parse(readAll(path), path);
  ASSERT_TRUE(sample.isOk());
  for (const Json &example :
       sample.value().find("tokenizer_examples_without_bos")->array())
    EXPECT_EQ(loaded.encode(example.find("text")->string()),
              idsOf(example.find("ids")));
}
