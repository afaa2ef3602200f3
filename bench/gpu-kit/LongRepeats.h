//===- LongRepeats.h - Repeats that lie far apart in an archive -----------===//
//
// gzip sees 32 KiB back, and the programs of a kit have much in common that
// lies megabytes apart: the runtime, tables, kernels. A repeat of such is
// replaced by its earlier place, and gzip has the rest.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

/// `bytes`, with each long repeat as a length and a distance; nothing if they
/// are more than 4 GiB.
std::optional<std::string> shortenRepeats(std::string_view bytes);

/// The bytes that became `shortened`; nothing if that is no result of
/// shortenRepeats.
std::optional<std::string> restoreRepeats(std::string_view shortened);

} // namespace hone
