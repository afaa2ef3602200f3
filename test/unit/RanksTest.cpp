//===- RanksTest.cpp - Sums of ranks are those of one program -------------===//

#include "step/Ranks.h"

#include "test/parts/DelayedTransport.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

using namespace hone::rt;

namespace {

/// Numbers whose sum depends on the order.
std::vector<float> gradientOf(uint64_t batch, uint64_t elements) {
  std::mt19937_64 random(batch);
  std::vector<float> numbers(elements);
  for (float &number : numbers)
    number =
        float(double(random()) / 1e18 - 9) * (random() % 3 == 0 ? 1e-6f : 1.0f);
  return numbers;
}

std::vector<float> sumOf(uint64_t batches, uint64_t elements) {
  std::vector<float> sum = gradientOf(0, elements);
  for (uint64_t batch = 1; batch < batches; ++batch) {
    const std::vector<float> next = gradientOf(batch, elements);
    for (uint64_t i = 0; i < elements; ++i)
      sum[i] += next[i];
  }
  return sum;
}

/// Of how many batches steps are, one after the other.
using Steps = std::vector<uint64_t>;

struct Outcome {
  std::vector<std::vector<float>> sums; ///< of each rank
  std::vector<uint64_t> sent, taken;
  size_t open = 0; ///< messages that are posted after all
};

/// Steps on `count` ranks; the sums are those of the last.
Outcome fold(uint32_t count, const Steps &steps, uint64_t elements) {
  hone::test::Network network(elements, {std::chrono::milliseconds(20000)});
  std::vector<std::string> names;
  for (uint32_t rank = 0; rank < count; ++rank)
    names.push_back("rank " + std::to_string(rank));
  Outcome out;
  out.sums.resize(count);
  out.sent.resize(count);
  out.taken.resize(count);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      hone::test::DelayedTransport transport(network, names[rank]);
      Ranks ranks(transport, names, rank);
      std::vector<float> own(elements);
      ranks.setGradient(reinterpret_cast<char *>(own.data()), elements,
                        Dtype::F32);
      Ranks::Step step{0, 7, 0};
      for (uint64_t batches : steps) {
        step.round = 0;
        for (uint64_t first = 0; first < batches;
             first += count, ++step.round) {
          const auto givers =
              uint32_t(std::min<uint64_t>(count, batches - first));
          if (rank < givers)
            std::copy_n(gradientOf(first + rank, elements).data(), elements,
                        own.data());
          EXPECT_TRUE(
              ranks.fold(step, givers, first + count >= batches).isOk());
        }
        ++step.completed;
      }
      out.sums[rank] = own;
      out.sent[rank] = ranks.sent();
      out.taken[rank] = ranks.takenBytes();
    });
  for (std::thread &thread : threads)
    thread.join();
  out.open = network.open();
  return out;
}

} // namespace

TEST(Ranks, AddInTheOrderOfBatches) {
  for (uint32_t count : {2, 3, 4})
    for (uint64_t batches : {1, 2, 3, 4, 5, 7, 9})
      for (uint64_t elements : {1, 5, 1000, 200000}) {
        const Outcome found = fold(count, {batches}, elements);
        const std::vector<float> expected = sumOf(batches, elements);
        for (const std::vector<float> &sum : found.sums)
          EXPECT_TRUE(memcmp(sum.data(), expected.data(), 4 * elements) == 0)
              << count << " ranks, " << batches << " batches, " << elements;
        EXPECT_EQ(found.open, 0u);
      }
}

// 2 (R - 1) / R of the gradient, where each rank has one batch.
TEST(Ranks, SendNoMoreThanASliceOfEach) {
  const uint64_t elements = 60000;
  for (uint32_t count : {2, 3, 4})
    for (uint64_t sent : fold(count, {count}, elements).sent)
      EXPECT_EQ(sent, 2 * (count - 1) * 4 * elements / count);
}

// Two pieces arrive at a time. Beside them is a piece of the sum, or all of
// this rank's slice if any step has several rounds; the last one of an epoch
// may have fewer.
TEST(Ranks, TakeTheMemoryThatIsPlanned) {
  const uint64_t elements = 12 * 50000, bytes = 4 * elements;
  for (uint32_t count : {2, 3, 4}) {
    const uint64_t piece = Ranks::pieceBytes(count);
    for (uint64_t taken : fold(count, {count, 1, count}, elements).taken) {
      EXPECT_EQ(taken, 2 * piece + piece) << count;
      EXPECT_EQ(taken, Ranks::foldBytes(bytes, count, /*hasRounds=*/false));
    }
    for (const Steps &steps :
         {Steps{2 * count + 1}, Steps{2 * count, count}, Steps{1, 2 * count}}) {
      const Outcome found = fold(count, steps, elements);
      const uint64_t planned =
          Ranks::foldBytes(bytes, count, /*hasRounds=*/true);
      for (uint64_t taken : found.taken) {
        EXPECT_EQ(taken, 2 * piece + bytes / count) << count;
        EXPECT_LE(taken, planned);
        EXPECT_LE(planned, taken + 64);
      }
      EXPECT_TRUE(memcmp(found.sums[0].data(),
                         sumOf(steps.back(), elements).data(), bytes) == 0);
    }
  }
}

TEST(Ranks, GiveNumbersToAll) {
  hone::test::Network network(1, {std::chrono::milliseconds(20000)});
  const std::vector<std::string> names = {"a", "b", "c"};
  for (uint32_t givers : {1, 2, 3}) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        hone::test::DelayedTransport transport(network, names[rank]);
        Ranks ranks(transport, names, rank);
        std::vector<double> all(3 * 20, -1);
        for (int i = 0; i < 20; ++i)
          all[rank * 20 + i] = 100 * rank + i;
        EXPECT_TRUE(ranks
                        .gather({0, givers, 0},
                                reinterpret_cast<char *>(all.data()), 160,
                                givers)
                        .isOk());
        for (uint32_t giver = 0; giver < givers; ++giver)
          for (int i = 0; i < 20; ++i)
            EXPECT_EQ(all[giver * 20 + i], 100 * giver + i);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

TEST(Ranks, SpreadTheStateOfTheFirst) {
  hone::test::Network network(1, {std::chrono::milliseconds(20000)});
  const std::vector<std::string> names = {"a", "b", "c"};
  const uint64_t size = 2 * Ranks::pieceBytes(3) + 12345;
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      hone::test::DelayedTransport transport(network, names[rank]);
      Ranks ranks(transport, names, rank);
      std::string state(size, rank == 0 ? 'x' : '-');
      EXPECT_TRUE(ranks.spread({3, 0, 1}, state.data(), size).isOk());
      EXPECT_EQ(state, std::string(size, 'x'));
    });
  for (std::thread &thread : threads)
    thread.join();
}

// A peer that is gone ends a wait, and nothing stays posted.
TEST(Ranks, LeaveNothingPosted) {
  hone::test::Network network(1, {std::chrono::milliseconds(50)});
  const std::vector<std::string> names = {"a", "b"};
  hone::test::DelayedTransport transport(network, names[0]);
  Ranks ranks(transport, names, 0);
  std::vector<float> own(1000, 1.0f);
  ranks.setGradient(reinterpret_cast<char *>(own.data()), own.size(),
                    Dtype::F32);
  const Status status = ranks.fold({0, 0, 0}, 2, true);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(*status.errorCode(), ErrorCode::PeerLost);
  EXPECT_EQ(network.open(), 0u);
}
