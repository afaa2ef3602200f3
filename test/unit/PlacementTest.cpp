//===- PlacementTest.cpp - The placement that a run's batches take --------===//

#include "BigramModule.h"

#include "module/Module.h"
#include "module/Placement.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

using namespace hone::rt;
using namespace hone::test;

namespace {

/// The bigram module with two placements, of a half and of a quarter.
struct Placed {
  Placed() : module(bigramModule(HONE_ADAMW)) {
    for (uint32_t i = 0; i < module.schedule_count; ++i) {
      hone_schedule schedule = module.schedules[i];
      for (uint32_t k = 0; k < schedule.item_count; ++k)
        items[i].push_back(schedule.items[k]);
      for (uint32_t v = 0; v < schedule.value_count; ++v)
        values[i].push_back(schedule.values[v]);
      schedule.items = items[i].data();
      schedule.values = values[i].data();
      schedules.push_back(schedule);
    }
    module.schedules = schedules.data();
    placements = {{module.max_rows / 2, half, module.arena_bytes,
                   module.accumulation_end, module.gradient_offset,
                   module.gradient_end},
                  {module.max_rows / 4, quarter, module.arena_bytes - 64,
                   module.accumulation_end - 64, module.gradient_offset,
                   module.gradient_end - 64}};
    module.offsets = whole;
    module.placements = placements.data();
    module.placement_count = 2;
    module.place_count = 2;
  }

  hone_module module;
  std::vector<hone_schedule> schedules;
  std::vector<hone_item> items[8];
  std::vector<hone_value> values[8];
  std::vector<hone_placement> placements;
  uint32_t whole[2] = {0, 5}, half[2] = {0, 3}, quarter[2] = {0, 1};
};

} // namespace

TEST(Placement, IsTheSmallestThatHoldsTheRows) {
  hone_module module = {};
  const hone_placement placements[] = {{128, nullptr, 0, 0, 0, 0},
                                       {64, nullptr, 0, 0, 0, 0},
                                       {33, nullptr, 0, 0, 0, 0}};
  module.max_rows = 256;
  module.placements = placements;
  module.placement_count = 3;
  EXPECT_EQ(choosePlacement(module, 256), 3u);
  EXPECT_EQ(choosePlacement(module, 129), 3u);
  EXPECT_EQ(choosePlacement(module, 128), 0u);
  EXPECT_EQ(choosePlacement(module, 65), 0u);
  EXPECT_EQ(choosePlacement(module, 64), 1u);
  EXPECT_EQ(choosePlacement(module, 34), 1u);
  EXPECT_EQ(choosePlacement(module, 33), 2u);
  EXPECT_EQ(choosePlacement(module, 1), 2u);
  module.placement_count = 0;
  EXPECT_EQ(choosePlacement(module, 1), 0u);
}

TEST(Placement, MovesWhatHasAPlaceAndShortensWhatHasRows) {
  Placed given;
  hone_value &rows = given.values[0][0], &scalar = given.values[0][1];
  rows.place = 1;
  rows.row_bytes = 12;
  rows.bytes = 12 * uint64_t(given.module.max_rows);
  given.items[0][2].place = 1;
  const PlacedModule placed(given.module, 0);
  const hone_module &module = placed.module();
  EXPECT_EQ(module.max_rows, given.module.max_rows / 2);
  EXPECT_EQ(module.offsets, given.half);
  EXPECT_EQ(module.placement_count, 0u);
  const hone_schedule &schedule = module.schedules[0];
  EXPECT_EQ(schedule.values[0].offset, 3u * 64);
  EXPECT_EQ(schedule.values[0].bytes, 12 * uint64_t(module.max_rows));
  EXPECT_EQ(schedule.values[0].stride % 64, 0u);
  EXPECT_GE(schedule.values[0].stride, schedule.values[0].bytes);
  EXPECT_LT(schedule.values[0].stride, schedule.values[0].bytes + 64);
  EXPECT_EQ(schedule.values[1].offset, scalar.offset);
  EXPECT_EQ(schedule.values[1].stride, scalar.stride);
  EXPECT_EQ(schedule.items[2].work, 3u * 64);
  EXPECT_EQ(schedule.items[1].work, given.items[0][1].work);
}

TEST(Placement, ChangesTheArenaOfAModule) {
  Placed given;
  Result<Module> opened = Module::open(given.module);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  Module &module = opened.value();
  const int64_t all = given.module.max_rows;
  module.place(all);
  EXPECT_EQ(module.abi().max_rows, all);
  module.place(all / 4);
  EXPECT_EQ(module.abi().max_rows, all / 4);
  EXPECT_EQ(module.compiledRows(), all);
  EXPECT_EQ(module.arenaBytes({}), given.module.arena_bytes - 64);
  // The schedules are those of the placement, too.
  EXPECT_EQ(&module.schedule(HONE_EVALUATE), &module.abi().schedules[1]);
  EXPECT_NE(&module.schedule(HONE_EVALUATE), &given.module.schedules[1]);
}

TEST(Placement, OfAnotherHonecIsRefused) {
  const std::pair<const char *, void (*)(Placed &)> cases[] = {
      {"placements", [](Placed &p) { p.placements[1].rows = 1 << 20; }},
      {"placements", [](Placed &p) { p.placements[0].offsets = nullptr; }},
      {"placements", [](Placed &p) { p.module.offsets = nullptr; }},
      {"placements", [](Placed &p) { p.values[0][0].place = 2; }},
      {"placements", [](Placed &p) { p.items[0][0].place = 2; }},
      {"header", [](Placed &p) { p.placements[1].gradient_end = 0; }},
      {"schedule", [](Placed &p) {
         p.values[0][0].place = 1;
         p.quarter[1] = 1u << 30;
       }}};
  for (auto [place, breakIt] : cases) {
    Placed given;
    breakIt(given);
    Result<Module> opened = Module::open(given.module);
    ASSERT_FALSE(opened.isOk());
    EXPECT_NE(opened.status().render().find(place), std::string::npos)
        << opened.status().render();
  }
}
