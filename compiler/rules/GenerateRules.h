//===- GenerateRules.h - Rules for a program that generates ---------------===//

#pragma once

#include "compiler/spec/Spec.h"

namespace hone {

/// `spec.generate` with values in the place of its zeros, for a model of
/// `positions` positions, 0 if it does not say. Errors: SpecDisagreesWithModel.
Result<rt::GenerateSettings> settleGenerateSettings(const Spec &spec,
                                                    int64_t positions);

/// The tokens that end a text of the model in `directory`: eos_token_id of
/// generation_config.json, else of config.json; a number, a list, or none.
/// Errors: BadConfig, those of reading a file.
Result<std::vector<int64_t>> readStopTokens(const std::string &directory);

} // namespace hone
