//===- CompilePhases.h - One program through the phases -------------------===//
//
// Each phase is a function of the results of the phases before it. The plan and
// the description are read from the placed module, since lowering erases their
// sources.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/driver/PhaseTimes.h"
#include "compiler/driver/PlanStep.h"
#include "compiler/driver/SettledSpec.h"
#include "compiler/emit/ModuleSummary.h"
#include "compiler/weights/WeightIndex.h"
#include "passes/module/ParameterTable.h"
#include "passes/plan/MemoryPlan.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <optional>
#include <set>
#include <string>

namespace hone {

/// The exchanges that were verified, by all that decides them. A seam is over
/// all programs at once, so those that are derived alike need it once.
using Seams = std::set<std::string>;

/// State that all stages of one run of the compiler share.
struct CompileSession {
  CompileSession(const CompileRequest &request, Seams &seams);
  ~CompileSession();

  const CompileRequest &request;
  Seams &seams;
  PhaseTimes times;
  mlir::MLIRContext context;
  llvm::SourceMgr sources; ///< so that diagnostics show lines of an .mlir file
  mlir::SourceMgrDiagnosticHandler diagnostics;
};

/// A model and its loss, after phase Import.
struct Imported {
  Spec spec; ///< with the model's decisions
  ModelIdentity identity;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<WeightIndex> tensors; ///< if they were to be found
};

/// The choices for the passes from phase Derive on.
struct Planned {
  Program program;
  Spec spec; ///< with the plan's decisions
  std::optional<PlannedStep> step;
};

/// After phase Derive.
struct Derived {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string rounding; ///< describeRounding
};

/// After phase Place.
struct Placed {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ParameterTable parameters;
  MemoryPlan plan;
  ModuleDescription description;
};

/// A program of the request; lowerProgram() changes its module and plan alone.
struct Compiled {
  SettledSpec settled;
  ModelIdentity identity;
  Planned planned;
  std::string rounding;
  Placed placed;
  std::optional<WeightIndex> tensors;
};

/// Text of `module` to a file, whole or not at all, or to standard output.
Status writeModule(const std::string &output, mlir::ModuleOp module);

/// The model of a program with all that its spec says of it, after phase
/// Import. Errors: as hone::importModel; BadSpecValue.
Result<Imported> importProgram(CompileSession &session,
                               const SettledSpec &settled, Program program);

/// Phase Derive. Errors: as runPasses().
Result<Derived> deriveProgram(CompileSession &session, const Target &target,
                              const Planned &planned,
                              mlir::OwningOpRef<mlir::ModuleOp> module);

/// From a spec to phase Place. Nothing if the request ends before: at an
/// earlier phase, whose module is written, or with a self-check.
Result<std::optional<Compiled>>
placeProgram(CompileSession &session, const Spec &given, Program program);

/// Phase Lower, after which the plan knows the scratch of a thread.
Status lowerProgram(CompileSession &session, Compiled &program);

} // namespace hone
