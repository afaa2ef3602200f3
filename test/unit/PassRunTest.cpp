//===- PassRunTest.cpp - A failed pass and its error ----------------------===//

#include "compiler/driver/PassRun.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace hone;
using namespace mlir;
using rt::ErrorCode;
using rt::Status;

namespace {

class AlwaysFails : public PassWrapper<AlwaysFails, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AlwaysFails)
  StringRef getArgument() const override { return "test-always-fails"; }
  void runOnOperation() override { signalPassFailure(); }
};

/// A temporary folder for each test, so that leftovers can be counted.
class PassRunTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pass-run", folder));
    ::setenv("TMPDIR", folder.c_str(), /*overwrite=*/1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    llvm::sys::fs::remove_directories(folder);
  }
  std::vector<std::string> files() {
    std::vector<std::string> paths;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator at(folder, error), end; at != end;
         at.increment(error))
      paths.push_back(at->path());
    return paths;
  }
  Status run(bool fails, const std::string &userModel) {
    PassManager pm(&context, ModuleOp::getOperationName());
    if (fails)
      pm.addPass(std::make_unique<AlwaysFails>());
    return runPasses(pm, *module, "phase derive", userModel);
  }

  llvm::SmallString<128> folder;
  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
};

} // namespace

TEST_F(PassRunTest, SuccessLeavesNoFile) {
  EXPECT_TRUE(run(/*fails=*/false, "").isOk());
  EXPECT_TRUE(files().empty());
}

TEST_F(PassRunTest, FailureOnAnImportedModelIsABugWithAReproducer) {
  testing::internal::CaptureStderr();
  Status status = run(/*fails=*/true, "");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status.errorCode(), ErrorCode::Bug);
  EXPECT_EQ(static_cast<int>(status.exitCode()), 70);
  EXPECT_EQ(status.message().place, "phase derive");
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(status.message().remedy.find(files()[0]), std::string::npos);

  auto text = llvm::MemoryBuffer::getFile(files()[0]);
  ASSERT_TRUE(bool(text));
  EXPECT_TRUE((*text)->getBuffer().contains("test-always-fails"));
}

TEST_F(PassRunTest, FailureOnAUsersModelIsBadData) {
  testing::internal::CaptureStderr();
  Status status = run(/*fails=*/true, "model.mlir");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status.errorCode(), ErrorCode::ModuleRefused);
  EXPECT_EQ(status.message().place, "model.mlir: phase derive");
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(status.message().remedy.find(files()[0]), std::string::npos);
}
