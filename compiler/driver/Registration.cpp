//===- Registration.cpp - The one list of dialects, passes and pipelines --===//
//
// Only what the tools parse, and nothing "to be safe": registering everything
// costs start-up time and hides missing dependentDialects.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"
#include "compiler/driver/Pipelines.h"
#include "dialects/Hone/HoneOps.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/Passes.h"
#include "targets/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

void hone::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<HoneDialect, tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  registerTargetDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

void hone::registerPassesAndPipelines() {
  registerHonePasses();
  registerTargetPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerSymbolDCEPass();
  mlir::registerStripDebugInfoPass();
  registerPipelines();
}
