//===- EvaluationTest.cpp - Losses of a task's candidates -----------------===//

#include "step/Evaluation.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(Evaluation, TheFirstOfTheLikeliestIsPredicted) {
  EXPECT_EQ((ScoredExample{{2, 1, 1}, 3, 0}.prediction()), 1u);
}

// Whichever comes first: comparisons with NaN are all false.
TEST(Evaluation, NothingIsPredictedWhereALossIsNoNumber) {
  EXPECT_FALSE((ScoredExample{{NAN, 1}, 2, 0}.prediction()));
  EXPECT_FALSE((ScoredExample{{1, NAN}, 2, 0}.prediction()));
  // After the candidates there is nothing.
  EXPECT_EQ((ScoredExample{{1, NAN}, 1, 0}.prediction()), 0u);
}
