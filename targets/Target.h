//===- Target.h - What the compiler asks of a machine ---------------------===//
//
// A target turns tile ops into files. Passes above the waist may ask it for
// tile shapes and for nothing else: a pass that needs a CPU's name is a bug.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_TARGET_H
#define HONE_TARGETS_TARGET_H

#include "targets/ModuleDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace hone {

/// Which machine to compile for.
struct TargetRequest {
  std::string triple = "native"; ///< "native": this machine and all it has
  std::string cpu;               ///< as in -mcpu; empty: the triple's baseline
  std::string features;          ///< as in -mattr, e.g. "+avx2,+fma"

  /// Reads the spec's `target:`: "native", an x86-64 level ("x86-64-v3"), or a
  /// triple ("aarch64-linux-gnu"), the latter optionally followed by ":cpu".
  static TargetRequest parse(llvm::StringRef text);
};

enum class EmitKind { llvm, assembly, object };

class Target {
public:
  virtual ~Target() = default;

  /// The full triple, and CPU with features: what `config` records.
  virtual std::string describe() const = 0;
  virtual llvm::StringRef triple() const = 0;

  /// All that the code may use, in LLVM's names: instruction sets, and with
  /// them LLVM's tuning flags. Sorted.
  virtual std::vector<std::string> features() const = 0;

  /// Columns of a panel of `tile.fill` and `tile.contract`; `element` is f32 or
  /// f64.
  virtual unsigned panelWidth(mlir::Type element) const = 0;

  /// Whether panels can be of bf16, see `tile.contract`.
  virtual bool hasBFloat16Products() const = 0;

  /// From tile ops and functions to the dialect that `emit` translates.
  virtual void buildLoweringPipeline(mlir::OpPassManager &pm) const = 0;

  /// Writes the lowered `module` with the tables of `description` to `path`
  /// ("-": standard output). The file appears whole or not at all.
  virtual llvm::Error emit(mlir::ModuleOp module,
                           const ModuleDescription &description, EmitKind kind,
                           llvm::StringRef path) const = 0;
};

/// Finds the target for `request`, or says which ones there are.
llvm::Expected<std::unique_ptr<Target>>
createTarget(const TargetRequest &request);

/// Registers the targets' passes and `hone-pipeline-target="target=..."`, which
/// is buildLoweringPipeline by name.
void registerTargets();

} // namespace hone

#endif // HONE_TARGETS_TARGET_H
