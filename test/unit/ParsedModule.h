//===- ParsedModule.h - IR of a unit test, from text ----------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace hone {

/// A verified module and the diagnostics that were reported about it. A text
/// that does not parse fails the test and leaves an empty module.
class ParsedModule {
public:
  explicit ParsedModule(llvm::StringRef text)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
        }) {
    context.loadDialect<HoneDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << (messages.empty() ? "no message" : messages[0]);
    if (!module)
      module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }

  mlir::ModuleOp get() { return *module; }
  BlockOp block(llvm::StringRef name) {
    return mlir::SymbolTable(*module).lookup<BlockOp>(name);
  }
  /// The only op of the kind in `block`.
  template <typename OpTy> static OpTy only(BlockOp block) {
    auto ops = block.getBody().getOps<OpTy>();
    EXPECT_EQ(std::distance(ops.begin(), ops.end()), 1);
    return *ops.begin();
  }

  /// Of errors, warnings and remarks, in order.
  std::vector<std::string> messages;

private:
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace hone
