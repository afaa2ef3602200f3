//===- Frame.cpp - hone_frame as generated code reads it ------------------===//

#include "targets/host/Frame.h"

#include "dialects/Tile/TileDialect.h"

using namespace mlir;

Value hone::loadFrameField(OpBuilder &builder, Location loc, Value frame,
                           FrameField field) {
  Type pointer = frame.getType();
  Type type = field == FrameField::Rows ? builder.getI64Type() : pointer;
  Value address =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, frame,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  return LLVM::LoadOp::create(builder, loc, type, address);
}

static Value castTo(OpBuilder &builder, Location loc, Type type, Value value) {
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

Value hone::memoryAt(OpBuilder &builder, Location loc, Value pointer) {
  return castTo(builder, loc, tile::MemoryType::get(builder.getContext()),
                pointer);
}

Value hone::pointerTo(OpBuilder &builder, Location loc, Value memory) {
  return castTo(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                memory);
}
