//===- Target.h - The compiler's questions to a machine -------------------===//
//
// A target turns tile ops into files and programs. Passes above the waist may
// ask it how loops should be cut, what it lacks and which kernels it has of its
// own, and for nothing else: a pass that needs a CPU's name is a bug.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/Numerics.h"
#include "dialects/Tile/Blocks.h"
#include "passes/plan/MachineProfile.h"
#include "targets/ModuleDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace hone {

class TargetKernels;

/// Which machine to compile for.
struct TargetRequest {
  std::string triple = "native"; ///< see parse()
  std::string cpu;               ///< as in -mcpu; empty: the triple's baseline
  std::string features;          ///< as in -mattr, e.g. "+avx2,+fma"
  /// Of a device: the processor beside it, as parse() takes it; empty: native.
  std::string host = {};

  /// Reads the spec's `target:`: "native", which is this machine and all it
  /// has, "reference", an x86-64 level ("x86-64-v3"), or a triple
  /// ("aarch64-linux-gnu"), the latter optionally followed by ":cpu".
  static TargetRequest parse(llvm::StringRef text);
};

/// The parts of a program beside generated code.
struct LinkRequest {
  std::string object; ///< empty: none
  /// Static archives, in link order.
  std::vector<std::string> libraries;
  /// Not empty: a shared library, which exports these and nothing else, is
  /// linked of `libraries` in place of a program.
  std::vector<std::string> exports = {};
  std::string output;
  /// A compiler driver's name or path; empty: one that the target looks for.
  std::string linker;
};

enum class EmitKind { llvm, assembly, object };

class Target {
public:
  virtual ~Target() = default;

  /// The request of a spec for this target, with the defaults resolved: a full
  /// triple or the name of a target without one, and a CPU.
  virtual TargetRequest request() const = 0;
  /// The same for people: "x86_64-pc-linux-gnu:znver5".
  std::string describe() const;
  /// The name that cross toolchains have for its programs, and that the
  /// runtime's folder for them has: "aarch64-linux-gnu". Empty: this machine's.
  virtual std::string toolchain() const = 0;

  /// All that the code may use, in LLVM's names: instruction sets, and with
  /// them LLVM's tuning flags. Sorted.
  virtual std::vector<std::string> features() const = 0;

  /// How products should be cut into iterations.
  virtual tile::Blocks blocks() const { return {}; }

  /// Vocabulary entries whose logits exist at one time: part of the numerics of
  /// its programs, see numerics::kLossColumns.
  virtual int64_t lossColumns() const { return numerics::kLossColumns; }

  /// An estimate of its rates, where nobody has measured it.
  virtual MachineProfile profile() const { return {}; }

  /// Whether it multiplies operands that are rounded to bfloat16, see
  /// `tile.product`.
  virtual bool hasBFloat16Products() const { return false; }

  /// Whether these are also the faster ones for operands that are bfloat16
  /// already.
  virtual bool prefersBFloat16Products() const { return false; }

  /// Whether kernels are functions of the program. Otherwise they are text for
  /// a device, and only a program that trains can load them.
  virtual bool hasHostKernels() const { return true; }

  /// Of a device: whether its memory is another than the host's.
  virtual bool hasOwnMemory() const { return true; }

  /// Whether kernels may compute in f64. Losses and updates do.
  virtual bool hasFloat64() const { return true; }

  /// Kernels that take the place of those made of tile ops; null: none.
  virtual const TargetKernels *kernels() const { return nullptr; }

  /// Writes this target's choices for its programs' numerics on `module`.
  void setNumerics(mlir::ModuleOp module) const;

  /// From tile ops and functions to the dialect that `emit` translates.
  virtual void buildLoweringPipeline(mlir::OpPassManager &pm) const = 0;
  /// The first part of it, after which the module has `tile.thread_bytes`.
  virtual void buildSizingPipeline(mlir::OpPassManager &pm) const {
    buildLoweringPipeline(pm);
  }

  /// Writes the lowered `module` with the tables of `description` to `path`
  /// ("-": standard output). The file appears whole or not at all.
  virtual llvm::Error emit(mlir::ModuleOp module,
                           const ModuleDescription &description, EmitKind kind,
                           llvm::StringRef path) const = 0;

  /// Whether its system loads libraries into programs of any origin.
  virtual bool hasSharedLibraries() const { return true; }

  /// Makes a program of the object that `emit` wrote. It is written whole or
  /// not at all; the error holds the linker's output.
  virtual llvm::Error link(const LinkRequest &request) const = 0;
};

/// Finds the target for `request`, or says which ones there are.
llvm::Expected<std::unique_ptr<Target>>
createTarget(const TargetRequest &request);

/// The dialects that targets have of their own.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// Registers the targets' passes, and `hone-pipeline-target="target=..."`,
/// which is buildLoweringPipeline by name.
void registerTargetPasses();

} // namespace hone
