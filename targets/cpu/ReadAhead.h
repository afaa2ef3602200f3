//===- ReadAhead.h - Asking for memory while multiplying ------------------===//

#pragma once

#include "targets/cpu/PointerBuilder.h"

namespace hone {

/// The requests of a kernel on its way: `lines` cache lines, `rowLines` of each
/// row from `next` on, which are `nextRow` bytes apart.
struct ReadAhead {
  mlir::Value next, nextRow, rowLines, lines;
  mlir::Value linesPerRequest; ///< enough for those of the requests that ask
  mlir::Value silent;          ///< requests before them, which ask for nothing

  /// The last four arguments of a kernel.
  static ReadAhead of(mlir::ValueRange arguments) {
    mlir::ValueRange last = arguments.take_back(4);
    return {last[0], last[1], last[2], last[3], {}, {}};
  }
  /// Shares the lines among the last of `requests` requests, between each two
  /// of which the kernel reads about `bytes` that are not in the nearest cache.
  void divide(PointerBuilder &p, mlir::Value requests, int64_t bytes);
  /// Asks for the lines of one burst.
  void emit(mlir::OpBuilder &b, mlir::Location loc, mlir::Value request) const;
};

} // namespace hone
