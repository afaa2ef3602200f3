//===- JsonTest.cpp - Valid JSON, invalid JSON, and its position ----------===//
//
// The tests include positions in messages.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/JsonReader.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hone::rt;

static Json accept(const std::string &text) {
  Result<Json> json = Json::parse(text, "f.json");
  EXPECT_TRUE(json.isOk()) << text << "\n" << json.status().render();
  return json.value();
}

/// Expects an error at `place` whose problem contains `problem`.
static void refuse(const std::string &text, const std::string &place,
                   const std::string &problem) {
  Result<Json> json = Json::parse(text, "f");
  ASSERT_FALSE(json.isOk()) << text;
  EXPECT_EQ(json.status().errorCode(), ErrorCode::BadJson);
  EXPECT_EQ(json.status().message().place, place) << text;
  EXPECT_NE(json.status().message().problem.find(problem), std::string::npos)
      << json.status().render();
  EXPECT_FALSE(json.status().message().remedy.empty());
}

TEST(JsonTest, ReadsEveryKind) {
  Json json = accept(" {\"a\" : [null, true, false, -1.5e3, \"x\", {}, []]}\n");
  const std::vector<Json> &items = json.find("a")->array();
  ASSERT_EQ(items.size(), 7u);
  EXPECT_TRUE(items[0].isNull());
  EXPECT_TRUE(items[1].boolean());
  EXPECT_TRUE(items[2].isBool());
  EXPECT_FALSE(items[2].boolean());
  EXPECT_EQ(items[3].number(), -1500);
  EXPECT_EQ(items[4].string(), "x");
  EXPECT_TRUE(items[5].isObject());
  EXPECT_TRUE(items[6].isArray());
  EXPECT_EQ(json.find("b"), nullptr);
  EXPECT_EQ(items[0].find("b"), nullptr);
}

TEST(JsonTest, KeepsTheOrderOfMembers) {
  Json json = accept("{\"z\":1,\"a\":2}");
  EXPECT_EQ(json.object()[0].first, "z");
  EXPECT_EQ(json.object()[1].first, "a");
}

TEST(JsonTest, TellsIntegersFromOtherNumbers) {
  EXPECT_TRUE(accept("9223372036854775807").isInteger());
  EXPECT_EQ(accept("9223372036854775807").integer(), INT64_MAX);
  EXPECT_EQ(accept("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_FALSE(accept("9223372036854775808").isInteger());
  EXPECT_EQ(accept("9223372036854775808").number(), 0x1p63);
  EXPECT_FALSE(accept("1.0").isInteger());
  EXPECT_FALSE(accept("1e3").isInteger());
  EXPECT_TRUE(std::signbit(accept("-0").number()));
}

TEST(JsonTest, RoundsNumbersCorrectlyAndTellsLargeFromSmall) {
  EXPECT_EQ(accept("0.1").number(), 0.1);
  EXPECT_EQ(accept("1.7976931348623157e308").number(), 1.7976931348623157e308);
  EXPECT_EQ(accept("5e-324").number(), 5e-324);
  EXPECT_EQ(accept("1e-99999999999999999999").number(), 0);
  EXPECT_EQ(accept("0." + std::string(400, '0') + "1").number(), 0);
  EXPECT_EQ(accept("0e99999").number(), 0);
  refuse("1e309", "f:1:1", "below 1.8e308");
  refuse("[-1e99999999999999999999]", "f:1:2", "below 1.8e308");
  refuse(std::string(400, '9'), "f:1:1", "below 1.8e308");
}

TEST(JsonTest, RefusesMalformedNumbers) {
  refuse("01", "f:1:1", "leading zeros");
  refuse("-", "f:1:2", "a digit");
  refuse("1.", "f:1:3", "a digit after '.'");
  refuse(".5", "f:1:1", "a value");
  refuse("+1", "f:1:1", "a value");
  refuse("1e", "f:1:3", "exponent");
  refuse("0x10", "f:1:2", "the end");
  refuse("NaN", "f:1:1", "a value");
  refuse("Infinity", "f:1:1", "a value");
}

TEST(JsonTest, DecodesEscapesAndSurrogatePairs) {
  EXPECT_EQ(accept(R"("\"\\\/\b\f\n\r\t")").string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(accept(R"("\u0041\u00e9\u20AC\uD83D\uDE00")").string(),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(accept(R"("\u0000")").string(), std::string(1, '\0'));
  refuse(R"("\x")", "f:1:3", "after '\\'");
  refuse(R"("\u12g4")", "f:1:6", "hexadecimal");
}

TEST(JsonTest, RefusesLoneSurrogates) {
  refuse(R"("\ud800")", "f:1:2", "lone");
  refuse(R"("\udc00")", "f:1:2", "lone");
  refuse(R"("\ud800\u0041")", "f:1:2", "lone");
  refuse(R"("\ud800\n")", "f:1:2", "lone");
}

TEST(JsonTest, RefusesStringsThatAreNotUtf8) {
  for (const char *bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
        "\xC3", "\xE2\x82"})
    refuse(std::string("\"") + bad + "\"", "f:1:2", "UTF-8");
  EXPECT_EQ(accept("\"\xF4\x8F\xBF\xBF\"").string(), "\xF4\x8F\xBF\xBF");
}

TEST(JsonTest, RefusesControlCharactersInStrings) {
  refuse("\"a\nb\"", "f:1:3", "escaped");
  refuse(std::string("\"a\0b\"", 5), "f:1:3", "escaped");
}

TEST(JsonTest, NamesLineAndColumn) {
  refuse("{\n  \"a\": 1,\n  \"b\" 2\n}", "f:3:7", "':'");
  refuse("", "f:1:1", "found the end");
  refuse("[1,]", "f:1:4", "a value");
  refuse("{\"a\":1,}", "f:1:8", "a key");
  refuse("[1 2]", "f:1:4", "',' or ']'");
  refuse("{'a':1}", "f:1:2", "a key");
  refuse("[", "f:1:2", "found the end");
  refuse("\"abc", "f:1:1", "closing");
  refuse("nul", "f:1:1", "another word");
  refuse("1 2", "f:1:3", "the end");
  refuse("\xEF\xBB\xBF{}", "f:1:1", "byte order mark");
  EXPECT_EQ(accept("{\n \"a\": 5}").find("a")->line(), 2u);
  EXPECT_EQ(accept("{\n \"a\": 5}").find("a")->column(), 7u);
}

TEST(JsonTest, RefusesDuplicateKeysAtTheSecond) {
  refuse("{\"a\":1,\n\"b\":{\"a\":2},\n \"a\":3}", "f:3:2", "\"a\" again");
  refuse(R"({"a":1,"\u0061":2})", "f:1:8", "\"a\" again");
  accept(R"({"a":1,"b":{"a":2}})");
}

TEST(JsonTest, ManyKeysTakeNoQuadraticTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i)
    text += "\"k" + std::to_string(i) + "\":0,";
  accept(text + "\"last\":0}");
  refuse(text + "\"k0\":0}", "f:1:" + std::to_string(text.size() + 1), "again");
}

TEST(JsonTest, RefusesNestingBeyond64) {
  accept(std::string(64, '[') + std::string(64, ']'));
  refuse(std::string(65, '[') + std::string(65, ']'), "f:1:65", "64 levels");
  refuse(std::string(1000000, '['), "f:1:65", "64 levels");
}

TEST(JsonTest, RefusesTooManyValues) {
  JsonReader reader("[1,2,3]", "f");
  reader.limitTree(2);
  Json json;
  EXPECT_FALSE(reader.value(json));
  EXPECT_NE(reader.status().message().problem.find("at most 2 values"),
            std::string::npos);
}

TEST(JsonTest, MembersThatNobodyAsksForAreCheckedAndNotKept) {
  const std::string begin = R"({"a":[1,2,{"x":"\u00e9"}],)"
                            "\n"
                            R"("b":5,"c":[)";
  const std::string sound = begin + "null,true,-1e5]}";
  const std::string damaged = begin + "nul]}";
  auto onlyB = [](const std::string &key) { return key == "b"; };
  JsonReader reader(sound, "f");
  reader.limitTree(1);
  Json json;
  ASSERT_TRUE(reader.members(json, onlyB) && reader.finish());
  ASSERT_EQ(json.object().size(), 1u);
  EXPECT_EQ(json.find("b")->integer(), 5);

  JsonReader stopped(damaged, "f");
  EXPECT_FALSE(stopped.members(json, onlyB));
  EXPECT_EQ(stopped.status().message().place, "f:2:12");
}

TEST(JsonTest, ReaderGoesBackToAValue) {
  JsonReader reader("{\n \"a\": [7],\n \"b\": 1}", "f");
  uint64_t a = 0;
  Json json;
  ASSERT_TRUE(reader.members(json, [&](const std::string &key) {
    if (key == "a")
      a = reader.lastValue();
    return false;
  }));
  EXPECT_TRUE(reader.finish());
  reader.seek(a);
  ASSERT_TRUE(reader.value(json));
  EXPECT_EQ(json.array().at(0).integer(), 7);
  EXPECT_EQ(json.line(), 2u);
  EXPECT_EQ(json.column(), 7u);
}

TEST(JsonTest, WritesStringsThatReadBackTheSame) {
  std::string all;
  for (int c = 0; c < 128; ++c)
    all += char(c);
  all += "\xE2\x82\xAC";
  std::string text = jsonString(all);
  EXPECT_EQ(accept(text).string(), all);
  text.clear();
  text += jsonString("a\xFFz");
  EXPECT_EQ(text, "\"a\\ufffdz\"");
}

TEST(JsonTest, ReaderNamesBytesInsideABinaryFile) {
  JsonReader reader("{\"a\":-1}", "w", ErrorCode::BadJson,
                    JsonReader::Position::ByteOffset, 8);
  std::string key;
  int64_t value;
  ASSERT_TRUE(reader.beginObject());
  ASSERT_TRUE(reader.nextMember(key));
  EXPECT_FALSE(reader.unsignedInteger(value));
  EXPECT_EQ(reader.status().message().place, "w: byte 13");
  EXPECT_FALSE(reader.nextMember(key));
}
