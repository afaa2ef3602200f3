//===- PanelFill.cpp - The shared part of fills of panels -----------------===//

#include "targets/cpu/PanelFill.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

PanelFill::TransposedRows PanelFill::rowsFrom(Value j) {
  TransposedRows found;
  Value lastRow = p.subtract(width, p.word(1));
  for (unsigned r = 0; r < lanes; ++r)
    found.rows.push_back(source.row(p.minimum(p.add(j, p.word(r)), lastRow)));
  Value valid = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           p.subtract(width, j));
  found.mask = vector::CreateMaskOp::create(
      b, loc, VectorType::get(lanes, b.getI1Type()), valid);
  return found;
}

void PanelFill::forEachVector(function_ref<void(Value)> clear,
                              function_ref<void(Value)> copy) {
  p.loop(p.word(0), p.word(columns), lanes, [&](Value j) {
    Value isEmpty =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, j, width);
    auto branch = [&](function_ref<void(Value)> body) {
      return [this, body, j](OpBuilder &, Location) {
        body(j);
        scf::YieldOp::create(b, loc);
      };
    };
    scf::IfOp::create(b, loc, isEmpty, branch(clear), branch(copy));
  });
}

Value PanelFill::zeroOf(Type type) {
  return arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
}
