//===- ModelCard.h - README.md beside an adapter --------------------------===//
//
// An adapter's facts for other people: its base, its training, its results, how
// to load it. In the form of PEFT's cards, whose first lines the Hugging Face
// Hub reads. It names no folder of this machine.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "program/Run.h"

#include <string>

namespace hone::rt {

class ModelCard {
public:
  static constexpr const char *FileName = "README.md";

  /// The card of the adapter that `run` leaves in --output.
  static std::string render(const Module &module, const Options &options,
                            const Run &run);

  /// Writes it there, unless a README.md is there that is somebody else's. No
  /// run fails for it: an error becomes a warning.
  static void write(const Module &module, const Options &options,
                    const Run &run);
};

} // namespace hone::rt
