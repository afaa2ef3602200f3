//===- LoadedModule.cpp - A lowered module in this process ----------------===//
//
// See LoadedModule.h.
//
//===----------------------------------------------------------------------===//

#include "targets/host/LoadedModule.h"

#include "targets/host/HostPasses.h"
#include "targets/host/NewFile.h"

#include "runtime/src/base/Process.h"
#include "runtime/src/module/Module.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace hone;

LoadedModule::LoadedModule() = default;
LoadedModule::~LoadedModule() = default;
LoadedModule::LoadedModule(LoadedModule &&other) noexcept = default;
LoadedModule &LoadedModule::operator=(LoadedModule &&other) noexcept = default;

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(mlir::ModuleOp module, const Target &target,
           const ModuleDescription &description) {
  llvm::Expected<std::string> path = createTemporaryFile("hone-", ".o");
  if (!path)
    return path.takeError();
  rt::TemporaryFile object(*path);
  if (llvm::Error error =
          target.emit(module, description, EmitKind::object, *path))
    return llvm::createStringError(std::make_error_code(std::errc::io_error),
                                   llvm::toString(std::move(error)));
  return llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(*path));
}

llvm::Expected<LoadedModule>
LoadedModule::load(mlir::ModuleOp module, const Target &target,
                   const ModuleDescription &description) {
  // As a training binary does; this also asks the system for units that need
  // it.
  std::string missing = rt::missingCpuFeature(target.features());
  if (!missing.empty())
    return llvm::createStringError("this CPU lacks " + missing);
  auto object = emitObject(module, target, description);
  if (!object)
    return object.takeError();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return created.takeError();

  LoadedModule result;
  result.loader = std::move(*created);
  llvm::orc::LLJIT &loader = *result.loader;
  llvm::orc::JITDylib &library = loader.getMainJITDylib();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      loader.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  llvm::orc::SymbolMap runtime;
  auto define = [&](const char *name, auto *function) {
    runtime[loader.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  define("hone_launch", hone_launch);
  define("hone_prefetch", hone_prefetch);
  define("hone_release", hone_release);
  define("hone_fetch", hone_fetch);
  define("hone_offload", hone_offload);
  define("hone_reload", hone_reload);
  define("hone_await", hone_await);
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(runtime))))
    return error;
  if (llvm::Error error = loader.addObjectFile(std::move(*object)))
    return error;
  auto symbol = loader.lookup("hone_compiled_module");
  if (!symbol)
    return symbol.takeError();
  result.compiled = symbol->toPtr<const hone_module *>();
  return result;
}

void hone::emptyTasks(mlir::ModuleOp lowered) {
  for (auto task : lowered.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (task.isExternal() || !isTask(task))
      continue;
    task.getBody().dropAllReferences();
    task.getBody().getBlocks().clear();
    mlir::OpBuilder builder(task.getContext());
    builder.setInsertionPointToStart(task.addEntryBlock(builder));
    mlir::LLVM::ReturnOp::create(builder, task.getLoc(), mlir::ValueRange{});
  }
}
