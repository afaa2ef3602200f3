//===- Compile.h - From a spec to a training binary -----------------------===//

#ifndef HONE_COMPILER_DRIVER_COMPILE_H
#define HONE_COMPILER_DRIVER_COMPILE_H

#include "base/Status.h"
#include "compiler/driver/Pipelines.h"
#include "compiler/spec/Spec.h"

#include <optional>
#include <string>
#include <vector>

namespace hone {

enum class Artifact { Mlir, Llvm, Assembly, Object, Binary };
/// What a binary does.
enum class Program { Train, Generate };
enum class PlanFormat { None, Table, Json };

/// What is known of a weights file that was written.
struct PackedWeights {
  std::string sourceHash; ///< of what it was made from
  std::string digests;    ///< see ModuleDescription
  uint64_t bytes = 0;     ///< 0: it was not written
};

struct CompileRequest {
  std::string specPath;
  std::vector<SpecOverride> overrides;
  /// A directory for Artifact::Binary, else a file; empty or "-": standard
  /// output.
  std::string output;
  std::optional<CompilerPhase>
      stopAfter; ///< print the IR of this phase instead
  Artifact artifact = Artifact::Binary;
  Program program = Program::Train;
  /// Of two programs with the same weights, which the first request writes and
  /// the second finds here; null: there is one program.
  PackedWeights *shared = nullptr;
  /// Print the plan to standard output; without `output`, only that.
  PlanFormat plan = PlanFormat::None;
  std::string linker;     ///< compiler driver; empty: found on PATH
  std::string runtimeDir; ///< folder of the runtime's archives
  /// Options of the phases' passes that no spec has yet, as hone-opt takes
  /// them.
  std::string stepOptions;
  std::string dumpDir; ///< NN-phase.mlir after each phase; empty: none
  /// Check the model's derivatives, print what was found and write nothing.
  bool selfCheck = false;
  bool timing = false;
  bool quantization = false; ///< print what quantising did to each tensor

  bool printsPlanOnly() const {
    return plan != PlanFormat::None && output.empty();
  }
  /// What the binary is called in its folder.
  std::string programPath() const {
    return output + (program == Program::Generate ? "/generate" : "/train");
  }
  bool writesBinary() const {
    return artifact == Artifact::Binary && !stopAfter && !printsPlanOnly() &&
           !selfCheck;
  }
};

/// Runs the phases. Output appears whole or not at all; on an error nothing
/// new is in the output directory. IR and plans need only config.json of the
/// model, everything after them needs its weights.
rt::Status compile(const CompileRequest &request);

} // namespace hone

#endif
