//===- NoLocks.h - A file system without locks ----------------------------===//

#pragma once

/// While one is there, files cannot be locked.
struct NoLocks {
  NoLocks() { areOff = true; }
  ~NoLocks() { areOff = false; }
  static inline bool areOff = false;
};
