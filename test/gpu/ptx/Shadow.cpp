//===- Shadow.cpp - Writers and readers of each byte of a memory ----------===//

#include "Shadow.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace hone::ptx {

static void *reserveZeros(uint64_t bytes) {
  void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

bool Shadow::reserve(uint64_t bytes) {
  size = (bytes + 63) / 64 * 64;
  words = static_cast<Cell *>(reserveZeros(size / 4 * sizeof(Cell)));
  parts = static_cast<Cell *>(reserveZeros(size * sizeof(Cell)));
  written = static_cast<uint8_t *>(reserveZeros(size / 8));
  return words && parts && written;
}

Shadow::~Shadow() {
  if (words)
    munmap(words, size / 4 * sizeof(Cell));
  if (parts)
    munmap(parts, size * sizeof(Cell));
  if (written)
    munmap(written, size / 8);
}

void Shadow::forgetTimes() {
  madvise(words, size / 4 * sizeof(Cell), MADV_DONTNEED);
  madvise(parts, size * sizeof(Cell), MADV_DONTNEED);
}

/// Of an earlier access at `time`, known to conflict but for its order.
[[gnu::always_inline]] inline Conflict
Shadow::conflict(uint32_t time, uint32_t who, const Actor &actor, bool wrote) {
  if (time < actor.launch)
    return {};
  const Conflict found = {Conflict::Threads, wrote, who & kThread,
                          who >> kInstructionShift};
  if (time < actor.group) {
    Conflict other = found;
    other.kind = Conflict::Groups;
    return other;
  }
  const uint32_t thread = who & kThread;
  if (time < actor.epoch) {
    if (time >= *actor.needed &&
        (thread != actor.thread || actor.several || (who & (kLanes | kWarps))))
      *actor.needed = actor.epoch;
    return {};
  }
  if (who & kWarps)
    return found;
  if (thread / 32 != actor.thread / 32)
    return found;
  if (time < actor.now)
    return {};
  return thread != actor.thread || actor.several || (who & kLanes) ? found
                                                                   : Conflict();
}

[[gnu::always_inline]] inline Conflict Shadow::readCell(Cell &cell,
                                                        const Actor &actor) {
  Conflict found;
  if (cell.writeTime >= actor.launch)
    found = conflict(cell.writeTime, cell.writer, actor, true);
  const uint32_t before = cell.reader;
  uint32_t flags = actor.several ? kLanes : 0;
  if (cell.readTime >= actor.launch) {
    flags |= before & kGroups;
    if (cell.readTime < actor.group) {
      flags |= kGroups;
    } else if (cell.readTime >= actor.epoch) {
      const uint32_t thread = before & kThread;
      if (thread / 32 != actor.thread / 32)
        flags |= kWarps;
      else if (cell.readTime >= actor.now)
        flags |= (before & kLanes) | (thread != actor.thread ? kLanes : 0);
      flags |= before & kWarps;
    }
  }
  cell.readTime = actor.now;
  cell.reader = actor.thread | flags | actor.instruction << kInstructionShift;
  return found;
}

[[gnu::always_inline]] inline Conflict Shadow::writeCell(Cell &cell,
                                                         const Actor &actor) {
  Conflict found;
  if (cell.writeTime >= actor.launch)
    found = conflict(cell.writeTime, cell.writer, actor, true);
  if (found.kind == Conflict::None && cell.readTime >= actor.launch) {
    found = conflict(cell.readTime, cell.reader, actor, false);
    if (found.kind == Conflict::None && (cell.reader & kGroups))
      found = {Conflict::Groups, false, cell.reader & kThread,
               cell.reader >> kInstructionShift};
  }
  cell.writeTime = actor.now;
  cell.writer = actor.thread | actor.instruction << kInstructionShift;
  return found;
}

template <Conflict (*Access)(Shadow::Cell &, const Actor &)>
Conflict Shadow::access(uint64_t at, unsigned bytes, const Actor &actor) {
  Conflict first;
  auto one = [&](Cell &cell) {
    const Conflict found = Access(cell, actor);
    if (found.kind != Conflict::None && first.kind == Conflict::None)
      first = found;
  };
  const uint64_t end = at + bytes;
  // Nearly always: whole words, none of which has cells for its bytes.
  if ((at | bytes) % 4 == 0)
    for (; at < end && !(words[at / 4].writer & kSplit); at += 4)
      one(words[at / 4]);
  while (at < end) {
    Cell &word = words[at / 4];
    const unsigned here = unsigned(std::min<uint64_t>(end - at, 4 - at % 4));
    if ((word.writer & kSplit) && word.writeTime < actor.launch)
      word = Cell();
    if (here == 4 && !(word.writer & kSplit)) {
      one(word);
      at += 4;
      continue;
    }
    if (!(word.writer & kSplit)) {
      std::fill_n(parts + at / 4 * 4, 4, word);
      word.writer = kSplit;
    }
    word.writeTime = actor.now;
    for (unsigned i = 0; i < here; ++i)
      one(parts[at++]);
  }
  return first;
}

Conflict Shadow::read(uint64_t at, unsigned bytes, const Actor &actor) {
  const Conflict found = access<readCell>(at, bytes, actor);
  if (found.kind == Conflict::None && !isWritten(at, bytes))
    return {Conflict::Unwritten, false, 0, 0};
  return found;
}

Conflict Shadow::write(uint64_t at, unsigned bytes, const Actor &actor) {
  const Conflict found = access<writeCell>(at, bytes, actor);
  setWritten(at, bytes, true);
  return found;
}

bool Shadow::isWrittenSince(uint64_t at, unsigned bytes, uint32_t time) const {
  for (uint64_t end = at + bytes; at < end; ++at) {
    const Cell &word = words[at / 4];
    const Cell &cell = word.writer & kSplit ? parts[at] : word;
    if (word.writeTime >= time && cell.writeTime >= time)
      return true;
  }
  return false;
}

Shadow::Touched Shadow::touched(uint64_t at, uint32_t time) const {
  const Cell &word = words[at / 4];
  if (!(word.writer & kSplit))
    return {word.readTime >= time, word.writeTime >= time};
  if (word.writeTime < time)
    return {};
  const Cell &cell = parts[at];
  return {cell.readTime >= time, cell.writeTime >= time};
}

void Shadow::setWritten(uint64_t at, uint64_t bytes, bool isWritten) {
  if (bytes < 32 && at % 8 + bytes <= 8) {
    const uint8_t mask = uint8_t(((1u << bytes) - 1) << at % 8);
    uint8_t &bits = written[at / 8];
    bits = isWritten ? bits | mask : bits & ~mask;
    return;
  }
  uint64_t end = at + bytes;
  for (; at < end && at % 8; ++at)
    setWritten(at, 1, isWritten);
  memset(written + at / 8, isWritten ? 0xff : 0, (end - at) / 8);
  for (at += (end - at) / 8 * 8; at < end; ++at)
    setWritten(at, 1, isWritten);
}

bool Shadow::isWritten(uint64_t at, uint64_t bytes) const {
  for (const uint64_t end = at + bytes; at < end;) {
    const unsigned here = unsigned(std::min<uint64_t>(end - at, 8 - at % 8));
    const uint8_t mask = uint8_t(((1u << here) - 1) << at % 8);
    if ((written[at / 8] & mask) != mask)
      return false;
    at += here;
  }
  return true;
}

} // namespace hone::ptx
