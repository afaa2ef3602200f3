//===- Stack.h - The stack that the system gives a program ----------------===//

#pragma once

#include <cstdint>

namespace hone::rt::platform {

/// How large the main thread's stack may become, in bytes.
uint64_t stackLimit();

} // namespace hone::rt::platform
