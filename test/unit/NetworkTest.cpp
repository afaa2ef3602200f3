//===- NetworkTest.cpp - Messages in virtual time -------------------------===//
//
// Times in closed form, of links whose numbers are powers of two.
//
//===----------------------------------------------------------------------===//

#include "compiler/simulate/Network.h"
#include "TemporaryFolder.h"
#include "compiler/simulate/KernelTimes.h"
#include "compiler/simulate/Prediction.h"
#include "compiler/simulate/Programs.h"
#include "compiler/simulate/Quantity.h"
#include "step/Transport.h"

#include <gtest/gtest.h>

using namespace hone;
using namespace hone::simulate;

namespace {

constexpr double kRate = 1 << 20, kLatency = 0.25;

Network::Key message(uint32_t from, uint32_t to, uint64_t index = 0) {
  return {from, to, {0, 0, 1, index}};
}

void finish(Network &network) {
  while (network.advance())
    ;
}

/// Of a frame with a part of a message of `size` bytes, or of the credit or
/// the acknowledgement of one.
uint64_t bytes(rt::FrameKind kind, uint64_t size, uint64_t offset = 0,
               uint64_t payload = 0) {
  rt::Frame frame;
  frame.kind = kind;
  frame.name = message(0, 1).name;
  frame.offset = offset;
  frame.size = size;
  frame.payloadBytes = uint32_t(payload);
  return rt::headerBytes(frame) + payload;
}
uint64_t bytesOfCredit(uint64_t size) {
  return bytes(rt::FrameKind::Credit, size);
}
const uint64_t kBytesOfAck = bytes(rt::FrameKind::Ack, 0);
/// Of all frames of a message.
uint64_t bytesOfData(uint64_t size) {
  constexpr uint64_t payload = rt::kFramePayload;
  uint64_t all = 0;
  for (uint64_t at = 0; at < size; at += payload)
    all += bytes(rt::FrameKind::Data, size, at, std::min(payload, size - at));
  return all;
}

double data(uint64_t size) { return double(bytesOfData(size)) / kRate; }
double credit(uint64_t size) { return double(bytesOfCredit(size)) / kRate; }
const double kAck = double(kBytesOfAck) / kRate;

} // namespace

// As programs do that meet over gRPC's engine: with more of them, shorter ones.
TEST(Network, FramesAreThoseOfGrpc) {
  EXPECT_EQ(grpcPayload(2), rt::kMostFramePayload);
  EXPECT_EQ(grpcPayload(3), grpcPayload(64));
}

TEST(Network, SmallMessageNeedsNoCredit) {
  Network network(2, {kRate, kLatency});
  network.postSend(message(0, 1), 8, 1);
  network.postReceive(message(0, 1), 8, 0);
  EXPECT_EQ(network.endOf(message(0, 1), /*isSent=*/true), 0.0);
  finish(network);
  EXPECT_EQ(network.endOf(message(0, 1), /*isSent=*/false),
            1 + kLatency + data(8));
}

TEST(Network, ReceiverThatComesLateHasItAtOnce) {
  Network network(2, {kRate, kLatency});
  network.postSend(message(0, 1), 8, 0);
  network.postReceive(message(0, 1), 8, 7);
  finish(network);
  EXPECT_EQ(network.endOf(message(0, 1), /*isSent=*/false), 7.0);
}

TEST(Network, LargeMessageWaitsForACreditAndIsAcknowledged) {
  Network network(2, {kRate, kLatency});
  constexpr uint64_t size = 3 * rt::kFramePayload + 100;
  network.postSend(message(0, 1), size, 0);
  network.postReceive(message(0, 1), size, 2);
  finish(network);
  // The credit, four frames one after another, and a way back.
  const double begin = 2 + kLatency + credit(size);
  const double end = begin + kLatency + data(size);
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), false), end);
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), true), end + kLatency + kAck);
  EXPECT_EQ(network.sentBy(0), bytesOfData(size));
  EXPECT_EQ(network.receivedBy(1), network.sentBy(0));
  EXPECT_EQ(network.sentBy(1), bytesOfCredit(size) + kBytesOfAck);
}

TEST(Network, FrameBeyondTheWindowCostsARoundTrip) {
  constexpr uint64_t window = 64 * 1024;
  Network network(2, {kRate, kLatency, window});
  network.postSend(message(0, 1), rt::kFramePayload, 1);
  network.postReceive(message(0, 1), rt::kFramePayload, 0);
  finish(network);
  const double rest = 1 + 2 * kLatency + double(kFirstBytes) / kRate;
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), false),
                   rest + kLatency + data(rt::kFramePayload) -
                       double(window) / kRate);
  EXPECT_EQ(network.sentBy(0), bytesOfData(rt::kFramePayload));
}

TEST(Network, LongFrameOverMpiLeavesWhenItIsAskedFor) {
  constexpr uint64_t size = 128 * 1024;
  Network network(3, {kRate, kLatency, kMpiEagerBytes, true});
  network.postReceive(message(0, 1), size, 0);
  network.postSend(message(0, 1), size, 1);
  network.postReceive(message(0, 2), 8, 0);
  network.postSend(message(0, 2), 8, 1);
  finish(network);
  // It is announced, is asked for and leaves. All are quiet for so long that
  // each is seen half of the longest sleep after it came.
  EXPECT_NEAR(*network.endOf(message(0, 1), false),
              1 + 3 * (kLatency + kMostSleep / 2) + data(size), 1e-9);
  // Its announcement takes no time on the way out.
  EXPECT_NEAR(*network.endOf(message(0, 2), false),
              1 + kLatency + kMostSleep / 2 + data(8), 1e-9);
}

TEST(Network, AskedForOverMpiLeavesBeforeOthersAreAskedFor) {
  constexpr uint64_t size = 128 * 1024;
  Network network(2, {kRate, kLatency, kMpiEagerBytes, true});
  for (auto [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    network.postReceive(message(from, to), size, 0);
  network.postSend(message(1, 0), size, 1);
  network.postSend(message(0, 1), size, 1.2515);
  finish(network);
  // The second program's frame is announced at 1 and requested at 1.2525. The
  // first one's announcement of 1.2515 is there at 1.5015, and the request at
  // 1.5025: one look, at 1.504, finds both. The frame leaves, and the second
  // program's own request after it. The first program finds both at once.
  const double first = 1.504 + kLatency + data(size) + kMostSleep / 2;
  EXPECT_NEAR(*network.endOf(message(1, 0), false), first, 1e-9);
  EXPECT_NEAR(*network.endOf(message(0, 1), false),
              first + kLatency + data(size) + kMostSleep / 2, 1e-9);
}

TEST(Network, APollerIsLateByAShareOfTheQuiet) {
  constexpr double quiet = 1.0 / 64; // an eighth of it is less than a sleep
  Network network(2, {0, quiet, 0, /*isMpi=*/true});
  for (uint64_t index : {0, 1, 2})
    network.postReceive(message(0, 1, index), 8, 0);
  network.postSend(message(0, 1), 8, 0);
  network.postSend(message(0, 1, 1), 8, quiet / 32);
  network.postSend(message(0, 1, 2), 8, 100);
  finish(network);
  const double seen = quiet + quiet / 16;
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), false), seen);
  // Messages that come while it sleeps are found with it.
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1, 1), false), seen);
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1, 2), false),
                   100 + quiet + kMostSleep / 2);
}

TEST(Network, WithoutABoundOnlyLatencyCounts) {
  Network network(2, {0, kLatency});
  network.postSend(message(0, 1), 1 << 30, 0);
  network.postReceive(message(0, 1), 1 << 30, 0);
  finish(network);
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), false), 2 * kLatency);
  EXPECT_DOUBLE_EQ(*network.endOf(message(0, 1), true), 3 * kLatency);
}

TEST(Network, BothWaysAreFreeAtOnce) {
  Network network(2, {kRate, 0});
  for (auto [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    network.postSend(message(from, to), rt::kFramePayload, 0);
    network.postReceive(message(from, to), rt::kFramePayload, 0);
  }
  finish(network);
  // Each side's credit goes before its data.
  for (auto [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    EXPECT_DOUBLE_EQ(*network.endOf(message(from, to), false),
                     credit(rt::kFramePayload) + data(rt::kFramePayload));
}

TEST(Network, SendersShareAReceiversWayIn) {
  Network network(3, {kRate, kLatency});
  for (uint32_t from : {1, 2}) {
    network.postSend(message(from, 0), rt::kFramePayload, 0);
    network.postReceive(message(from, 0), rt::kFramePayload, 0);
  }
  finish(network);
  const double first = *network.endOf(message(1, 0), false),
               second = *network.endOf(message(2, 0), false);
  EXPECT_DOUBLE_EQ(second - first, data(rt::kFramePayload));
}

TEST(Network, ReceiversShareASendersWayOutFrameByFrame) {
  Network network(3, {kRate, 0});
  constexpr uint64_t size = 4 * rt::kFramePayload;
  for (uint32_t to : {1, 2}) {
    network.postSend(message(0, to), size, 0);
    network.postReceive(message(0, to), size, 0);
  }
  finish(network);
  const double first = *network.endOf(message(0, 1), false),
               second = *network.endOf(message(0, 2), false);
  const uint64_t last = bytes(rt::FrameKind::Data, size,
                              size - rt::kFramePayload, rt::kFramePayload);
  EXPECT_DOUBLE_EQ(second - first, double(last) / kRate);
}

/// The bytes that leave for a message of the longest frame once the link has
/// carried one like it.
static uint64_t sentAfterAnother(double latency) {
  Link link{10 * double(rt::kMostFramePayload), latency};
  link.payload = rt::kMostFramePayload;
  Network network(2, link);
  uint64_t before = 0;
  for (uint64_t index : {0, 1}) {
    before = network.sentBy(0);
    const double time = double(index) * 1000;
    network.postSend(message(0, 1, index), rt::kMostFramePayload, time);
    network.postReceive(message(0, 1, index), rt::kMostFramePayload, time);
    finish(network);
  }
  return network.sentBy(0) - before;
}

TEST(Network, FramesAreAsLongAsMessagesBeforeSay) {
  constexpr uint64_t size = rt::kMostFramePayload;
  EXPECT_EQ(sentAfterAnother(0), bytes(rt::FrameKind::Data, size, 0, size));
  EXPECT_EQ(sentAfterAnother(4 * rt::kFrameSeconds), bytesOfData(size));
}

TEST(Network, FramesAmongManyProgramsStayShort) {
  Link link{kRate, 0};
  link.payload = 16 * 1024;
  Network network(2, link);
  constexpr uint64_t size = 64 * 1024, payload = 16 * 1024;
  network.postSend(message(0, 1), size, 0);
  network.postReceive(message(0, 1), size, 0);
  finish(network);
  uint64_t all = 0;
  for (uint64_t at = 0; at < size; at += payload)
    all += bytes(rt::FrameKind::Data, size, at, payload);
  EXPECT_EQ(network.sentBy(0), all);
}

TEST(Network, DifferentSizesAreSeen) {
  Network network(2, {});
  network.postSend(message(0, 1), 1000, 0);
  network.postReceive(message(0, 1), 999, 0);
  finish(network);
  EXPECT_TRUE(network.misfits(message(0, 1)));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// `steps` times: compute `first`, send to the next, and the next computes
/// `second` on it.
double pipeline(double first, double second, int steps, Link link) {
  Programs programs(2, link);
  const Status status = programs.run([&](Program &program) {
    for (int i = 0; i < steps; ++i) {
      const Network::Key key = message(0, 1, uint64_t(i));
      if (program.number == 0) {
        program.compute(first);
        program.postSend(key, 8);
      } else {
        program.postReceive(key, 8);
        EXPECT_TRUE(program.wait(key, /*isSent=*/false));
        program.compute(second);
      }
    }
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk());
  return programs.timelineOf(1).now();
}

} // namespace

TEST(Programs, PipelineTakesItsSlowestStage) {
  EXPECT_DOUBLE_EQ(pipeline(1, 3, 10, {}), 1 + 10 * 3);
  EXPECT_DOUBLE_EQ(pipeline(3, 1, 10, {}), 10 * 3 + 1);
  EXPECT_DOUBLE_EQ(pipeline(3, 1, 10, {0, 0.5}), 10 * 3 + 0.5 + 1);
}

TEST(Programs, TimeOfAProgramIsWhatItDid) {
  Programs programs(2, {0, 0.5});
  ASSERT_TRUE(programs
                  .run([&](Program &program) {
                    const Network::Key key = message(0, 1);
                    if (program.number == 0) {
                      program.compute(2);
                      program.postSend(key, 1000);
                      EXPECT_TRUE(program.wait(key, true));
                    } else {
                      program.postReceive(key, 1000);
                      EXPECT_TRUE(program.wait(key, false));
                      program.compute(1);
                    }
                    return Status::ok();
                  })
                  .isOk());
  // The credit is there before the send, which is acknowledged 0.5 s after it
  // came.
  const Totals &first = programs.timelineOf(0).sofar(),
               &second = programs.timelineOf(1).sofar();
  EXPECT_DOUBLE_EQ(first.seconds[unsigned(Activity::Computing)], 2);
  EXPECT_DOUBLE_EQ(first.seconds[unsigned(Activity::Sending)], 1);
  EXPECT_DOUBLE_EQ(second.seconds[unsigned(Activity::Waiting)], 2.5);
  EXPECT_DOUBLE_EQ(second.time, 3.5);
}

TEST(Programs, AWaitForAnEndedProgramFails) {
  Programs programs(2, {});
  int told = 0;
  const Status status = programs.run([&](Program &program) {
    if (program.number == 0)
      return Status(ErrorCode::Bug, "here", "it failed", "see");
    const Network::Key key = message(0, 1);
    program.postReceive(key, 8);
    told += !program.wait(key, false);
    return Status::ok();
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(status.errorCode(), ErrorCode::Bug);
}

//===----------------------------------------------------------------------===//
// Options and output
//===----------------------------------------------------------------------===//

TEST(Quantity, HasAUnit) {
  EXPECT_DOUBLE_EQ(readRate("--rate", "100Mbit/s").value(), 12.5e6);
  EXPECT_DOUBLE_EQ(readRate("--rate", "1.5GB/s").value(), 1.5e9);
  EXPECT_DOUBLE_EQ(readSeconds("--latency", "10ms").value(), 0.01);
  for (const char *text :
       {"", "100", "Mbit/s", "0Mbit/s", "-1Mbit/s", "nanMbit/s", "infB/s",
        "1e400B/s", "1 Mbit/s", " 1Mbit/s", "+1Mbit/s", "0x10Mbit/s",
        "0.9bit/s", "1e308GB/s"})
    EXPECT_FALSE(readRate("--rate", text).isOk()) << text;
  for (const char *text : {"10", "-1ms", "ms", "infs", "3601s", "1e308s", ".s"})
    EXPECT_FALSE(readSeconds("--latency", text).isOk()) << text;
}

/// A profile of one kernel: the times of the whole run, and of the kernel.
static Result<KernelTimes> timesOf(const char *steps, const char *seconds,
                                   const char *calls, const char *ofKernel) {
  static const hone_kernel kernels[] = {
      {nullptr, nullptr, "decoder", "linear q", 0, 0, nullptr, 0}};
  hone_module module = {};
  module.kernels = kernels;
  module.kernel_count = 1;
  TemporaryFolder folder;
  folder.write("p.json",
               std::string("{\"steps\": ") + steps +
                   ", \"seconds\": " + seconds +
                   ", \"waited\": 0, \"kernels\": [{\"block\": "
                   "\"decoder\", \"kernel\": \"linear q\", \"calls\": " +
                   calls + ", \"seconds\": " + ofKernel + "}]}");
  HONE_ASSIGN(const Profile profile, Profile::read(folder.file("p.json")));
  return profile.timesOf(module);
}

TEST(KernelTimes, AreMeansAndFinite) {
  const KernelTimes times = timesOf("2", "5", "4", "1").value();
  EXPECT_DOUBLE_EQ(times.seconds[0], 0.25);
  EXPECT_DOUBLE_EQ(times.stepSeconds, 2);
  EXPECT_FALSE(timesOf("2", "5", "4", "1e308").isOk());
  EXPECT_FALSE(timesOf("2", "1e10", "4", "1").isOk());
  EXPECT_FALSE(timesOf("2", "5", "4", "-1").isOk());
  // Less than a launch and a step: none was measured.
  const KernelTimes none = timesOf("1e-300", "1e9", "1e-300", "1").value();
  EXPECT_LT(none.seconds[0], 0);
  EXPECT_EQ(none.stepSeconds, 0);
}

TEST(Prediction, IsOfTheSecondHalf) {
  SimulatedRun run;
  // Two slow steps, then two of a second each.
  for (double time : {0.0, 10.0, 20.0, 21.0, 22.0}) {
    Totals &totals = run.steps.emplace_back();
    totals.time = totals.seconds[0] = time;
  }
  const Prediction prediction = predict({{"one", nullptr, {}, 0}}, {run});
  EXPECT_DOUBLE_EQ(prediction.step, 1);
  EXPECT_DOUBLE_EQ(prediction.programs[0].seconds[0], 1);
}

TEST(Prediction, NamesAreText) {
  SimulatedRun run;
  run.steps.resize(2);
  run.steps[1].time = 1;
  run.spans = {{0, 1, Activity::Computing}};
  const std::string text =
      drawing({{"a<b", nullptr, {}, 0}}, {run}, "x & y", 4);
  EXPECT_NE(text.find("a&lt;b"), std::string::npos);
  EXPECT_NE(text.find("x &amp; y"), std::string::npos);
}

TEST(Prediction, LongNamesAreWhole) {
  SimulatedRun run;
  run.steps.resize(2);
  run.steps[1].time = 1;
  run.spans = {{0, 1, Activity::Computing}};
  const std::string name = "a-name-of-thirty-two-letters-at-";
  const std::string text = table(predict({{name, nullptr, {}, 0}}, {run}), "");
  EXPECT_NE(text.find(name + " "), std::string::npos);
  // No bar begins before the name has ended.
  const std::string drawn = drawing({{name, nullptr, {}, 0}}, {run}, "", 4);
  EXPECT_NE(drawn.find("<rect x=\"276.00\""), std::string::npos);
}
