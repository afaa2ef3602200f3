//===- Gzip.h - Compressed data files -------------------------------------===//
//
// RFC 1952 and 1951, a few hundred lines of our own: programs are linked for
// other systems, where no zlib is there to link.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/OutputFile.h"

#include <functional>
#include <string_view>

namespace hone::rt {

/// Whether the bytes of a file begin as gzip writes them.
bool isGzip(std::string_view bytes);

/// Decompresses `file`, all of its members, to `out`. Of a file that
/// grows more than 256-fold at most 64 MiB are written. `onProgress` is called
/// at least once for each 256 KiB that were read. Memory: 160 KiB. Errors:
/// DamagedArchive, those of OutputFile::write and of `onProgress`.
Status decompress(const MappedFile &file, OutputFile &out,
                  const std::function<Status()> &onProgress);

} // namespace hone::rt
