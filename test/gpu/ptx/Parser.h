//===- Parser.h - PTX text to a program -----------------------------------===//

#pragma once

#include "Program.h"

#include <functional>
#include <string_view>

namespace hone::ptx {

/// A variable of the module: returns the address of `bytes` in device memory
/// that begin with `initial`, 0 if there is no room.
using PlaceGlobal = std::function<uint64_t(uint64_t bytes, uint64_t alignment,
                                           const std::vector<char> &initial)>;

/// False: `error` has the problem and its line.
bool parse(std::string_view text, const PlaceGlobal &placeGlobal,
           Module &module, std::string &error);

} // namespace hone::ptx
