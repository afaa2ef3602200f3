// RuntimePrecompiled.h - Headers of almost every file of the runtime: the
// standard library's headers that take long, and the two of base that most
// have.

#include "base/Json.h"
#include "base/Status.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
