//===- Compile.h - From a spec to a training binary -----------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/driver/Pipelines.h"
#include "compiler/spec/Spec.h"
#include "targets/host/LoadedModule.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

enum class Artifact { Mlir, Llvm, Assembly, Object, Binary };
/// The purpose of a binary, and its name in its folder.
enum class Program { Train, Generate };
inline std::string nameOf(Program program) {
  return program == Program::Generate ? "generate" : "train";
}
enum class PlanFormat { None, Table, Json };

struct CompileRequest {
  std::string specPath;
  std::vector<SpecOverride> overrides;
  /// A directory for Artifact::Binary, else a file; empty or "-": standard
  /// output.
  std::string output;
  std::optional<CompilerPhase>
      stopAfter; ///< print the IR of this phase instead
  Artifact artifact = Artifact::Binary;
  /// Artifact::Binary is a library with the programs' models in place of
  /// programs.
  bool library = false;
  /// Of Artifact::Binary there may be two, with the same weights.
  std::vector<Program> programs = {Program::Train};
  /// Print the plan to standard output; without `output`, only that.
  PlanFormat plan = PlanFormat::None;
  /// Gets the plan of the first program as JSON; null: nobody asks.
  std::string *planJson = nullptr;
  std::string linker;     ///< compiler driver; empty: found on PATH
  std::string runtimeDir; ///< folder of the runtime's archives
  /// Options of the phases' passes that no spec has yet, as hone-opt takes
  /// them.
  std::string stepOptions;
  std::string dumpDir; ///< NN-phase.mlir after each phase; empty: none
  /// Check the model's derivatives, print the report and write nothing.
  bool selfCheck = false;
  bool timing = false;
  bool quantization = false; ///< print the error of quantising each tensor
  /// In place of the weights, write their manifest (WeightManifest.h).
  bool manifest = false;

  bool printsPlanOnly() const {
    return plan != PlanFormat::None && output.empty();
  }
  std::string programPath(Program program) const {
    return output + "/" + nameOf(program);
  }
  bool writesCode() const {
    return artifact != Artifact::Mlir && !stopAfter && !printsPlanOnly() &&
           !selfCheck;
  }
  /// IR and plans need only config.json of the model, and code its weights.
  bool needsWeights() const { return writesCode() && !manifest; }
  bool writesBinary() const {
    return artifact == Artifact::Binary && writesCode();
  }
};

/// Runs the phases for each program. Output appears whole or not at all; on an
/// error nothing new is in the output directory. Of parts that are programs of
/// their own, this holds for the folder of each.
Status compile(const CompileRequest &request);

/// A program that trains, in this process. Its entries launch kernels, and the
/// kernels do nothing.
struct LoadedProgram {
  std::string name; ///< as a part of the spec; empty: it has all of the model
  LoadedModule module;
  /// The plan's estimate of a step of one batch, by block: seconds.
  std::map<std::string, double> blockSeconds;
};

/// The programs of `spec`, in the order of their parts. They need config.json
/// of the model, and no weights. Errors: as compile().
Result<std::vector<LoadedProgram>> loadPrograms(Spec spec);

} // namespace hone
