//===- ProgramCacheTest.cpp - Compiled programs that are found again ------===//

#include "compiler/hone/ProgramCache.h"

#include "TemporaryFolder.h"
#include "base/OutputFile.h"
#include "platform/Files.h"

#include "gtest/gtest.h"

using namespace hone;
using rt::Result;
using rt::Status;

namespace {
class ProgramCacheTest : public ::testing::Test {
protected:
  /// Finds `key`; the program that would be compiled has `bytes`.
  Result<CachedPrograms> find(const std::string &bytes,
                              const std::string &key = "abc") {
    return ProgramCache(folder.file("cache"))
        .find(key, [&](const std::string &output) -> Result<std::string> {
          ++compiled;
          HONE_TRY(rt::writeFile(output + "/train", bytes));
          setMayStart(output + "/train", true);
          return std::string("{\"peak_bytes\": 7}");
        });
  }
  static void setMayStart(const std::string &path, bool may) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                                 may ? std::filesystem::perm_options::add
                                     : std::filesystem::perm_options::remove);
  }
  std::vector<std::string> entries() {
    std::vector<std::string> names;
    (void)rt::platform::listFolder(folder.file("cache"), names);
    return names;
  }

  TemporaryFolder folder;
  int compiled = 0;
};
} // namespace

TEST_F(ProgramCacheTest, ACompiledProgramIsFoundWithItsPlan) {
  ASSERT_TRUE(find("one").isOk());
  Result<CachedPrograms> again = find("two");
  ASSERT_TRUE(again.isOk());
  EXPECT_EQ(compiled, 1);
  EXPECT_FALSE(again.value().isNew);
  EXPECT_EQ(again.value().plan.find("peak_bytes")->number(), 7);
}

TEST_F(ProgramCacheTest, AnotherKeyIsCompiled) {
  ASSERT_TRUE(find("one").isOk());
  ASSERT_TRUE(find("two", "abd").isOk());
  EXPECT_EQ(compiled, 2);
}

TEST_F(ProgramCacheTest, AProgramThatCannotBeStartedIsCompiledAgain) {
  Result<CachedPrograms> first = find("one");
  ASSERT_TRUE(first.isOk());
  setMayStart(first.value().path("train"), false);
  ASSERT_TRUE(find("one").isOk());
  EXPECT_EQ(compiled, 2);
}

TEST_F(ProgramCacheTest, AProgramThatChangedIsCompiledAgain) {
  Result<CachedPrograms> first = find("one");
  ASSERT_TRUE(first.isOk());
  ASSERT_TRUE(rt::writeFile(first.value().path("train"), "onf").isOk());
  Result<CachedPrograms> again = find("one");
  ASSERT_TRUE(again.isOk()) << again.status().render();
  EXPECT_EQ(compiled, 2);
  EXPECT_TRUE(again.value().isNew);
}

TEST_F(ProgramCacheTest, AFolderWithoutItsManifestIsCompiledAgain) {
  Result<CachedPrograms> first = find("one");
  ASSERT_TRUE(first.isOk());
  rt::platform::removeFile(first.value().path("manifest.json").c_str());
  ASSERT_TRUE(find("one").isOk());
  EXPECT_EQ(compiled, 2);
}

TEST_F(ProgramCacheTest, AFailureLeavesNothing) {
  Result<CachedPrograms> failed =
      ProgramCache(folder.file("cache"))
          .find("abc", [&](const std::string &output) -> Result<std::string> {
            HONE_TRY(rt::writeFile(output + "/train", "half"));
            return Status(rt::ErrorCode::CannotRead, "", "no", "");
          });
  EXPECT_FALSE(failed.isOk());
  EXPECT_TRUE(entries().empty());
  EXPECT_TRUE(find("one").isOk());
}

TEST_F(ProgramCacheTest, TheKeyFollowsSettingsModelAndCompiler) {
  const std::string model = folder.file("model");
  ASSERT_FALSE(rt::platform::makeFolder(model));
  auto key = [&](const std::string &set, const std::string &compiler) {
    Result<Spec> spec =
        parseSpec("model: \"" + model + "\"\n", "spec", {SpecOverride(set)});
    EXPECT_TRUE(spec.isOk()) << spec.status().render();
    Result<std::string> made = ProgramCache::keyOf(spec.value(), compiler);
    EXPECT_TRUE(made.isOk());
    return made.value();
  };
  const std::string first = key("lora.r=8", "one");
  EXPECT_EQ(key("lora.r=8", "one"), first);
  EXPECT_NE(key("lora.r=4", "one"), first);
  EXPECT_NE(key("lora.r=8", "two"), first);
  ASSERT_TRUE(rt::writeFile(model + "/config.json", "{}").isOk());
  const std::string withConfig = key("lora.r=8", "one");
  EXPECT_NE(withConfig, first);
  ASSERT_TRUE(rt::writeFile(model + "/config.json", "[]").isOk());
  EXPECT_NE(key("lora.r=8", "one"), withConfig);
}
