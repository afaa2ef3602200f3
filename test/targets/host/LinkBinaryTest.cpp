//===- LinkBinaryTest.cpp - Programs appear whole, failures say why -------===//
//
// Drivers take sources as well as objects, so the tests link text.
//
//===----------------------------------------------------------------------===//

#include "targets/host/LinkBinary.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace hone;

namespace {

class LinkBinary : public ::testing::Test {
protected:
  LinkBinary() { llvm::sys::fs::createUniqueDirectory("hone-link", folder); }
  ~LinkBinary() override { llvm::sys::fs::remove_directories(folder); }

  std::string file(llvm::StringRef name) {
    llvm::SmallString<64> path(folder);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  LinkRequest request(llvm::StringRef source) {
    std::error_code error;
    llvm::raw_fd_ostream(file("main.cpp"), error) << source;
    LinkRequest r;
    r.object = file("main.cpp");
    r.output = file("train");
    return r;
  }
  unsigned fileCount() {
    unsigned count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(folder, error), end;
         it != end && !error; it.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<64> folder;
  std::string triple = llvm::sys::getDefaultTargetTriple();
};

} // namespace

TEST_F(LinkBinary, MakesAProgram) {
  LinkRequest r = request("#include <string>\n"
                          "int main() { return std::string(\"ab\").size(); }");
  EXPECT_EQ(llvm::toString(linkBinary(r, triple)), "");
  EXPECT_TRUE(llvm::sys::fs::can_execute(r.output));
  EXPECT_EQ(llvm::sys::ExecuteAndWait(r.output, {r.output}), 2);
  EXPECT_EQ(fileCount(), 2u);
}

TEST_F(LinkBinary, ReportsWhatTheDriverPrinted) {
  LinkRequest r =
      request("void absent_function(); int main() { absent_function(); }");
  std::string message = llvm::toString(linkBinary(r, triple));
  EXPECT_NE(message.find("absent_function"), std::string::npos) << message;
  EXPECT_FALSE(llvm::sys::fs::exists(r.output));
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(LinkBinary, NamesALinkerThatIsMissing) {
  LinkRequest r = request("int main() {}");
  r.linker = "no-such-driver";
  EXPECT_NE(llvm::toString(linkBinary(r, triple)).find("'no-such-driver'"),
            std::string::npos);
}

// A name with spaces and quotes would break any shell in between.
TEST_F(LinkBinary, UsesNoShell) {
  LinkRequest r = request("int main() {}");
  r.output = file("a 'b' $(c)");
  EXPECT_EQ(llvm::toString(linkBinary(r, triple)), "");
  EXPECT_TRUE(llvm::sys::fs::can_execute(r.output));
}

TEST(ToolchainTriple, IsOneNameForAllSpellings) {
  for (const char *text :
       {"aarch64-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-linux-gnu"})
    EXPECT_EQ(toolchainTriple(text), "aarch64-linux-gnu");
  EXPECT_EQ(toolchainTriple("x86_64-pc-linux-gnu"), "x86_64-linux-gnu");
  for (const char *text :
       {"arm64-apple-macosx", "aarch64-apple-darwin", "arm64-apple-macosx14.0"})
    EXPECT_EQ(toolchainTriple(text), "arm64-apple-macosx");
  EXPECT_TRUE(isHostTriple(llvm::sys::getDefaultTargetTriple()));
  EXPECT_FALSE(isHostTriple("riscv64-linux-gnu"));
}

TEST(HostTriple, IsOfThisMachinesLibrary) {
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  if (!host.isOSLinux() || !host.isGNUEnvironment())
    GTEST_SKIP() << "this machine is " << host.str();
  std::string arch = host.getArchName().str();
  for (const char *same : {"-linux-gnu", "-unknown-linux-gnu", "-linux"})
    EXPECT_TRUE(isHostTriple(arch + same)) << same;
  for (const char *other :
       {"-linux-musl", "-unknown-linux-musl", "-linux-android"})
    EXPECT_FALSE(isHostTriple(arch + other)) << other;
  EXPECT_TRUE(runsHere(arch + "-linux-musl"));
  EXPECT_FALSE(runsHere(arch + "-linux-android"));
  EXPECT_FALSE(runsHere("arm64-apple-macosx"));
}

// Clang would mix another library's start with the GNU system's libraries.
TEST_F(LinkBinary, NeverLinksAnotherLibrarysProgramWithTheSystems) {
  if (llvm::sys::findProgramByName("x86_64-linux-android-g++"))
    GTEST_SKIP() << "x86_64-linux-android-g++ is installed";
  LinkRequest r = request("int main() {}");
  std::string message =
      llvm::toString(linkBinary(r, "x86_64-unknown-linux-android"));
  EXPECT_NE(message.find("looked for x86_64-linux-android-g++;"),
            std::string::npos)
      << message;
  EXPECT_FALSE(llvm::sys::fs::exists(r.output));
}

TEST_F(LinkBinary, AsksForZigWhereOnlyThatLinks) {
  std::string searched = std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  for (const char *only : {"x86_64-unknown-linux-musl", "arm64-apple-macosx"}) {
    LinkRequest r = request("int main() {}");
    r.libraries = {file("x86_64-linux-musl/libhone_core.a")};
    std::string message = llvm::toString(linkBinary(r, only));
    EXPECT_NE(message.find("only zig links programs for " +
                           toolchainTriple(only) + ", and it is neither " +
                           file("linker/zig") + " nor in PATH"),
              std::string::npos)
        << message;
  }
  setenv("PATH", searched.c_str(), 1);
}

// clang++-22 first, the GNU driver where it is named or all there is.
TEST_F(LinkBinary, LinksForAnotherMachine) {
  const char *gnu = "aarch64-linux-gnu-g++";
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(gnu);
  if (!path)
    GTEST_SKIP() << "g++-aarch64-linux-gnu is not installed";
  std::string searched = std::getenv("PATH");
  auto linkedMachine = [&](LinkRequest r) {
    llvm::sys::fs::remove(r.output);
    EXPECT_EQ(llvm::toString(linkBinary(r, triple)), "");
    auto program = llvm::MemoryBuffer::getFile(r.output);
    if (!program || (*program)->getBufferSize() < 20)
      return -1;
    return int(uint8_t((*program)->getBuffer()[18]));
  };
  LinkRequest r = request("#include <string>\n"
                          "int main() { return std::string(\"ab\").size(); }");
  triple = "aarch64-unknown-linux-gnu";
  if (llvm::sys::findProgramByName("clang++-22")) {
    EXPECT_EQ(linkedMachine(r), llvm::ELF::EM_AARCH64);
  }
  ASSERT_FALSE(llvm::sys::fs::create_link(*path, file(gnu)));
  setenv("PATH", folder.c_str(), 1);
  EXPECT_EQ(linkedMachine(r), llvm::ELF::EM_AARCH64);
  setenv("PATH", searched.c_str(), 1);
  r.linker = gnu;
  EXPECT_EQ(linkedMachine(r), llvm::ELF::EM_AARCH64);
}
