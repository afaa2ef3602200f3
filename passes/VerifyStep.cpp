//===- VerifyStep.cpp - hone-verify-step ----------------------------------===//
//
// A broken rule here is a bug of the derivation, so messages name the pass.
//
//===----------------------------------------------------------------------===//

#include "passes/ParameterTable.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYSTEP
#include "passes/Passes.h.inc"

namespace {

struct VerifyStep : impl::VerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    eraseUncalledBlocks(module);
    auto parameters = ParameterTable::build(module);
    if (failed(parameters) || failed(checkSinks(module, *parameters)) ||
        failed(checkCoverage(module, *parameters)))
      signalPassFailure();
  }

  static void eraseUncalledBlocks(ModuleOp module) {
    llvm::StringSet<> called;
    module.walk([&](CallOp call) { called.insert(call.getBlock()); });
    for (BlockOp block :
         llvm::make_early_inc_range(module.getOps<BlockOp>()))
      if (!called.contains(block.getName()))
        block.erase();
  }

  /// Every sink names a trainable parameter of its type, in every layer.
  static LogicalResult checkSinks(ModuleOp module,
                                  const ParameterTable &parameters) {
    SymbolTable symbols(module);
    LogicalResult result = success();
    module.walk([&](CallOp call) {
      auto block = symbols.lookup<BlockOp>(call.getBlock());
      for (GradientOp sink : block.getBody().getOps<GradientOp>()) {
        const Parameter *parameter =
            parameters.find(call.getPrefix(), sink.getOf());
        if (parameter && parameter->trainable &&
            parameter->type == sink.getValue().getType())
          continue;
        InFlightDiagnostic diag = sink.emitOpError("expects '")
                                  << call.getPrefix() << sink.getOf()
                                  << "' to be a trainable parameter of type "
                                  << sink.getValue().getType()
                                  << "; broken by hone-derive-backward";
        diag.attachNote(call.getLoc()) << "for this layer";
        result = failure();
      }
    });
    return result;
  }

  /// Every trainable parameter has a gradient in @gradient.
  static LogicalResult checkCoverage(ModuleOp module,
                                     const ParameterTable &parameters) {
    SymbolTable symbols(module);
    auto gradient = symbols.lookup<EntryOp>("gradient");
    if (!gradient)
      return module.emitError("expects an entry '@gradient'; run "
                              "hone-derive-backward first");
    llvm::StringSet<> covered;
    for (CallOp call : gradient.getBody().getOps<CallOp>()) {
      auto block = symbols.lookup<BlockOp>(call.getBlock());
      for (GradientOp sink : block.getBody().getOps<GradientOp>())
        covered.insert((call.getPrefix() + sink.getOf()).str());
    }
    for (const Parameter &parameter : parameters.trainable())
      if (!covered.contains(parameter.name))
        return gradient.emitOpError("expects a gradient of '")
               << parameter.name << "'; broken by hone-derive-backward";
    return success();
  }
};

} // namespace
} // namespace hone
