//===- LinkBinaryTest.cpp - Programs appear whole, failures say why -------===//
//
// Drivers take sources as well as objects, so the tests link text.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/LinkBinary.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"

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
    r.triple = llvm::sys::getDefaultTargetTriple();
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
};

} // namespace

TEST_F(LinkBinary, MakesAProgram) {
  LinkRequest r = request("#include <string>\n"
                          "int main() { return std::string(\"ab\").size(); }");
  EXPECT_EQ(llvm::toString(linkBinary(r)), "");
  EXPECT_TRUE(llvm::sys::fs::can_execute(r.output));
  EXPECT_EQ(llvm::sys::ExecuteAndWait(r.output, {r.output}), 2);
  EXPECT_EQ(fileCount(), 2u);
}

TEST_F(LinkBinary, ReportsWhatTheDriverPrinted) {
  LinkRequest r =
      request("void absent_function(); int main() { absent_function(); }");
  std::string message = llvm::toString(linkBinary(r));
  EXPECT_NE(message.find("absent_function"), std::string::npos) << message;
  EXPECT_FALSE(llvm::sys::fs::exists(r.output));
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(LinkBinary, NamesALinkerThatIsMissing) {
  LinkRequest r = request("int main() {}");
  r.linker = "no-such-driver";
  EXPECT_NE(llvm::toString(linkBinary(r)).find("'no-such-driver'"),
            std::string::npos);
}

// A name with spaces and quotes would break any shell in between.
TEST_F(LinkBinary, UsesNoShell) {
  LinkRequest r = request("int main() {}");
  r.output = file("a 'b' $(c)");
  EXPECT_EQ(llvm::toString(linkBinary(r)), "");
  EXPECT_TRUE(llvm::sys::fs::can_execute(r.output));
}
