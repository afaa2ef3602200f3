//===- Placement.h - A module with the offsets of one placement -----------===//
//
// Shapes are bounds: a run whose batches have fewer rows than were compiled for
// takes the placement with the fewest that hold them. The result is a module
// like any other, so nothing beside this file knows of placements.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// The one of `module.placements` with the fewest rows that holds batches of
/// `rows` rows, by number; none: placement_count.
uint32_t choosePlacement(const hone_module &module, int64_t rows);

/// A copy of a module's tables, as they are in one of its placements. Its
/// pointers lead into it, so it stays where it is.
class PlacedModule {
public:
  /// `placement` is a number of `compiled.placements`, which are sound; see
  /// problemOf.
  PlacedModule(const hone_module &compiled, uint32_t placement);
  PlacedModule(const PlacedModule &) = delete;
  PlacedModule &operator=(const PlacedModule &) = delete;

  const hone_module &module() const { return placed; }
  /// The memory of the copy.
  uint64_t bytes() const;

private:
  hone_module placed;
  std::vector<hone_schedule> schedules;
  std::vector<std::vector<hone_value>> values;
  std::vector<std::vector<hone_item>> items;
  std::vector<std::vector<hone_piece>> pieces;
};

/// Checks the tables of the placements of `module` by themselves and returns
/// the first problem; "" if there is none.
std::string problemOfPlacements(const hone_module &module);

} // namespace hone::rt
