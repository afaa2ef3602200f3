//===- HoneProgram.cpp - Compile hone IR and run it in this process -------===//
//
// See HoneProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/HoneProgram.h"

#include "dialects/Hone/HoneOps.h"
#include "targets/Target.h"
#include "test/device/GuardedDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>

using namespace hone;

std::string hone::targetUnderTest() {
  const char *given = std::getenv("HONE_TARGET");
  return given ? given : "native";
}

HoneProgram::HoneProgram(llvm::StringRef ir, bool bfloat16Products) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));

  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  if (!module)
    check(llvm::createStringError("invalid IR:\n" + ir));
  if (bfloat16Products)
    (*module)->setAttr(HoneDialect::getRoundedProductsAttrName(),
                       mlir::UnitAttr::get(&context));
  auto built = EntryProgram::build(*module, *target);
  if (!built)
    check(llvm::joinErrors(built.takeError(),
                           llvm::createStringError("of the IR:\n" + ir)));
  program = std::move(*built);
}

void HoneProgram::setWeights(const std::vector<std::vector<double>> &values) {
  weights = values;
  rounded.clear();
  std::vector<const void *> tensors;
  for (const std::vector<double> &tensor : weights) {
    rounded.emplace_back(tensor.begin(), tensor.end());
    tensors.push_back(program.hasFloat32Gradients()
                          ? static_cast<const void *>(rounded.back().data())
                          : tensor.data());
  }
  program.setWeights(std::move(tensors));
}

void HoneProgram::run(int64_t rows, unsigned threads) {
  auto pool = rt::Pool::create(threads);
  if (!pool.isOk())
    llvm::report_fatal_error("cannot start threads");
  const std::string before = program.memory().str();
  test::GuardedDevice guarded(*pool.value());
  program.run(rows, guarded, program.threadBytes() * threads);
  const std::string there = program.memory().str();
  program.setMemory(before);
  program.run(rows, *pool.value());
  if (program.memory() != there)
    llvm::report_fatal_error("two devices leave other bits");
}
