//===- Frame.h - hone_frame as generated code reads it --------------------===//
//
// The one copy of runtime.h's layout: fields of eight bytes, in its order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "runtime/include/hone/runtime.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstddef>

namespace hone {

enum class FrameField : int32_t {
  Device,
  Arena,
  Batch,
  Work,
  ThreadScratch,
  Weights,
  Rows, ///< the only one that is no pointer
  Streaming,
  Numbers,
  Offsets,
};

static_assert(offsetof(hone_frame, rows) == 8 * int(FrameField::Rows) &&
              offsetof(hone_frame, batch) == 8 * int(FrameField::Batch) &&
              offsetof(hone_frame, thread_scratch) ==
                  8 * int(FrameField::ThreadScratch) &&
              offsetof(hone_frame, numbers) == 8 * int(FrameField::Numbers) &&
              offsetof(hone_frame, offsets) == 8 * int(FrameField::Offsets));

/// Loads a field of `frame`, an LLVM pointer: an i64, or a pointer.
mlir::Value loadFrameField(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value frame, FrameField field);

/// Between an LLVM pointer and a `!tile.memory`, until
/// hone-host-convert-to-llvm makes them one.
mlir::Value memoryAt(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value pointer);
mlir::Value pointerTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value memory);

} // namespace hone
