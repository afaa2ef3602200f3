//===- ReplayRun.h - The updates of a run, made again ---------------------===//

#pragma once

#include "base/Status.h"
#include "module/Module.h"
#include "program/Options.h"
#include "step/Trainer.h"

namespace hone::rt {

/// In an --output before the first file of a replayed model: of which run it
/// is, ReplayHeader::digest.
inline constexpr const char *ReplayMark = "replayed";

/// Whether the model in --output was written by a --replay of the same run.
/// Errors: as ReplayReader.
Result<bool> isOfReplay(const Options &options);

/// Makes the updates of --replay from where its run started and writes the
/// adapter, or the model, to --output: the bits that the run had after its
/// last step. Settings are those of the file. Errors: as ReplayReader and
/// Trainables; Usage when the file is of another model, method or start, or the
/// folder has a run.
Status replayRun(const Module &module, const Options &options, bool writesModel,
                 Trainer &trainer);

} // namespace hone::rt
