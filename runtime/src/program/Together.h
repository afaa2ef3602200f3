//===- Together.h - Programs of one model, of a command line --------------===//

#pragma once

#include "exchange/Ensemble.h"
#include "module/Module.h"
#include "program/Options.h"

#include <map>

namespace hone::rt {

/// The engine of --exchange, from the program's folder. Errors: NoEngine.
Result<const hone_engine *> engineOf(const Options &options);

/// The programs that the one of `module` meets: the ones before and after it,
/// in the order of their layers.
std::vector<std::string> peersOf(const Module &module);

/// The memory that a program takes beside its plan to train with others, in
/// bytes, the engine's included; 0: it trains alone. Errors: NoEngine.
Result<uint64_t> exchangeBytes(const Module &module, const Options &options);

/// Bytes mapped of an engine's libraries, and of memory that programs of one
/// machine share, at most.
constexpr uint64_t exchangeLibraries = 16 << 20;

/// The values with which all programs must have been compiled and started.
std::map<std::string, std::string> equalOf(const Module &module,
                                           const Settings &settings);
/// The lines of `equal`, for Ensemble::About.
std::string linesOf(const std::map<std::string, std::string> &equal);

/// Checks the options of a program that trains with others, before it reads
/// anything. A server listens from here on. Errors: NoEngine, NoMeeting;
/// MissingOption without data for all; OptionsDisagree where a program has
/// values that another one gives it.
Status checkTogether(const Module &module, const Options &options);

/// Begins to greet the programs that `module`'s trains with; null: it is of a
/// whole model, or is not to exchange. Errors: OnePart, NoEngine, NoThread.
Result<std::unique_ptr<Ensemble>> openTogether(const Module &module,
                                               const Options &options);

} // namespace hone::rt
