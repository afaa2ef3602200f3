//===- StatusTest.cpp - Errors are passed on ------------------------------===//

#include "base/Status.h"

#include "gtest/gtest.h"

#include <memory>

using namespace hone::rt;

static Status failure() {
  return Status(ErrorCode::BadSpec, "place", "problem", "remedy");
}

using Number = Result<std::unique_ptr<int>>;
static Number numberOrError(bool isError) {
  if (isError)
    return failure();
  return std::make_unique<int>(7);
}

TEST(Status, TryReturnsTheErrorOfAStatusOrAResult) {
  auto trial = [](Status first, Number second) -> Status {
    HONE_TRY(first);
    HONE_TRY(second);
    return Status(ErrorCode::Bug, {});
  };
  EXPECT_EQ(trial(failure(), numberOrError(false)).errorCode(),
            ErrorCode::BadSpec);
  EXPECT_EQ(trial(Status::ok(), numberOrError(true)).message().problem,
            "problem");
  EXPECT_EQ(trial(Status::ok(), numberOrError(false)).errorCode(),
            ErrorCode::Bug);
}

TEST(Status, TryEvaluatesOnceAndIsOneStatement) {
  int calls = 0;
  auto count = [&] {
    ++calls;
    return Status::ok();
  };
  auto trial = [&](bool wanted) -> Status {
    if (wanted)
      HONE_TRY(count());
    else
      return failure();
    return Status::ok();
  };
  EXPECT_TRUE(trial(true).isOk());
  EXPECT_FALSE(trial(false).isOk());
  EXPECT_EQ(calls, 1);
}

TEST(Status, AssignMovesTheValueOrReturnsTheError) {
  auto trial = [](bool isError, int &out) -> Result<int> {
    HONE_ASSIGN(std::unique_ptr<int> number, numberOrError(false));
    HONE_ASSIGN(number, numberOrError(isError));
    out = *number;
    return out;
  };
  int out = 0;
  Result<int> found = trial(false, out);
  EXPECT_TRUE(found.isOk());
  EXPECT_EQ(found.value(), 7);
  EXPECT_EQ(out, 7);
  out = 0;
  EXPECT_EQ(trial(true, out).status().errorCode(), ErrorCode::BadSpec);
  EXPECT_EQ(out, 0);
}

TEST(Status, AnErrorIsOneLineWhateverAFileIsCalled) {
  EXPECT_EQ(Status(ErrorCode::BadSpec, "a\nb.yaml", "problem", "").render(),
            "error[H0201]: a\\nb.yaml: problem\n");
}
