// TestsPrecompiled.h - What almost every unit test of the compiler includes.

#include "Precompiled.h"

#include <gtest/gtest.h>
