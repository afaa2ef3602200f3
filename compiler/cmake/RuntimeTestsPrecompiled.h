// RuntimeTestsPrecompiled.h - Headers of almost every test of the runtime.

#include "RuntimePrecompiled.h"

#include <gtest/gtest.h>
