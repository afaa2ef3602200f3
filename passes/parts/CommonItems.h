//===- CommonItems.h - Items that all parts of a late step run ------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/DenseSet.h"

namespace hone {

/// The values of a schedule that runs, checks and reports are made of, beside
/// the late ones.
class CommonItems {
public:
  static CommonItems of(ScheduleOp schedule);

  /// Whether `user` reads `value` for something that is common.
  bool reads(mlir::Operation *user, mlir::Value value) const;
  bool has(mlir::Value value) const { return values.contains(value); }

private:
  void add(mlir::Value value);
  llvm::DenseSet<mlir::Value> values;
};

/// Erases numbers that nothing reads, also where repeats carry them.
void eraseUnreadItems(ScheduleOp schedule);

} // namespace hone
