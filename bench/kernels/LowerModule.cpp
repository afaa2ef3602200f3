//===- LowerModule.cpp - Blocks of the Hone dialect, as tile ops ----------===//

#include "bench/kernels/LowerModule.h"

#include "dialects/Hone/HoneOps.h"
#include "passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace hone;

std::pair<std::string, int64_t> hone::lowerModule(llvm::StringRef program,
                                                  llvm::StringRef text,
                                                  bool rounds, Target &target) {
  llvm::ExitOnError check(program.str() + ": ");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager passes(&context);
  passes.addPass(createPlace());
  passes.addPass(createConvertToTiles(target.blocks(), target.kernels()));
  if (module && rounds)
    (*module)->setAttr(HoneDialect::getRoundedProductsAttrName(),
                       mlir::UnitAttr::get(&context));
  if (!module || failed(passes.run(*module)))
    check(llvm::createStringError("cannot lower"));
  int64_t bytes = module->getOperation()
                      ->getAttrOfType<mlir::IntegerAttr>(
                          HoneDialect::getArenaBytesAttrName())
                      .getInt();
  std::string lowered;
  llvm::raw_string_ostream(lowered) << *module;
  return {lowered, bytes};
}
