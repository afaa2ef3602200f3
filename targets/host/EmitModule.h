//===- EmitModule.h - hone_compiled_module as LLVM constants --------------===//
//
// Mirrors the structs of runtime.h field by field; the two change together and
// `abi.test` compares them through a C compiler.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/ModuleDescription.h"

#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hone {

/// Defines `description.symbol`, a hone_module, and all it points to. Fails if
/// an entry's function is missing. Every other definition becomes internal, so
/// that the optimiser may drop or inline it.
llvm::Error emitModuleTables(llvm::Module &module,
                             const ModuleDescription &description);

/// Writes hone_module::program_digest: of all that is in `module` after
/// emitModuleTables, and of `machine`, which it will be compiled for.
void sealModule(llvm::Module &module, llvm::StringRef machine);

} // namespace hone
