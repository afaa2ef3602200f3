//===- MemoryPlanTest.cpp - The promised peak, by class -------------------===//

#include "passes/plan/MemoryPlan.h"
#include "test/unit/ParsedModule.h"

#include "llvm/Support/JSON.h"

using namespace hone;

// Two regions, a kept value of 64 bytes that lives over both calls, and the
// worst moment in @back with 192 bytes of scratch.
static constexpr llvm::StringLiteral source = R"(
  module attributes {hone.arena_bytes = 512 : i64, hone.max_rows = 4 : i64} {
    hone.region "theta" adapter at 0 bytes 100
    hone.region "gradient" gradient at 128 bytes 100
    hone.block @make() -> tensor<?x4xf32> {
      %w = hone.parameter "w" : tensor<9x4xf32>
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @pass() {
      hone.return
    }
    hone.block @back(%x: tensor<?x4xf32>) {
      hone.return
    }
    hone.entry gradient @gradient() {
      %x = hone.call @make "a." () {hone.slots = [#hone.slot<offset = 256, bytes = 64, first = 0, last = 2>], hone.scratch = #hone.slot<offset = 320, bytes = 0, first = 0, last = 0>} : () -> tensor<?x4xf32>
      hone.call @pass "b." () {hone.scratch = #hone.slot<offset = 320, bytes = 192, first = 1, last = 1>} : () -> ()
      hone.call @back "c." (%x) {hone.scratch = #hone.slot<offset = 320, bytes = 64, first = 2, last = 2>} : (tensor<?x4xf32>) -> ()
    }
  })";

static MemoryPlan readPlan(ParsedModule &module, int64_t threadBytes) {
  auto plan = MemoryPlan::read(module.get());
  EXPECT_TRUE(mlir::succeeded(plan));
  if (mlir::failed(plan))
    return MemoryPlan();
  plan->setSizes({threadBytes, /*tableBytes=*/0});
  return *plan;
}

static int64_t bytesOf(const MemoryPlan &plan, llvm::StringRef name) {
  for (const MemoryPlan::Row &row : plan.rows)
    if (row.name == name)
      return row.bytes;
  return -1;
}

TEST(MemoryPlan, RowsSumToTheArena) {
  ParsedModule module(source);
  MemoryPlan plan = readPlan(module, 0);
  int64_t sum = 0;
  for (const MemoryPlan::Row &row : plan.rows)
    sum += row.bytes;
  EXPECT_EQ(sum, plan.arenaBytes);
  EXPECT_EQ(plan.arenaBytes, 512);
}

TEST(MemoryPlan, AttributesTheWorstMoment) {
  ParsedModule module(source);
  MemoryPlan plan = readPlan(module, 0);
  EXPECT_EQ(bytesOf(plan, "adapter"), 128);
  EXPECT_EQ(bytesOf(plan, "gradient"), 128);
  EXPECT_EQ(bytesOf(plan, "kept"), 64);
  EXPECT_EQ(bytesOf(plan, "working"), 192);
  EXPECT_EQ(bytesOf(plan, "gaps"), -1) << "there are none";
}

TEST(MemoryPlan, ShowsGapsAsARowOfTheirOwn) {
  ParsedModule module(source);
  mlir::Builder builder(module.get());
  module.get()->setAttr(HoneDialect::getArenaBytesAttrName(),
                        builder.getI64IntegerAttr(640));
  EXPECT_EQ(bytesOf(readPlan(module, 0), "gaps"), 128);
}

TEST(MemoryPlan, HasAMomentForEachCall) {
  ParsedModule module(source);
  MemoryPlan plan = readPlan(module, 0);
  ASSERT_EQ(plan.timeline.size(), 3u);
  EXPECT_EQ(plan.timeline[0].call, "make a.");
  EXPECT_EQ(plan.timeline[0].bytes, 256 + 64);
  EXPECT_EQ(plan.timeline[1].bytes, 256 + 64 + 192);
  EXPECT_EQ(plan.timeline[2].bytes, 256 + 64 + 64);
}

TEST(MemoryPlan, PeakGrowsWithThreads) {
  ParsedModule module(source);
  MemoryPlan plan = readPlan(module, 1000);
  EXPECT_EQ(plan.threadBytes, 1024);
  EXPECT_EQ(plan.peak(3) - plan.peak(1), 2 * (1024 + plan.stackBytes));
}

TEST(MemoryPlan, OfADeviceHasArenaAndWeightsThere) {
  ParsedModule module(source);
  auto plan = MemoryPlan::read(module.get(), MemoryDomain::Device);
  ASSERT_TRUE(mlir::succeeded(plan));
  const MemoryPlan host = readPlan(module, 0);
  // Each weight is rounded up to 256 bytes.
  EXPECT_EQ(plan->devicePeak(), 512 + plan->deviceWeightBytes);
  EXPECT_EQ(plan->deviceWeightBytes % 256, 0);
  EXPECT_EQ(plan->budgeted(1), plan->devicePeak());
  EXPECT_EQ(host.budgeted(1), host.peak(1));
  EXPECT_EQ(plan->peak(1), host.peak(1) - 512 + plan->deviceHostBytes);
}

TEST(MemoryPlan, OfADeviceInTheHostsMemoryHasNothingOnTheWayThere) {
  ParsedModule module(source);
  auto apart = MemoryPlan::read(module.get(), MemoryDomain::Device);
  auto shared = MemoryPlan::read(module.get(), MemoryDomain::SharedDevice);
  ASSERT_TRUE(mlir::succeeded(apart) && mlir::succeeded(shared));
  EXPECT_EQ(shared->devicePeak(), apart->devicePeak());
  // Two buffers of 2 MiB, and launches.
  EXPECT_GT(apart->deviceHostBytes - shared->deviceHostBytes, 4 << 20);
  EXPECT_LT(apart->deviceHostBytes - shared->deviceHostBytes, 6 << 20);
}

TEST(MemoryPlan, CountsWeightsApart) {
  ParsedModule module(source);
  EXPECT_EQ(readPlan(module, 0).weightBytes, 9 * 4 * 4);
}

TEST(MemoryPlan, CountsTheOperationsOfEveryCall) {
  ParsedModule module(source);
  // Only @make computes: one addition for each of 4 x 4 elements.
  EXPECT_EQ(readPlan(module, 0).counts.flops, 16);
  auto gradient = mlir::SymbolTable(module.get()).lookup<EntryOp>("gradient");
  CallOp make = *gradient.getBody().getOps<CallOp>().begin();
  mlir::OpBuilder(make).clone(*make.getOperation());
  EXPECT_EQ(readPlan(module, 0).counts.flops, 32)
      << "a block counts at each call";
}

TEST(MemoryPlan, SaysTheSameInJson) {
  ParsedModule module(source);
  MemoryPlan plan = readPlan(module, 0);
  auto json = llvm::json::parse(plan.json(/*threads=*/2));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object *object = json->getAsObject();
  ASSERT_TRUE(object);
  EXPECT_EQ(object->getInteger("arena_bytes"), plan.arenaBytes);
  EXPECT_EQ(object->getInteger("lower_bound_bytes"), plan.lowerBound);
  EXPECT_EQ(object->getInteger("flops"), plan.counts.flops);
  EXPECT_EQ(object->getArray("classes")->size(), plan.rows.size());
  EXPECT_EQ(object->getArray("timeline")->size(), 3u);
}

TEST(MemoryPlan, NeedsAPlacedModule) {
  ParsedModule module("");
  EXPECT_TRUE(mlir::failed(MemoryPlan::read(module.get())));
  ASSERT_FALSE(module.messages.empty());
  EXPECT_EQ(module.messages[0],
            "expects a placed module; run hone-place first");
}

// A pool of two slots, and the last call reads one of them: a backward's inputs
// are kept until then, unlike the operands of other last calls.
TEST(MemoryPlan, AttributesPoolsToWhatIsKept) {
  ParsedModule module(R"(
    module attributes {hone.arena_bytes = 256 : i64, hone.max_rows = 4 : i64} {
      hone.block @read(%x: tensor<?x4xf32>) {
        hone.return
      }
      hone.entry gradient @gradient(%slots: tensor<2xi32>) {
        %pool = hone.pool {hone.slots = [#hone.slot<offset = 0, bytes = 128, first = 0, last = 2>]} : tensor<2x?x4xf32>
        %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
        hone.call @read "a." (%k) {hone.scratch = #hone.slot<offset = 128, bytes = 128, first = 2, last = 2>} : (tensor<?x4xf32>) -> ()
      }
    })");
  MemoryPlan plan = readPlan(module, 0);
  EXPECT_EQ(bytesOf(plan, "kept"), 128);
  EXPECT_EQ(bytesOf(plan, "working"), 128);
}

TEST(MemoryPlan, CountsTheBlockThatRunsUnderACondition) {
  ParsedModule module(R"(
    module attributes {hone.arena_bytes = 0 : i64, hone.max_rows = 4 : i64} {
      hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
        %y = hone.add %x, %x : tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
      hone.block @double(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
        %y = hone.add %x, %x : tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
      hone.entry gradient @gradient(%x: tensor<?x4xf32>, %mask: tensor<1xi32>) -> tensor<?x4xf32> {
        %y = hone.call @twice "a." (%x) when %mask[0] : tensor<1xi32> else @double {hone.slots = [unit], hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 0, last = 0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
    })");
  EXPECT_EQ(readPlan(module, 0).counts.flops, 16);
}
