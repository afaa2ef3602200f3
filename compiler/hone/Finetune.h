//===- Finetune.h - From a model and data to a run ------------------------===//

#pragma once

#include "base/Status.h"
#include "compiler/hone/DataSurvey.h"
#include "compiler/hone/Toolchain.h"

#include <string>
#include <vector>

namespace hone {

/// The spec that finetune leaves beside the adapter, and every later command
/// reads.
inline constexpr const char *kRunSpec = "hone.yaml";

struct FinetuneRequest {
  std::string model, data;
  std::string output; ///< empty: named after the data
  std::vector<SpecOverride> overrides;
  std::vector<std::string> options; ///< of train
  bool chats = false;               ///< open the conversation afterwards
  DataReading reading;
};

/// Chooses a spec unless the output has one, compiles, trains. The program's
/// exit code is this one's. Errors: those of all that it calls.
Result<int> finetune(const FinetuneRequest &request,
                     const Toolchain &toolchain);

struct InitRequest {
  std::string model;
  std::string data;   ///< may be empty
  std::string output; ///< a file; empty: standard output
  std::vector<SpecOverride> overrides;
  DataReading reading;
};

/// Writes the spec that finetune would choose. Errors: CannotCreate if the file
/// is there.
Status writeChosenSpec(const InitRequest &request);

/// Where programs for a folder come from: of a run, or of a model alone.
struct RunSource {
  ProgramSource source;
  std::string adapter;              ///< empty: the model alone
  bool trainsAll = false;           ///< `adapter` is a model
  std::vector<std::string> options; ///< of train, which the run remembers
};

/// Of a run's folder, a model's folder, or a spec file. Errors: NoInput.
Result<RunSource> sourceOf(const std::string &path);

/// The folder of the model that a run was made from. Errors: those of readSpec.
Result<std::string> modelOf(const std::string &run);

} // namespace hone
