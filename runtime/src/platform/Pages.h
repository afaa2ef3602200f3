//===- Pages.h - Mappings, and which of their pages are resident ----------===//
//
// Hints say nothing of whether they were followed: numbers never depend on
// which pages are resident, plans of memory do.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "platform/Files.h"

#include <cstdint>

namespace hone::rt::platform {

uint64_t pageBytes();

/// Maps the first `bytes` > 0 of `file`, read-only. The file may be closed.
Error mapFile(const File &file, uint64_t bytes, const char *&base);

/// Private memory of `bytes` > 0, zeroed.
Error mapMemory(uint64_t bytes, char *&base);
/// Makes all of such memory resident and no more: no huge page reaches beyond
/// it.
Error makeResident(char *base, uint64_t bytes);

void unmap(const char *base, uint64_t bytes);

/// Hints for [start, start + bytes) of a mapped file, `start` at a page's
/// begin: read them ahead; let them go, so that they stop counting as resident.
void prefetchPages(const char *start, uint64_t bytes);
void dropPages(const char *start, uint64_t bytes);

} // namespace hone::rt::platform
