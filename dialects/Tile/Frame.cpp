//===- Frame.cpp - hone_frame as generated code reads it ------------------===//

#include "dialects/Tile/Frame.h"

using namespace mlir;

Value hone::loadFrameField(OpBuilder &builder, Location loc, Value frame,
                           FrameField field) {
  Type pointer = frame.getType();
  Type type = field == FrameField::Rows ? builder.getI64Type() : pointer;
  Value address = LLVM::GEPOp::create(
      builder, loc, pointer, pointer, frame,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  return LLVM::LoadOp::create(builder, loc, type, address);
}
