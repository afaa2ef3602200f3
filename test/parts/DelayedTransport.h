//===- DelayedTransport.h - Programs in one process that exchange ---------===//
//
// A copy from one arena to another, some time after both sides have posted it:
// the time is drawn from the seed for each message, so that messages overtake
// one another. An item that reads memory too early reads the old contents.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "step/Transport.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace hone::test {

/// The transport between all programs.
class Network {
public:
  Network(uint64_t seed, rt::Patience patience)
      : seed(seed), patience(patience) {}

  using Message = rt::Transport::Message;
  /// From, to, schedule, step, channel, index.
  using Key = std::tuple<std::string, std::string, uint32_t, uint64_t,
                         std::string, uint64_t>;

  rt::Status post(const Key &key, const char *from, char *to, uint64_t size) {
    std::lock_guard<std::mutex> lock(mutex);
    Travel &travel = travels[key];
    if (from && size <= rt::kEagerBytes) {
      travel.taken.assign(from, from + size);
      from = travel.taken.data();
    }
    if (from)
      travel.from = from;
    if (to)
      travel.to = to;
    (from ? travel.sent : travel.wanted) = size;
    if (travel.from && travel.to) {
      if (travel.sent != travel.wanted)
        travel.misfits = true;
      travel.due = Clock::now() + delayOf(key);
    }
    changed.notify_all();
    return rt::Status::ok();
  }

  rt::Status wait(const Key &key, const Message &message) {
    std::unique_lock<std::mutex> lock(mutex);
    const Clock::time_point begin = Clock::now();
    Travel &travel = travels.at(key);
    auto isDone = [&] {
      return travel.hasArrived || (message.isSent && !travel.taken.empty());
    };
    while (!isDone()) {
      if (travel.misfits)
        return rt::messageMisfit(message,
                                 message.isSent ? travel.sent : travel.wanted,
                                 message.isSent ? travel.wanted : travel.sent);
      HONE_TRY(patience.check(message.describe(), since(begin)));
      bool isPosted = travel.from && travel.to;
      if (isPosted && Clock::now() >= travel.due) {
        memcpy(travel.to, travel.from, travel.sent);
        travel.hasArrived = true;
        changed.notify_all();
      } else {
        changed.wait_until(lock, isPosted ? travel.due
                                          : Clock::now() + patience.slice());
      }
    }
    finish(key, travel);
    return rt::Status::ok();
  }

  void cancel(const Key &key, bool isSent) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = travels.find(key);
    if (found == travels.end())
      return;
    if (isSent && found->second.taken.empty())
      found->second.from = nullptr;
    if (!isSent)
      found->second.to = nullptr;
    if (!found->second.from && !found->second.to)
      travels.erase(found);
  }

  /// How many messages use memory of a program.
  size_t open() {
    std::lock_guard<std::mutex> lock(mutex);
    size_t count = 0;
    for (const auto &[key, travel] : travels)
      count += travel.to || (travel.from && travel.taken.empty());
    return count;
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Travel {
    const char *from = nullptr;
    char *to = nullptr;
    uint64_t sent = 0, wanted = 0;
    std::vector<char> taken; ///< of a small message
    Clock::time_point due;
    bool hasArrived = false, misfits = false;
    int waited = 0; ///< by how many of the two sides
  };

  void finish(const Key &key, Travel &travel) {
    if (++travel.waited == 2)
      travels.erase(key);
  }

  static std::chrono::milliseconds since(Clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                                 begin);
  }

  /// Up to two milliseconds.
  std::chrono::microseconds delayOf(const Key &key) const {
    const auto &[from, to, schedule, step, channel, index] = key;
    uint64_t hash = std::hash<std::string>()(from + ">" + to + ":" + channel);
    hash = (hash ^ index ^ (step << 16) ^ (uint64_t(schedule) << 24) ^
            (seed << 32)) *
           0x9e3779b97f4a7c15u;
    return std::chrono::microseconds((hash >> 40) % 2000);
  }

  uint64_t seed;
  rt::Patience patience;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Travel> travels;
};

/// The view of one program, called `self`.
class DelayedTransport : public rt::Transport {
public:
  DelayedTransport(Network &network, std::string self)
      : network(network), self(std::move(self)) {}

  rt::Status postSend(const Message &m, const char *bytes,
                      uint64_t size) override {
    return network.post(keyOf(m), bytes, nullptr, size);
  }
  rt::Status postReceive(const Message &m, char *bytes,
                         uint64_t size) override {
    return network.post(keyOf(m), nullptr, bytes, size);
  }
  rt::Status wait(const Message &m) override {
    return network.wait(keyOf(m), m);
  }
  void cancel(const Message &m) override { network.cancel(keyOf(m), m.isSent); }

private:
  Network::Key keyOf(const Message &m) const {
    return m.isSent ? Network::Key{self,   m.peer,    m.schedule,
                                   m.step, m.channel, m.index}
                    : Network::Key{m.peer, self,      m.schedule,
                                   m.step, m.channel, m.index};
  }

  Network &network;
  std::string self;
};

} // namespace hone::test
