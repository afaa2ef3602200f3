//===- PanelFill.h - The shared part of fills of panels -------------------===//

#pragma once

#include "targets/cpu/PanelSource.h"

namespace hone {

/// Emits the body of a function whose arguments are fillArguments().
class PanelFill {
protected:
  /// `number`: the type that the source is read as; `lanes`: columns of the
  /// panel in a vector.
  PanelFill(mlir::OpBuilder &b, mlir::Location loc, const SourceFormat &format,
            mlir::Type number, unsigned lanes, unsigned columns,
            mlir::ValueRange arguments)
      : p(b, loc), b(b), loc(loc), lanes(lanes), columns(columns),
        source(b, loc, format, number, arguments.drop_back(3)),
        panel(arguments.take_back(3)[0]), height(arguments.take_back(2)[0]),
        width(arguments.back()) {}

  /// As many rows of a matrix as a vector has lanes, which become columns of
  /// the panel. Rows past the width repeat the last one; `mask` is false there.
  struct TransposedRows {
    llvm::SmallVector<PanelSource::Row> rows;
    mlir::Value mask;
  };
  TransposedRows rowsFrom(mlir::Value j);
  /// Of the panel's columns from `j` on, a vector's: copy(j), or clear(j) if
  /// all of them are past the width.
  void forEachVector(llvm::function_ref<void(mlir::Value)> clear,
                     llvm::function_ref<void(mlir::Value)> copy);

  mlir::Value zeroOf(mlir::Type type);

  PointerBuilder p;
  mlir::OpBuilder &b;
  mlir::Location loc;
  unsigned lanes, columns;
  PanelSource source;
  mlir::Value panel, height, width;
};

} // namespace hone
