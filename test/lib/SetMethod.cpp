//===- SetMethod.cpp - test-set-method ------------------------------------===//
//
// The attribute hone.method from words, so that one test has many methods:
//   --test-set-method="method=lcsb selection=cyclic lower.layers=0-1"
//
//===----------------------------------------------------------------------===//

#include "test/lib/TestPasses.h"

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hone;

namespace {

struct SetMethod : PassWrapper<SetMethod, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetMethod)

  StringRef getArgument() const override { return "test-set-method"; }
  StringRef getDescription() const override {
    return "set the attribute hone.method";
  }
  LogicalResult
  initializeOptions(StringRef options,
                    function_ref<LogicalResult(const Twine &)>) override {
    words = options.str();
    return success();
  }

  void runOnOperation() override {
    Builder builder(&getContext());
    NamedAttrList whole;
    llvm::MapVector<StringRef, NamedAttrList> parts;
    SmallVector<StringRef> all;
    StringRef(words).split(all, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef word : all) {
      auto [key, value] = word.split('=');
      auto [part, own] = key.split('.');
      (own.empty() ? whole : parts[part])
          .append(own.empty() ? key : own, builder.getStringAttr(value));
    }
    for (auto &[name, part] : parts)
      whole.append(name, part.getDictionary(&getContext()));
    getOperation()->setAttr(HoneDialect::getMethodAttrName(),
                            whole.getDictionary(&getContext()));
  }

  std::string words;
};

} // namespace

void hone::registerSetMethod() { PassRegistration<SetMethod>(); }
