//===- HostTarget.h - Objects and programs for an operating system --------===//
//
// The base of targets whose kernels are functions in the program itself: an
// LLVM target machine, object files with the module's tables, and a linker.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"
#include "targets/host/HostPasses.h"

#include "llvm/Target/TargetMachine.h"

namespace hone {

class HostTarget : public Target {
public:
  explicit HostTarget(std::unique_ptr<llvm::TargetMachine> machine);
  ~HostTarget() override;

  TargetRequest request() const override;
  std::string toolchain() const override;
  std::vector<std::string> features() const override;
  llvm::Error emit(mlir::ModuleOp module, const ModuleDescription &description,
                   EmitKind kind, llvm::StringRef path) const override;
  bool hasSharedLibraries() const override;
  llvm::Error link(const LinkRequest &request) const override;

protected:
  /// Loops become branches, and nothing but the LLVM dialect remains.
  static void buildLlvmPipeline(mlir::OpPassManager &pm);
  /// Writes `text` to `path` ("-": standard output), whole or not at all.
  static llvm::Error writeText(llvm::StringRef text, llvm::StringRef path);
  /// As in -mattr, without the sign.
  bool hasFeature(llvm::StringRef feature) const;
  llvm::Triple::ArchType architecture() const;
  /// Whether LLVM may make vectors of loops.
  virtual bool vectorizes() const { return true; }

private:
  llvm::Expected<std::unique_ptr<llvm::Module>>
  translate(mlir::ModuleOp module, llvm::LLVMContext &context,
            ModuleDescription description) const;
  void optimize(llvm::Module &module) const;
  llvm::Error write(llvm::Module &module, EmitKind kind,
                    llvm::raw_pwrite_stream &out) const;

  std::unique_ptr<llvm::TargetMachine> machine;
};

/// The machine that `request` names; null for a triple that this LLVM does not
/// know, an error for a system without a runtime of Hone's, and for a CPU or
/// feature that does not exist. "native" or an empty triple: this machine.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostMachine(const TargetRequest &request);

} // namespace hone
