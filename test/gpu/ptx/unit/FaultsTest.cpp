//===- FaultsTest.cpp - Planted faults, each named with its line ----------===//

#include "RunPtx.h"

#include <algorithm>
#include <functional>

using namespace hone::ptx;

namespace {

/// The line in which the marker stands, from 1; 0 if it does not.
uint32_t lineOf(const std::string &text, const std::string &marker) {
  const size_t at = text.find(marker);
  if (at == std::string::npos)
    return 0;
  return uint32_t(std::count(text.begin(), text.begin() + long(at), '\n')) + 1;
}

std::vector<Options> allSchedules() {
  std::vector<Options> all;
  for (Order order : {Order::Ascending, Order::Descending, Order::Random})
    for (bool oneByOne : {false, true}) {
      Options options;
      options.order = order;
      options.seed = 7;
      options.lanesOneByOne = oneByOne;
      all.push_back(options);
    }
  return all;
}

/// In every schedule the first fault is `kind`, in the line with `// HERE` or
/// in the one with `// OR HERE`.
void expectFault(const std::string &text, Fault::Kind kind,
                 std::function<void(RunPtx &)> launch,
                 const std::string &words = "") {
  for (const Options &options : allSchedules()) {
    RunPtx run(text, options);
    launch(run);
    ASSERT_FALSE(run.machine->faults().empty());
    const Fault &fault = run.machine->faults()[0];
    EXPECT_EQ(fault.kind, kind) << fault.message;
    EXPECT_EQ(fault.kernel, "k");
    EXPECT_TRUE(fault.line == lineOf(text, "// HERE") ||
                fault.line == lineOf(text, "// OR HERE"))
        << fault.message;
    EXPECT_NE(fault.message.find(words), std::string::npos) << fault.message;
    EXPECT_EQ(run.error, fault.message);
  }
}

const char *const kDeclared =
    ".reg .b32 %r<10>; .reg .b64 %d<10>; .reg .f32 %f<10>; .reg .pred %p<4>;\n"
    ".shared .align 16 .b8 tile[1024];\n"
    "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nmov.u64 %d2, tile;\n"
    "add.s64 %d3, %d2, %d1;\nld.param.u64 %d0, [out];\nadd.s64 %d4, %d0, "
    "%d1;\n";

std::string kernel(const std::string &body) {
  return RunPtx::kernel(".param .u64 out", kDeclared + body);
}

/// Each thread reads the value of the next one of another warp.
std::string exchange(const std::string &barrier) {
  return kernel("st.shared.b32 [%d3], %r0; // OR HERE\n" + barrier +
                "xor.b32 %r1, %r0, 32;\nmul.wide.u32 %d5, %r1, 4;\n"
                "add.s64 %d5, %d2, %d5;\nld.shared.b32 %r2, [%d5]; // HERE\n"
                "st.global.b32 [%d4], %r2;\n");
}

void launch64(RunPtx &run) { run.launch({run.allocate(256)}, 1, 64); }

} // namespace

TEST(Faults, ABarrierThatIsThere) {
  for (const Options &options : allSchedules()) {
    RunPtx run(exchange("bar.sync 0;\n"), options);
    const uint64_t out = run.allocate(256);
    ASSERT_TRUE(run.launch({out}, 1, 64)) << run.error;
    const auto values = run.download<uint32_t>(out, 64);
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(values[i], i ^ 32);
  }
}

TEST(Faults, AMissingBarrierIsARace) {
  // The first thread reads unwritten memory: the fault is there, too.
  for (const Options &options : allSchedules()) {
    const std::string text = exchange("");
    RunPtx run(text, options);
    launch64(run);
    unsigned races = 0;
    for (const Fault &fault : run.machine->faults())
      if (fault.kind == Fault::Race) {
        ++races;
        EXPECT_TRUE(fault.line == lineOf(text, "// HERE") ||
                    fault.line == lineOf(text, "// OR HERE"));
        EXPECT_NE(fault.message.find("without an order"), std::string::npos);
      }
    EXPECT_GT(races, 0u);
  }
}

TEST(Faults, LanesOfAWarpRaceToo) {
  // In lockstep all would be well, and no device promises lockstep.
  const std::string race =
      "st.shared.b32 [%d3], %r0; // OR HERE\nxor.b32 %r1, %r0, 1;\n";
  const std::string read =
      "mul.wide.u32 %d5, %r1, 4;\nadd.s64 %d5, %d2, %d5;\n"
      "ld.shared.b32 %r2, [%d5]; // HERE\nst.global.b32 [%d4], %r2;\n";
  for (const Options &options : allSchedules()) {
    RunPtx run(kernel(race + read), options);
    run.launch({run.allocate(128)});
    bool found = false;
    for (const Fault &fault : run.machine->faults())
      found |= fault.kind == Fault::Race;
    EXPECT_TRUE(found);
    RunPtx synchronized(kernel(race + "bar.warp.sync -1;\n" + read), options);
    EXPECT_TRUE(synchronized.launch({synchronized.allocate(128)}))
        << synchronized.error;
  }
}

/// Where all lanes have one address, the machine reads once for all of them.
TEST(Faults, ALanesWriteIsNotThereForAWarpThatReadsItAtOnce) {
  const std::string write =
      "setp.eq.u32 %p0, %r0, 0;\n@%p0 st.shared.b32 [%d2], %r0; // OR HERE\n";
  const std::string read = "ld.shared.b32 %r1, [%d2]; // HERE\n";
  for (const Options &options : allSchedules()) {
    RunPtx run(kernel(write + read), options);
    run.launch({run.allocate(128)});
    bool found = false;
    for (const Fault &fault : run.machine->faults())
      found |= fault.kind == Fault::Race;
    EXPECT_TRUE(found);
    RunPtx synchronized(kernel(write + "bar.warp.sync -1;\n" + read), options);
    EXPECT_TRUE(synchronized.launch({synchronized.allocate(128)}))
        << synchronized.error;
  }
}

/// As rows and columns of a tile do: lanes with one address are read at once.
TEST(Faults, LanesThatReadTheSameInGroups) {
  struct {
    const char *index;
    unsigned (*of)(unsigned lane);
  } const groups[] = {
      {"shr.u32 %r1, %r0, 4;\n", [](unsigned lane) { return lane >> 4; }},
      {"and.b32 %r1, %r0, 15;\n", [](unsigned lane) { return lane & 15; }},
      {"shr.u32 %r1, %r0, 1;\n", [](unsigned lane) { return lane >> 1; }}};
  for (const auto &group : groups) {
    const std::string read =
        "xor.b32 %r2, %r0, 64;\nst.shared.b32 [%d3], %r2;\nbar.sync 0;\n" +
        std::string(group.index) +
        "mul.wide.u32 %d5, %r1, 4;\nadd.s64 %d5, %d2, %d5;\n"
        "ld.shared.b32 %r3, [%d5]; // OR HERE\nst.global.b32 [%d4], %r3;\n";
    for (const Options &options : allSchedules()) {
      RunPtx run(kernel(read), options);
      const uint64_t out = run.allocate(128);
      ASSERT_TRUE(run.launch({out})) << run.error;
      const auto values = run.download<uint32_t>(out, 32);
      for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(values[lane], group.of(lane) ^ 64);
    }
    // Lane 0 writes a value that another one of its group reads.
    expectFault(kernel(read + "setp.eq.u32 %p0, %r0, 0;\n"
                              "@%p0 st.shared.b32 [%d5], %r0; // HERE\n"),
                Fault::Race,
                [](RunPtx &run) { run.launch({run.allocate(128)}); });
  }
}

TEST(Faults, AWriteAfterAReadNeedsABarrier) {
  expectFault(kernel("st.shared.b32 [%d3], %r0;\nbar.sync 0;\n"
                     "ld.shared.b32 %r1, [%d2]; // OR HERE\n"
                     "setp.eq.u32 %p0, %r0, 40;\n"
                     "@%p0 st.shared.b32 [%d2], %r0; // HERE\n"),
              Fault::Race, launch64);
}

TEST(Faults, ADivergentBarrier) {
  expectFault(kernel("setp.lt.u32 %p0, %r0, 40;\n@%p0 bra $skip;\n"
                     "bar.sync 0; // HERE\n$skip:\n"),
              Fault::DivergentBarrier, launch64, "has ended");
  expectFault(kernel("setp.lt.u32 %p0, %r0, 32;\n@%p0 bra $other;\n"
                     "bar.sync 0; // OR HERE\nbra $end;\n$other:\n"
                     "bar.sync 0; // HERE\n$end:\n"),
              Fault::DivergentBarrier, launch64, "waits at line");
}

TEST(Faults, ARaceOfWorkgroups) {
  expectFault(kernel("st.global.b32 [%d4], %r0; // HERE\n"),
              Fault::RaceOfWorkgroups,
              [](RunPtx &run) { run.launch({run.allocate(256)}, 2, 64); });
  // One writes a byte beside the other's read: no race.
  RunPtx beside(kernel("mov.u32 %r1, %ctaid.x;\ncvt.u64.u32 %d5, %r1;\n"
                       "add.s64 %d5, %d0, %d5;\nst.global.b8 [%d5], %r1;\n"
                       "ld.global.u8 %r2, [%d5];\n"));
  EXPECT_TRUE(beside.launch({beside.allocate(4)}, 4, 1)) << beside.error;
}

TEST(Faults, OutOfBoundsByOne) {
  expectFault(
      kernel("st.global.b32 [%d4], %r0; // HERE\n"), Fault::OutOfBounds,
      [](RunPtx &run) { run.launch({run.allocate(64 * 4 - 1)}, 1, 64); },
      "thread 63");
  expectFault(kernel("st.shared.b32 [%d3+772], %r0; // HERE\n"),
              Fault::OutOfBounds, launch64, "shared memory of 1024 bytes");
}

TEST(Faults, AMisalignedVector) {
  expectFault(kernel("ld.global.v2.f32 {%f0, %f1}, [%d0+4]; // HERE\n"),
              Fault::Misaligned, [](RunPtx &run) {
                run.launch({run.upload(std::vector<float>(8))}, 1, 64);
              });
}

TEST(Faults, AReadOfWhatNobodyWrote) {
  expectFault(kernel("ld.global.b32 %r1, [%d4]; // HERE\n"), Fault::Unwritten,
              launch64);
  expectFault(kernel("setp.ne.u32 %p0, %r0, 3;\n"
                     "@%p0 st.shared.b32 [%d3], %r0;\nbar.sync 0;\n"
                     "ld.shared.b32 %r1, [%d3]; // HERE\n"),
              Fault::Unwritten, launch64, "thread 3");
  // Shared memory is new for each workgroup.
  expectFault(kernel("mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p0, %r1, 0;\n"
                     "@%p0 st.shared.b32 [%d3], %r0;\nbar.sync 0;\n"
                     "ld.shared.b32 %r2, [%d3]; // HERE\n"),
              Fault::Unwritten,
              [](RunPtx &run) { run.launch({run.allocate(256)}, 2, 64); });
}

TEST(Faults, ACopyThatIsNotWaitedFor) {
  auto copy = [](const std::string &wait) {
    return kernel("cp.async.ca.shared.global [%d3], [%d4], 4;\n"
                  "cp.async.commit_group;\n" +
                  wait +
                  "bar.sync 0;\nld.shared.b32 %r1, [%d3]; // HERE\n"
                  "add.s32 %r1, %r1, 1;\nst.global.b32 [%d4], %r1;\n");
  };
  auto launch = [](RunPtx &run) {
    run.launch({run.upload(std::vector<int>(64, 5))}, 1, 64);
  };
  expectFault(copy(""), Fault::Unwritten, launch);
  expectFault(copy("cp.async.wait_group 1;\n"), Fault::Unwritten, launch);
  RunPtx waited(copy("cp.async.wait_group 0;\n"));
  const uint64_t values = waited.upload(std::vector<int>(64, 5));
  ASSERT_TRUE(waited.launch({values}, 1, 64)) << waited.error;
  EXPECT_EQ(waited.download<int>(values, 64), std::vector<int>(64, 6));
}

TEST(Faults, LanesThatDoNotTakePart) {
  expectFault(
      kernel("setp.lt.u32 %p0, %r0, 8;\n@%p0 bra $skip;\n"
             "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; // HERE\n$skip:\n"),
      Fault::DivergentWarp,
      [](RunPtx &run) { run.launch({run.allocate(4)}, 1, 32); });
}

TEST(Faults, ConstantLoadsOfWhatTheLaunchWrites) {
  expectFault(kernel("st.global.b32 [%d4], %r0;\n"
                     "ld.global.nc.b32 %r1, [%d4]; // HERE\n"),
              Fault::NonCoherent, launch64);
}

TEST(Faults, AKernelThatDoesNotEnd) {
  for (bool oneByOne : {false, true}) {
    Options options;
    options.instructionLimit = 1000;
    options.lanesOneByOne = oneByOne;
    RunPtx run(kernel("$loop:\nbra $loop; // HERE\n"), options);
    launch64(run);
    ASSERT_FALSE(run.machine->faults().empty());
    EXPECT_EQ(run.machine->faults()[0].kind, Fault::Stuck);
  }
}

TEST(Faults, AKernelThatStopsItself) {
  expectFault(kernel("setp.eq.u32 %p0, %r0, 40;\n@%p0 trap; // HERE\n"),
              Fault::Trap, launch64, "thread 40 of");
}

TEST(Faults, BarriersThatNoAccessNeeds) {
  const std::string text = exchange("bar.sync 0;\nbar.sync 0;\n");
  RunPtx run(text);
  run.launch({run.allocate(256)}, 1, 64);
  EXPECT_TRUE(run.error.empty()) << run.error;
  EXPECT_NE(run.machine->report().find("barriers: 2, not needed: 1"),
            std::string::npos)
      << run.machine->report();
  // Without one nothing is missed; without the other neither; without both,
  // yes.
  for (unsigned dropped : {0u, 1u}) {
    Options options;
    options.droppedKernel = "k";
    options.droppedBarrier = dropped;
    RunPtx without(text, options);
    EXPECT_TRUE(without.launch({without.allocate(256)}, 1, 64));
    RunPtx alone(exchange("bar.sync 0;\n"), options);
    EXPECT_EQ(alone.launch({alone.allocate(256)}, 1, 64), dropped == 1);
  }
}

TEST(Faults, BankConflictsAreCounted) {
  Options options;
  options.countsBankConflicts = true;
  RunPtx none(kernel("st.shared.b32 [%d3], %r0;\n"), options);
  none.launch({none.allocate(4)}, 1, 32);
  EXPECT_NE(none.machine->report().find("bank conflicts: 0\n"),
            std::string::npos);
  // Stride of 8 words: 32 lanes share 4 banks.
  RunPtx eight(kernel("mul.wide.u32 %d5, %r0, 32;\nadd.s64 %d5, %d2, %d5;\n"
                      "st.shared.b32 [%d5], %r0;\n"),
               options);
  eight.launch({eight.allocate(4)}, 1, 32);
  EXPECT_NE(eight.machine->report().find("bank conflicts: 7\n"),
            std::string::npos)
      << eight.machine->report();
}

/// The eight rows of a matrix are read at once; a copy's writes count, too.
TEST(Faults, BankConflictsOfMatricesAndCopies) {
  Options options;
  options.countsBankConflicts = true;
  auto conflictsOf = [&](const std::string &body) {
    RunPtx run(kernel("ld.param.u64 %d0, [out];\nmul.wide.u32 %d5, %r0, 32;\n"
                      "add.s64 %d5, %d2, %d5;\n" +
                      body),
               options);
    run.launch({run.allocate(256)}, 1, 32);
    const std::string report = run.machine->report();
    const size_t at = report.find("bank conflicts: ");
    return at == std::string::npos ? -1 : atoi(report.c_str() + at + 16);
  };
  // Rows 32 bytes apart: two in each of four times 16 bytes.
  EXPECT_EQ(conflictsOf("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, "
                        "[%d5];\n"),
            1);
  // 4 bytes of each lane, eight lanes to a bank.
  EXPECT_EQ(conflictsOf("cp.async.ca.shared.global [%d5], [%d0], 4;\n"
                        "cp.async.wait_all;\n"),
            7);
}

/// Lines of the device's memory are counted by the lines that they go into.
TEST(Faults, LinesOfCopiesAreCounted) {
  Options options;
  options.countsBankConflicts = true;
  auto linesOf = [&](int step) {
    RunPtx run(kernel("ld.param.u64 %d0, [out];\nmul.wide.u32 %d5, %r0, 16;\n"
                      "add.s64 %d0, %d0, %d5;\nmul.wide.u32 %d5, %r0, " +
                      std::to_string(step) +
                      ";\nadd.s64 %d5, %d2, %d5;\n"
                      "cp.async.cg.shared.global [%d5], [%d0], 16;\n"
                      "cp.async.wait_all;\n"),
               options);
    run.launch({run.allocate(512)}, 1, 32);
    uint64_t lines = 0;
    for (const auto &[key, counts] : run.machine->counts())
      for (uint64_t each : counts.lines)
        lines += each;
    return lines;
  };
  EXPECT_EQ(linesOf(16), 4u);
  EXPECT_EQ(linesOf(32), 8u);
}
