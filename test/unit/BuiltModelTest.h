//===- BuiltModelTest.h - A config.json as the module that is built of it -===//

#pragma once

#include "compiler/import/ModelImport.h"
#include "dialects/Hone/HoneOps.h"

#include "gtest/gtest.h"

#include <limits>

namespace hone {

class BuiltModelTest : public testing::Test {
protected:
  using ModuleOp = mlir::ModuleOp;

  BuiltModelTest() { context.loadDialect<HoneDialect>(); }

  /// Null, and a failure, for a refused model.
  mlir::OwningOpRef<ModuleOp>
  built(const std::string &text, mlir::Type element,
        int64_t longestSequence = std::numeric_limits<int64_t>::max()) {
    auto parsed = HuggingFaceModel::parse(text, "config.json");
    EXPECT_TRUE(parsed.isOk()) << parsed.status().render();
    if (!parsed.isOk())
      return {};
    model = std::move(parsed.value());
    return buildModule(*model, element, longestSequence);
  }
  mlir::OwningOpRef<ModuleOp> built(const std::string &text) {
    return built(text, mlir::Float32Type::get(&context));
  }

  template <typename Op> static std::vector<Op> all(ModuleOp module) {
    std::vector<Op> ops;
    module.walk([&](Op op) { ops.push_back(op); });
    return ops;
  }
  /// The parameters whose names end in `suffix`, of all blocks.
  static size_t count(ModuleOp module, llvm::StringRef suffix) {
    return llvm::count_if(all<ParameterOp>(module), [&](ParameterOp op) {
      return op.getName().ends_with(suffix);
    });
  }

  mlir::MLIRContext context;
  std::unique_ptr<HuggingFaceModel> model; ///< that was built last
};

} // namespace hone
