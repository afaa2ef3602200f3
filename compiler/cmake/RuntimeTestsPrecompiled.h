// RuntimeTestsPrecompiled.h - What almost every test of the runtime includes.

#include "RuntimePrecompiled.h"

#include <gtest/gtest.h>
