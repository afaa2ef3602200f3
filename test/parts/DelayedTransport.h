//===- DelayedTransport.h - Programs in one process that exchange ---------===//
//
// A copy from one arena to another, some time after both sides have posted it:
// when is drawn from the seed for each message, so that messages overtake one
// another. Whatever reads memory too early reads what was there before.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_PARTS_DELAYEDTRANSPORT_H
#define HONE_TEST_PARTS_DELAYEDTRANSPORT_H

#include "step/Interpreter.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace hone::test {

/// What is between all programs.
class Network {
public:
  explicit Network(uint64_t seed) : seed(seed) {}

  /// From, to, channel, sequence.
  using Key = std::tuple<std::string, std::string, std::string, uint64_t>;

  void post(const Key &key, const char *from, char *to, uint64_t size) {
    std::lock_guard<std::mutex> lock(mutex);
    Travel &travel = travels[key];
    if (from)
      travel.from = from;
    if (to)
      travel.to = to;
    if (travel.size != 0 && travel.size != size)
      fail("sizes differ", key);
    travel.size = size;
    if (travel.from && travel.to)
      travel.due = Clock::now() + delayOf(key);
    changed.notify_all();
  }

  void wait(const Key &key) {
    std::unique_lock<std::mutex> lock(mutex);
    const Clock::time_point limit = Clock::now() + std::chrono::seconds(60);
    Travel &travel = travels.at(key);
    while (!travel.hasArrived) {
      if (Clock::now() > limit)
        fail("nobody answers", key);
      bool isPosted = travel.from && travel.to;
      if (isPosted && Clock::now() >= travel.due) {
        memcpy(travel.to, travel.from, travel.size);
        travel.hasArrived = true;
        changed.notify_all();
      } else {
        changed.wait_until(lock, isPosted ? travel.due : limit);
      }
    }
    if (++travel.waited == 2)
      travels.erase(key);
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Travel {
    const char *from = nullptr;
    char *to = nullptr;
    uint64_t size = 0;
    Clock::time_point due;
    bool hasArrived = false;
    int waited = 0; ///< by how many of the two sides
  };

  /// Up to two milliseconds.
  std::chrono::microseconds delayOf(const Key &key) const {
    const auto &[from, to, channel, sequence] = key;
    uint64_t hash = std::hash<std::string>()(from + ">" + to + ":" + channel);
    hash = (hash ^ sequence ^ (seed << 32)) * 0x9e3779b97f4a7c15u;
    return std::chrono::microseconds((hash >> 40) % 2000);
  }

  [[noreturn]] static void fail(const char *what, const Key &key) {
    const auto &[from, to, channel, sequence] = key;
    fprintf(stderr, "%s: message %llu from %s to %s on %s\n", what,
            static_cast<unsigned long long>(sequence), from.c_str(), to.c_str(),
            channel.c_str());
    exit(1);
  }

  uint64_t seed;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Travel> travels;
};

/// What one program, called `self`, sees of it.
class DelayedTransport : public rt::Transport {
public:
  DelayedTransport(Network &network, std::string self)
      : network(network), self(std::move(self)) {}

  void postSend(const Message &m, const char *bytes, uint64_t size) override {
    network.post(keyOf(m), bytes, nullptr, size);
  }
  void postReceive(const Message &m, char *bytes, uint64_t size) override {
    network.post(keyOf(m), nullptr, bytes, size);
  }
  void wait(const Message &m) override { network.wait(keyOf(m)); }

private:
  Network::Key keyOf(const Message &m) const {
    return m.isSent ? Network::Key{self, m.peer, m.channel, m.sequence}
                    : Network::Key{m.peer, self, m.channel, m.sequence};
  }

  Network &network;
  std::string self;
};

} // namespace hone::test

#endif
