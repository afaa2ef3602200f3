//===- Pieces.h - Messages that are put together in one place -------------===//
//
// A program that trains alone has the code of exchanges, too, so that is small:
// an error costs the places of its pieces, and no strings of its own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

using Pieces = std::initializer_list<std::string_view>;

std::string joined(Pieces pieces);

/// "'client', 'server'".
std::string quoted(const std::vector<std::string> &names);

/// A Status whose place and problem are joined.
Status failed(ErrorCode code, Pieces place, Pieces problem,
              std::string_view remedy);

} // namespace hone::rt
