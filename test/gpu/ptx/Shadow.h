//===- Shadow.h - Writers and readers of each byte of a memory ------------===//
//
// Time is a number that grows with each workgroup, each barrier of one and each
// synchronization of a warp. What was accessed before the launch's first time
// is done; before the workgroup's, it is another workgroup's, in no order with
// this one; before the barrier's, it is ordered; any other is a race, but for a
// warp's own lanes before its last synchronization. Whatever order warps and
// workgroups run in, the same pairs are found.
//
// A cell stands for 4 bytes. Where lanes access less, its bytes get cells of
// their own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::ptx {

/// The accessing lane, and the times that divide earlier accesses.
struct Actor {
  uint32_t now;    ///< of the lane's warp: since it last synchronized
  uint32_t epoch;  ///< since the workgroup's last barrier
  uint32_t group;  ///< since the workgroup began
  uint32_t launch; ///< since the launch began
  uint32_t thread; ///< in the workgroup, below 1024
  uint32_t instruction;
  bool several; ///< other lanes of the warp read it, too
  /// When the last barrier began that a pair of accesses needed: each needs one
  /// between, and the last is taken, so as few as possible are needed.
  uint32_t *needed;
};

/// How an access conflicts with an earlier one.
struct Conflict {
  enum Kind : uint8_t { None, Threads, Groups, Unwritten } kind = None;
  bool earlierWrote = false;
  uint32_t thread = 0, instruction = 0; ///< of the earlier one
};

class Shadow {
public:
  Shadow() = default;
  Shadow(const Shadow &) = delete;
  Shadow &operator=(const Shadow &) = delete;
  ~Shadow();

  /// Of a memory of `bytes`, none of it written. Costs nothing until touched.
  /// False: the system has no such address range.
  bool reserve(uint64_t bytes);

  /// `bytes` from `at` on are of one aligned access: 1, 2 or a multiple of 4.
  Conflict read(uint64_t at, unsigned bytes, const Actor &actor);
  Conflict write(uint64_t at, unsigned bytes, const Actor &actor);
  /// Whether one was written in this launch.
  bool isWrittenSince(uint64_t at, unsigned bytes, uint32_t time) const;

  struct Touched {
    bool read = false, written = false;
  };
  /// The accesses to the byte since then.
  Touched touched(uint64_t at, uint32_t time) const;

  void setWritten(uint64_t at, uint64_t bytes, bool written);
  bool isWritten(uint64_t at, uint64_t bytes) const;

  /// All times are in the past: they may begin anew.
  void forgetTimes();

private:
  struct Cell {
    uint32_t writeTime, writer, readTime, reader;
  };
  // Of `writer` and `reader`: 10 bits of a thread, then these, then the
  // instruction. Lanes or Warps: not this thread alone. Split, of a writer: the
  // bytes have cells, and writeTime is when one was last accessed.
  static constexpr uint32_t kThread = 1023, kLanes = 1 << 10, kWarps = 1 << 11,
                            kGroups = 1 << 12, kSplit = 1 << 13;
  static constexpr unsigned kInstructionShift = 14;

  static Conflict conflict(uint32_t time, uint32_t who, const Actor &actor,
                           bool wrote);
  static Conflict readCell(Cell &cell, const Actor &actor);
  static Conflict writeCell(Cell &cell, const Actor &actor);
  template <Conflict (*Access)(Cell &, const Actor &)>
  Conflict access(uint64_t at, unsigned bytes, const Actor &actor);

  Cell *words = nullptr;
  Cell *parts = nullptr;
  uint8_t *written = nullptr; ///< a bit for each byte
  uint64_t size = 0;
};

} // namespace hone::ptx
