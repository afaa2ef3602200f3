//===- TileProgram.cpp - Compile tile IR and run it in this process -------===//
//
// See TileProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"

#include "dialects/Tile/TileDialect.h"
#include "targets/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

using namespace hone;

static constexpr int64_t kThreads = 2;

static void parallelFor(hone_pool *, hone_task task, void *closure,
                        int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i)
    task(closure, i, i % kThreads);
}

std::string hone::entryFunction(llvm::StringRef body) {
  return (R"(
func.func @hone_entry_main() attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %arena = tile.base arena : !tile.memory
  %rows = tile.rows : index
)" + body +
          "\n  return\n}\n")
      .str();
}

std::string hone::arenaView(llvm::StringRef name, int64_t offset,
                            llvm::StringRef type) {
  return llvm::formatv("%{0}_at = arith.constant {1} : index\n"
                       "%{0} = tile.view %arena[%{0}_at] : !tile.memory -> "
                       "{2}\n",
                       name, offset, type);
}

bool hone::canRun(llvm::StringRef target) {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (target == "x86-64-v4")
    return features.lookup("avx512f") && features.lookup("avx512vl") &&
           features.lookup("avx512bw") && features.lookup("avx512dq") &&
           features.lookup("avx512cd");
  if (target == "x86-64-v3")
    return features.lookup("avx2") && features.lookup("fma") &&
           features.lookup("bmi2") && features.lookup("f16c");
  return target == "native" || (target == "x86-64" && features.count("sse2"));
}

ModuleDescription TileProgram::defaultDescription() {
  ItemDescription item;
  item.run = "hone_entry_main";
  ModuleDescription description;
  description.schedules.emplace_back();
  description.schedules.back().items = {item};
  return description;
}

TileProgram::TileProgram(llvm::StringRef ir, llvm::StringRef targetName,
                         ModuleDescription description) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetName)));

  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  mlir::PassManager pm(&context);
  target->buildLoweringPipeline(pm);
  if (!module || failed(pm.run(*module)))
    check(llvm::createStringError("invalid IR:\n" + ir));

  loaded =
      check(LoadedModule::load(*module, *target, description, parallelFor));
  scratch.resize(loaded->thread_bytes * kThreads + 64);
}

void TileProgram::run(void *arena, int64_t rows, const void *const *weights) {
  char *base = static_cast<char *>(arena);
  hone_frame frame = {nullptr, base, base, base, align64(scratch.data()),
                      weights, rows};
  loaded->schedules[0].items[0].run(&frame, nullptr);
}
