//===- ReplayRun.h - The updates of a run, made again ---------------------===//

#ifndef HONE_RUNTIME_PROGRAM_REPLAYRUN_H
#define HONE_RUNTIME_PROGRAM_REPLAYRUN_H

#include "base/Status.h"
#include "module/Module.h"
#include "program/Options.h"
#include "step/Trainer.h"

namespace hone::rt {

/// Makes the updates of --replay from where its run started and writes the
/// adapter to --output: the bits that the run had behind its last step.
/// Settings are those of the file. Errors: as ReplayReader and Trainables;
/// Usage when the file is of another model, method or start, or the folder has
/// a run.
Status replayRun(const Module &module, const Options &options,
                 Trainer &trainer);

} // namespace hone::rt

#endif
