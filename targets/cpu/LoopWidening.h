//===- LoopWidening.h - Scalar bodies on vectors --------------------------===//
//
// Runs `lanes` neighbouring iterations of a scalar body together. A value is
// uniform (one for all lanes), unit (uniform plus the lane's number, which
// makes an address contiguous) or varying. Anything that does not fit makes the
// whole body stay scalar: slow, never wrong. Numbers at a varying place are
// gathered where the caller allows it: a sum over lanes has another order than
// one over iterations.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/CpuDescription.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace hone {

/// How a value of the body relates to the lanes.
enum class LaneForm { uniform, unit, varying };

/// Decides for each value of `body` how it relates to the variable `iv`.
class LaneAnalysis {
public:
  /// `iv` may be null. Each lane has `perLane` of its own. `mayGather`: lanes
  /// may read from places that are not neighbours.
  LaneAnalysis(mlir::Block &body, mlir::Value iv, mlir::ValueRange perLane = {},
               bool mayGather = false);

  /// False if the body has to stay scalar.
  bool canWiden() const { return widenable; }

  LaneForm formOf(mlir::Value value) const {
    auto it = forms.find(value);
    return it == forms.end() ? LaneForm::uniform : it->second;
  }

  /// Bits of the widest floating-point value, 32 if there is none.
  unsigned elementBits() const { return widestFloat; }

private:
  bool visit(mlir::Operation &op);
  bool visitAccess(mlir::Value buffer, mlir::ValueRange indices, bool isStore);
  bool canGather(mlir::Value buffer) const;

  bool mayGather;
  llvm::DenseMap<mlir::Value, LaneForm> forms;
  llvm::DenseSet<mlir::Value> stored;
  unsigned widestFloat = 0;
  bool widenable = true;
};

/// Emits copies of a body. `scalars` maps the body's values to those of lane 0;
/// the caller enters the other variables of the loop nest into it.
class BodyWidener {
public:
  BodyWidener(mlir::Block &body, mlir::Value iv, const LaneAnalysis &analysis,
              unsigned lanes)
      : body(body), iv(iv), analysis(analysis), lanes(lanes) {}

  /// Emits the uniform values, to be shared by all copies.
  void emitUniform(mlir::OpBuilder &b, mlir::IRMapping &scalars);

  /// Emits the rest for lanes base .. base + lanes - 1, those outside `mask`
  /// (null: none) reading zero and writing nothing. Returns the vectors that
  /// the body yields. `known` are the vectors of values that each lane has of
  /// its own.
  llvm::SmallVector<mlir::Value>
  emitWide(mlir::OpBuilder &b, mlir::IRMapping scalars, mlir::Value base,
           mlir::Value mask,
           const llvm::DenseMap<mlir::Value, mlir::Value> &known =
               llvm::DenseMap<mlir::Value, mlir::Value>());

private:
  mlir::Value wide(mlir::OpBuilder &b, mlir::Value value);
  void emitWideOp(mlir::OpBuilder &b, mlir::Operation &op, mlir::Value mask);
  void emitGather(mlir::OpBuilder &b, mlir::Operation &load, mlir::Value buffer,
                  mlir::ValueRange indices, mlir::Value mask);
  mlir::Type wideType(mlir::Type type) const {
    return mlir::VectorType::get(lanes, type);
  }

  mlir::Block &body;
  mlir::Value iv;
  const LaneAnalysis &analysis;
  unsigned lanes;
  // Of the copy being emitted.
  mlir::IRMapping *scalar = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> vectors;
};

} // namespace hone
