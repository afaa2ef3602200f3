//===- SafetensorsTest.cpp - Legal oddities and malformed files -----------===//
//
// Files are built byte by byte: the writer could not make the broken ones.
//
//===----------------------------------------------------------------------===//

#include "formats/Safetensors.h"
#include "TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace hone::rt;

/// u64le size of `header`, `header`, `buffer`.
static std::string build(const std::string &header, const std::string &buffer) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(uint64_t(header.size()) >> (8 * i));
  return bytes + header + buffer;
}

static std::string zeros(size_t size) { return std::string(size, '\0'); }

static Result<SafetensorsHeader> parse(const std::string &bytes) {
  return SafetensorsHeader::parse(bytes, bytes.size(), "m");
}

static SafetensorsHeader accept(const std::string &header, size_t bufferBytes) {
  Result<SafetensorsHeader> r = parse(build(header, zeros(bufferBytes)));
  EXPECT_TRUE(r.isOk()) << header << "\n" << r.status().render();
  return r.value();
}

static void refuseBytes(const std::string &bytes, const std::string &place,
                        const std::string &problem) {
  Result<SafetensorsHeader> r = parse(bytes);
  ASSERT_FALSE(r.isOk()) << bytes.substr(0, 200);
  const Message &m = r.status().message();
  EXPECT_EQ(r.status().errorCode(), ErrorCode::BadSafetensors);
  EXPECT_EQ(m.place, place) << m.problem;
  EXPECT_NE(m.problem.find(problem), std::string::npos) << m.problem;
  EXPECT_FALSE(m.remedy.empty());
}

static void refuse(const std::string &header, size_t bufferBytes,
                   const std::string &place, const std::string &problem) {
  SCOPED_TRACE(header.substr(0, 200));
  refuseBytes(build(header, zeros(bufferBytes)), place, problem);
}

/// One F32 tensor "a" of shape [n] at [begin, end).
static std::string entry(const std::string &name, int n, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"F32","shape":[)" + std::to_string(n) +
         R"(],"data_offsets":[)" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

//===----------------------------------------------------------------------===//
// Legal
//===----------------------------------------------------------------------===//

TEST(SafetensorsTest, ReadsTensorsAndMetadata) {
  SafetensorsHeader h =
      accept(R"({"__metadata__":{"format":"pt","k":""},)" +
                 entry("b", 2, 0, 8) + "," + entry("a", 1, 8, 12) + "}",
             12);
  ASSERT_EQ(h.tensors.size(), 2u);
  EXPECT_EQ(h.tensors[0].name, "b");
  EXPECT_EQ(h.find("a")->begin, 8u);
  EXPECT_EQ(h.find("b")->shape, std::vector<int64_t>{2});
  EXPECT_EQ(h.find("c"), nullptr);
  EXPECT_EQ(*h.findMetadata("format"), "pt");
  EXPECT_EQ(h.findMetadata("x"), nullptr);
}

TEST(SafetensorsTest, AcceptsLegalOddities) {
  accept("{}", 0);
  accept("{}   ", 0);
  accept("{ } \n\t\r", 0);
  accept(R"({"__metadata__":{}})", 0);
  accept(R"({"__metadata__":null})", 0);
  // Unpadded header, keys in any order, white space, escapes.
  accept(R"({"a":{"data_offsets":[0,4],"shape":[ ],"dtype":"F32"}})", 4);
  accept(R"({"\u0061":{"\u0064type":"\u00463\u0032","shape":[1],)"
         R"("data_offsets":[0,4]}})",
         4);
  // Tensors out of order in the header.
  accept("{" + entry("x", 1, 4, 8) + "," + entry("y", 1, 0, 4) + "}", 8);
  // Any name, an empty one too.
  accept("{" + entry("", 1, 0, 4) + "}", 4);
  // Keys that are not known are passed over.
  accept(R"({"a":{"dtype":"U8","extra":{"x":[1,{}]},"shape":[1],)"
         R"("data_offsets":[0,1]}})",
         1);
}

TEST(SafetensorsTest, AcceptsRankZeroAndEmptyTensors) {
  SafetensorsHeader h =
      accept(R"({"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
             R"("e":{"dtype":"F64","shape":[0],"data_offsets":[8,8]},)"
             R"("f":{"dtype":"F64","shape":[3,0,9223372036854775807],)"
             R"("data_offsets":[0,0]},)"
             R"("g":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})",
             8);
  EXPECT_EQ(h.find("s")->elements(), 1u);
  EXPECT_EQ(h.find("e")->elements(), 0u);
  EXPECT_EQ(h.find("f")->elements(), 0u);
}

TEST(SafetensorsTest, AcceptsTypesNarrowerThanAByteThatEndOnOne) {
  accept(R"({"a":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}})", 3);
  accept(R"({"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3);
  refuse(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2,
         "m: tensor \"a\"", "whole number of bytes");
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

TEST(SafetensorsTest, RefusesAFileShorterThanItsSizeField) {
  for (int size = 0; size < 8; ++size)
    refuseBytes(zeros(size), "m", "at least 8 bytes");
}

TEST(SafetensorsTest, RefusesAHeaderLargerThanTheFileOrTheLimit) {
  std::string bytes = build("{}", "");
  bytes[0] = 3;
  refuseBytes(bytes, "m: byte 0", "fits in the 2 bytes");
  refuseBytes(std::string(8, '\xff'), "m: byte 0", "at most 100000000");
  std::string justOver = zeros(8);
  uint64_t size = 100000001;
  std::memcpy(justOver.data(), &size, 8);
  refuseBytes(justOver, "m: byte 0", "at most 100000000");
}

TEST(SafetensorsTest, LimitsOfHeadersGrowWithTheirTensors) {
  const uint64_t most = HeaderLimit::OfFormat;
  EXPECT_EQ(HeaderLimit::ample(0).bytes(), HeaderLimit::Least);
  EXPECT_EQ(HeaderLimit::ample(1'000'000).bytes(), 8'000'000u);
  EXPECT_EQ(HeaderLimit::ample(most).bytes(), most);
  const std::vector<TensorSpec> tensors(2000, {std::string(72, 'x')});
  EXPECT_EQ(HeaderLimit::of(tensors).bytes(), 2000 * 200 * 8u);
  EXPECT_EQ(HeaderLimit::of(tensors, 50).bytes(), 2000 * 250 * 8u);

  // No byte of a longer one is looked at.
  const std::string bytes = build(std::string(HeaderLimit::Least + 1, '?'), "");
  Result<SafetensorsHeader> r =
      SafetensorsHeader::parse(bytes, bytes.size(), "m", HeaderLimit::ample(0));
  ASSERT_FALSE(r.isOk());
  EXPECT_EQ(r.status().message().place, "m: byte 0");
  EXPECT_EQ(r.status().message().problem,
            "expected a header of at most 1048576 bytes, which is more than "
            "its tensors need, found 1048577");
  EXPECT_FALSE(r.status().message().remedy.empty());
}

TEST(SafetensorsTest, RefusesAHeaderThatDoesNotBeginWithABrace) {
  refuse("", 0, "m: byte 8", "empty header");
  refuse(" {}", 0, "m: byte 8", "byte value 32");
  refuse("[]", 0, "m: byte 8", "byte value 91");
  refuse("\xEF\xBB\xBF{}", 0, "m: byte 8", "byte value 239");
}

TEST(SafetensorsTest, RefusesBrokenJson) {
  refuse("{", 0, "m: byte 9", "found the end");
  refuse("{}x", 0, "m: byte 10", "the end");
  refuse("{}{}", 0, "m: byte 10", "the end");
  refuse(std::string("{}\0", 3), 0, "m: byte 10", "byte 0x00");
  refuse("{\"a\xff\":1}", 0, "m: byte 11", "UTF-8");
  refuse("{\"a\":}", 0, "m: byte 13", "a value");
}

TEST(SafetensorsTest, RefusesDeepNesting) {
  refuse("{\"a\":{\"x\":" + std::string(1000000, '['), 0, "m: byte 80",
         "64 levels");
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST(SafetensorsTest, RefusesAnEntryThatIsNoObject) {
  refuse(R"({"a":1})", 0, "m: byte 13", "expected an object, found a number");
  refuse(R"({"a":["F32",[1],[0,4]]})", 4, "m: byte 13", "an object");
  refuse(R"({"a":null})", 0, "m: byte 13", "an object");
}

TEST(SafetensorsTest, RefusesMissingFields) {
  refuse(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "m: byte 13",
         "\"dtype\" in tensor \"a\"");
  refuse(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "m: byte 13",
         "\"shape\" in tensor \"a\"");
  refuse(R"({"a":{"dtype":"F32","shape":[1]}})", 4, "m: byte 13",
         "\"data_offsets\" in tensor \"a\"");
}

TEST(SafetensorsTest, RefusesDuplicateKeysEverywhere) {
  refuse("{" + entry("a", 1, 0, 4) + "," + entry("a", 1, 4, 8) + "}", 8,
         "m: tensor \"a\"", "found it again");
  refuse("{" + entry("a", 1, 0, 4) + "," + entry("\\u0061", 1, 4, 8) + "}", 8,
         "m: tensor \"a\"", "found it again");
  refuse(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],)"
         R"("data_offsets":[0,1]}})",
         1, "m: byte 27", "\"dtype\" again");
  refuse(R"({"a":{"x":1,"x":1}})", 0, "m: byte 20", "\"x\" again");
  refuse(R"({"__metadata__":{},"__metadata__":{}})", 0, "m: byte 27", "again");
  refuse(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "m: __metadata__",
         "\"k\" again");
}

TEST(SafetensorsTest, RefusesMetadataThatIsNotStrings) {
  refuse(R"({"__metadata__":{"k":1}})", 0, "m: byte 29", "a string");
  refuse(R"({"__metadata__":{"k":null}})", 0, "m: byte 29", "a string");
  refuse(R"({"__metadata__":[]})", 0, "m: byte 24", "an object");
}

TEST(SafetensorsTest, RefusesUnknownDtypes) {
  for (const char *name : {"f32", "F31", "", "Q4_0"})
    refuse(std::string(R"({"a":{"dtype":")") + name +
               R"(","shape":[1],"data_offsets":[0,4]}})",
           4, "m: byte 22", "dtype");
  refuse(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4,
         "m: byte 22", "a string");
}

TEST(SafetensorsTest, RefusesNumbersThatAreNoSizes) {
  for (const char *n : {"-1", "-0", "1.0", "1e0", "9223372036854775808",
                        "99999999999999999999999"}) {
    std::string number = n;
    refuse(R"({"a":{"dtype":"U8","shape":[)" + number +
               R"(],"data_offsets":[0,1]}})",
           1, "m: byte 36", "an integer from 0");
    refuse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,)" + number +
               "]}}",
           1, "m: byte 57", "an integer from 0");
  }
  refuse(R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1,
         "m: byte 36", "a number");
  refuse(R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1,
         "m: byte 35", "an array");
}

TEST(SafetensorsTest, RefusesOtherThanTwoOffsets) {
  for (const char *offsets : {"[]", "[0]", "[0,1,1]"})
    refuse(std::string(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":)") +
               offsets + "}}",
           1,
           std::string(offsets) == "[0,1,1]"
               ? "m: byte 59"
               : "m: byte " + std::to_string(54 + std::strlen(offsets) - 1),
           "two data_offsets for tensor \"a\"");
}

//===----------------------------------------------------------------------===//
// The buffer
//===----------------------------------------------------------------------===//

TEST(SafetensorsTest, RefusesHoles) {
  refuse("{" + entry("a", 1, 4, 8) + "}", 8, "m: tensor \"a\"", "(a hole)");
  refuse("{" + entry("a", 1, 0, 4) + "," + entry("b", 1, 5, 9) + "}", 9,
         "m: tensor \"b\"", "begin at 4");
}

TEST(SafetensorsTest, RefusesOverlaps) {
  refuse("{" + entry("a", 2, 0, 8) + "," + entry("b", 1, 4, 8) + "}", 8,
         "m: tensor \"b\"", "(an overlap)");
  refuse("{" + entry("a", 1, 0, 4) + "," + entry("b", 1, 0, 4) + "}", 4,
         "m: tensor \"b\"", "(an overlap)");
}

TEST(SafetensorsTest, RefusesOffsetsThatRunBackwards) {
  refuse("{" + entry("a", 1, 0, 4) + "," + entry("b", 1, 4, 0) + "}", 4,
         "m: tensor \"b\"", "end at or after 4");
}

TEST(SafetensorsTest, RefusesSizesThatDoNotFitTheShape) {
  refuse("{" + entry("a", 2, 0, 4) + "}", 4, "m: tensor \"a\"",
         "expected 8 bytes for F32 [2], found data_offsets that span 4");
  refuse("{" + entry("a", 1, 0, 8) + "}", 8, "m: tensor \"a\"", "span 8");
  refuse("{" + entry("a", 0, 0, 4) + "}", 4, "m: tensor \"a\"", "span 4");
}

TEST(SafetensorsTest, RefusesSizesThatOverflow) {
  // 2^32 * 2^32 elements is 0 modulo 2^64.
  refuse(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],)"
         R"("data_offsets":[0,0]}})",
         0, "m: tensor \"a\"", "whole number of bytes below");
  // 2^61 F64 elements are 0 bits modulo 2^64.
  refuse(R"({"a":{"dtype":"F64","shape":[2305843009213693952],)"
         R"("data_offsets":[0,0]}})",
         0, "m: tensor \"a\"", "whole number of bytes below");
  refuse(R"({"a":{"dtype":"U8","shape":[9223372036854775807,3,0],)"
         R"("data_offsets":[0,0]}})",
         0, "m: tensor \"a\"", "whole number of bytes below");
}

TEST(SafetensorsTest, RefusesABufferOfTheWrongSize) {
  refuse("{" + entry("a", 1, 0, 4) + "}", 3, "m", "cut short");
  refuse("{" + entry("a", 1, 0, 4) + "}", 5, "m", "left over");
  refuse("{}", 1, "m", "left over");
  refuse(R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 1, "m",
         "left over");
}

TEST(SafetensorsTest, RefusesTooManyTensorsAndDimensions) {
  std::string many = "{";
  for (int i = 0; i <= 1000000; ++i)
    many += "\"" + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  many.back() = '}';
  Result<SafetensorsHeader> r = parse(build(many, ""));
  ASSERT_FALSE(r.isOk());
  EXPECT_NE(r.status().message().problem.find("1000000 tensors"),
            std::string::npos);
  std::string dimensions;
  for (int i = 0; i < 65; ++i)
    dimensions += i ? ",1" : "1";
  refuse(R"({"a":{"dtype":"U8","shape":[)" + dimensions +
             R"(],"data_offsets":[0,1]}})",
         1, "m: byte 164", "64 dimensions");
}

TEST(SafetensorsTest, EveryPrefixAndEveryChangedByteIsJudgedSafely) {
  std::string bytes =
      build(R"({"__metadata__":{"format":"pt"},)" + entry("a.b", 2, 0, 8) + "}",
            zeros(8));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse(bytes.substr(0, size)).isOk()) << size;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = char(value);
      (void)parse(changed);
    }
}

TEST(SafetensorsTest, NamesInMessagesArePrintable) {
  refuse("{" + entry("\\u001b[2J\\n", 1, 4, 8) + "}", 8,
         "m: tensor \"\\u001b[2J\\n\"", "hole");
  std::string longName(300, 'x');
  refuse("{" + entry(longName, 1, 4, 8) + "}", 8,
         "m: tensor \"" + std::string(200, 'x') + "\"...", "hole");
}

//===----------------------------------------------------------------------===//
// Files and the writer
//===----------------------------------------------------------------------===//

TEST(SafetensorsTest, MisalignedBuffersAreReadable) {
  TemporaryFolder folder;
  const float values[2] = {1.5f, -3};
  std::string header = "{" + entry("a", 2, 0, 8) + "}";
  while ((8 + header.size()) % 4 != 1)
    header += ' ';
  std::string path = folder.write(
      "m", build(header, std::string(reinterpret_cast<const char *>(values),
                                     sizeof values)));
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.isOk());
  const TensorInfo *a = file.value().require("a").value();
  double read[2];
  convertElements(a->dtype, file.value().data(*a), Dtype::F64, read, 2);
  EXPECT_EQ(read[0], 1.5);
  EXPECT_EQ(read[1], -3);
  Status missing = file.value().require("b").status();
  EXPECT_EQ(missing.errorCode(), ErrorCode::MissingTensor);
  EXPECT_NE(missing.message().problem.find("\"b\""), std::string::npos);
}

TEST(SafetensorsTest, WriterSortsAlignsAndReadsBack) {
  TemporaryFolder folder;
  Result<SafetensorsWriter> w =
      SafetensorsWriter::create(folder.file("m"),
                                {{"u", Dtype::U8, {3}},
                                 {"b", Dtype::F32, {2}},
                                 {"a", Dtype::F32, {}},
                                 {"d", Dtype::F64, {1, 1}},
                                 {"none", Dtype::BF16, {0, 5}}},
                                {{"z", "1"}, {"format", "x\"\n"}});
  ASSERT_TRUE(w.isOk()) << w.status().render();
  std::string order, all;
  for (const TensorInfo &t : w.value().tensors()) {
    order += t.name + " ";
    std::string bytes(t.bytes(), t.name[0]);
    all += bytes;
    for (char c : bytes)
      ASSERT_TRUE(w.value().write(&c, 1).isOk());
  }
  EXPECT_EQ(order, "d a b none u ");
  ASSERT_TRUE(w.value().commit().isOk());
  Result<SafetensorsFile> file = SafetensorsFile::open(folder.file("m"));
  ASSERT_TRUE(file.isOk()) << file.status().render();
  EXPECT_EQ(*file.value().findMetadata("format"), "x\"\n");
  EXPECT_EQ(file.value().metadata()[1].first, "z");
  const TensorInfo &d = *file.value().find("d");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.value().data(d)) % 64, 0u);
  EXPECT_EQ(std::string(file.value().data(d), all.size()), all);
  EXPECT_EQ(file.value().find("none")->shape, (std::vector<int64_t>{0, 5}));
}

TEST(SafetensorsTest, WriterRefusesWhatTheFormatCannotHold) {
  TemporaryFolder folder;
  auto refused = [&](std::vector<TensorSpec> specs, const char *problem) {
    Result<SafetensorsWriter> w =
        SafetensorsWriter::create(folder.file("m"), std::move(specs), {});
    ASSERT_FALSE(w.isOk()) << problem;
    EXPECT_EQ(w.status().errorCode(), ErrorCode::Bug);
    EXPECT_NE(w.status().render().find(problem), std::string::npos)
        << w.status().render();
  };
  refused({{"a", Dtype::U8, {1}}, {"a", Dtype::F32, {1}}}, "again");
  refused({{"__metadata__", Dtype::U8, {1}}}, "a string");
  refused({{"a\xff", Dtype::U8, {1}}}, "UTF-8");
  refused({{"a", Dtype::U8, {-1}}}, "[-1]");
  refused({{"a", Dtype::F32, {INT64_MAX, 2}}}, "size");
  refused({{"a", Dtype::F4, {1}}}, "size");
  EXPECT_EQ(folder.count(), 0u);
}

TEST(SafetensorsTest, WriterCountsBytes) {
  TemporaryFolder folder;
  SafetensorsWriter w = std::move(
      SafetensorsWriter::create(folder.file("m"), {{"a", Dtype::U8, {2}}}, {})
          .value());
  EXPECT_TRUE(w.write("x", 1).isOk());
  EXPECT_EQ(w.commit().errorCode(), ErrorCode::Bug);
  EXPECT_EQ(w.write("xy", 2).errorCode(), ErrorCode::Bug);
  EXPECT_TRUE(w.write("y", 1).isOk());
  EXPECT_TRUE(w.commit().isOk());
}
