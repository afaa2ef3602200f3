//===- Conversion.cpp - Blocks that only convert --------------------------===//

#include "passes/module/Conversion.h"

using namespace mlir;

namespace hone {

std::string conversionName(RankedTensorType from, Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << "convert." << from.getDimSize(1) << "."
                                 << from.getElementType() << "." << element;
  return name;
}

BlockOp getConversion(SymbolTable &symbols, RankedTensorType from, Type element,
                      Operation *user) {
  std::string name = conversionName(from, element);
  if (auto known = symbols.lookup<BlockOp>(name))
    return known;
  RankedTensorType to = from.clone(element);
  Location loc = user->getLoc();
  OpBuilder builder(user);
  auto block =
      BlockOp::create(builder, loc, name, builder.getFunctionType(from, to));
  mlir::Block &body = block.getBody().front();
  builder.setInsertionPointToEnd(&body);
  Value result = ConvertOp::create(builder, loc, to, body.getArgument(0));
  ReturnOp::create(builder, loc, result);
  symbols.insert(block);
  return block;
}

} // namespace hone
