// TestsPrecompiled.h - Headers of almost every unit test of the compiler.

#include "Precompiled.h"

#include <gtest/gtest.h>
