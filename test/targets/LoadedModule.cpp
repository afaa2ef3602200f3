//===- LoadedModule.cpp - A lowered module in this process ----------------===//
//
// See LoadedModule.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/LoadedModule.h"

#include "runtime/src/module/Module.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace hone;

LoadedModule::LoadedModule() = default;
LoadedModule::~LoadedModule() = default;
LoadedModule &LoadedModule::operator=(LoadedModule &&other) noexcept = default;

LoadedModule::LoadedModule(mlir::ModuleOp module, const Target &target,
                           const ModuleDescription &description,
                           ParallelFor parallelFor) {
  llvm::ExitOnError check("cannot load the program under test: ");
  // As a training binary does; it also asks for what must be asked for.
  std::string missing = rt::missingCpuFeature(target.features());
  if (!missing.empty())
    check(llvm::createStringError("this CPU lacks " + missing));
  llvm::SmallString<64> path;
  check(llvm::errorCodeToError(
      llvm::sys::fs::createTemporaryFile("hone-test", "o", path)));
  check(target.emit(module, description, EmitKind::object, path));
  auto object =
      check(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
  llvm::sys::fs::remove(path);

  loader = check(llvm::orc::LLJITBuilder().create());
  llvm::orc::JITDylib &library = loader->getMainJITDylib();
  library.addGenerator(
      check(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          loader->getDataLayout().getGlobalPrefix())));
  check(library.define(llvm::orc::absoluteSymbols(
      {{loader->mangleAndIntern("hone_parallel_for"),
        {llvm::orc::ExecutorAddr::fromPtr(parallelFor),
         llvm::JITSymbolFlags::Exported}}})));
  check(loader->addObjectFile(std::move(object)));
  compiled = check(loader->lookup("hone_compiled_module"))
                 .toPtr<const hone_module *>();
}
