//===- PointerBuilder.h - Loads and stores through raw pointers -----------===//
//
// Kernels address memory by pointer, element offset and run-time stride. All
// vector accesses promise only the element's alignment.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace hone {

class PointerBuilder {
public:
  PointerBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value word(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  mlir::Value subtract(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubIOp::create(b, loc, x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulIOp::create(b, loc, x, y);
  }
  /// Quotient of a number that is not negative, rounded down.
  mlir::Value divide(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivUIOp::create(b, loc, x, y);
  }
  mlir::Value divide(mlir::Value x, int64_t y) { return divide(x, word(y)); }
  /// The same, rounded up.
  mlir::Value ceilDivide(mlir::Value x, mlir::Value y) {
    return divide(add(x, subtract(y, word(1))), y);
  }
  mlir::Value ceilDivide(mlir::Value x, int64_t y) {
    return ceilDivide(x, word(y));
  }
  mlir::Value minimum(mlir::Value x, mlir::Value y) {
    return mlir::arith::MinSIOp::create(b, loc, x, y);
  }
  mlir::Value maximum(mlir::Value x, mlir::Value y) {
    return mlir::arith::MaxSIOp::create(b, loc, x, y);
  }

  /// `base + offset` elements of type `element`.
  mlir::Value at(mlir::Type element, mlir::Value base, mlir::Value offset) {
    return mlir::LLVM::GEPOp::create(
        b, loc, base.getType(), element, base,
        mlir::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }
  mlir::Value load(mlir::Type type, mlir::Value address) {
    return mlir::LLVM::LoadOp::create(b, loc, type, address, alignmentOf(type));
  }
  void store(mlir::Value value, mlir::Value address) {
    mlir::LLVM::StoreOp::create(b, loc, value, address,
                                alignmentOf(value.getType()));
  }

  /// for (i = lower; i < upper; i += step) body(i)
  void loop(mlir::Value lower, mlir::Value upper, int64_t step,
            llvm::function_ref<void(mlir::Value)> body) {
    mlir::scf::ForOp::create(b, loc, lower, upper, word(step),
                             mlir::ValueRange{},
                             [&](mlir::OpBuilder &, mlir::Location,
                                 mlir::Value i, mlir::ValueRange) {
                               body(i);
                               mlir::scf::YieldOp::create(b, loc);
                             });
  }

private:
  static unsigned alignmentOf(mlir::Type type) {
    return mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace hone
