//===- ChainEngine.cpp - Links of one process, whose programs may die -----===//

#include "ChainEngine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace hone::test {

namespace {
std::mutex chains;
std::map<std::string, Chain *> byAddress;
} // namespace

struct Chain::End {
  Chain *chain;
  std::string self;
  std::shared_ptr<Connection> connection;
  int side;
  bool isWoken = false;
};

Chain::Chain(Dies dies)
    : name("chain " + std::to_string(uintptr_t(this))), dies(std::move(dies)) {
  std::lock_guard<std::mutex> lock(chains);
  byAddress[name] = this;
}

Chain::~Chain() {
  std::lock_guard<std::mutex> lock(chains);
  byAddress.erase(name);
}

bool Chain::isDead(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  return dead.count(program) > 0;
}

void Chain::kill(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  dead.insert(program);
  changed.notify_all();
}

void Chain::revive(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  dead.erase(program);
}

struct ChainCalls {
  static Chain::End &of(hone_link *link) {
    return *reinterpret_cast<Chain::End *>(link);
  }
  static bool isLost(const Chain::End &end) {
    return end.connection->isClosed || end.chain->dead.count(end.self) > 0;
  }

  static hone_link *open(const char *address, const char *self,
                         const char *peer, int, char *why, uint64_t capacity) {
    Chain *chain;
    {
      std::lock_guard<std::mutex> lock(chains);
      chain = byAddress.at(address);
    }
    std::unique_lock<std::mutex> lock(chain->mutex);
    if (chain->dead.count(self) > 0) {
      strncpy(why, "dead", capacity);
      chain->changed.wait_for(lock, std::chrono::milliseconds(1));
      return nullptr;
    }
    const std::string own = self, other = peer;
    const int side = own < other ? 0 : 1;
    std::shared_ptr<Chain::Connection> &known =
        chain->open[std::minmax(own, other)];
    // Whoever comes second joins, unless the first one has gone.
    if (known && !known->isClosed && !known->hasPeer) {
      known->hasPeer = true;
    } else {
      if (known)
        known->isClosed = true;
      known = std::make_shared<Chain::Connection>();
    }
    chain->changed.notify_all();
    return reinterpret_cast<hone_link *>(
        new Chain::End{chain, own, known, side});
  }

  static int send(hone_link *link, const void *bytes, uint64_t size) {
    Chain::End &end = of(link);
    Chain &chain = *end.chain;
    std::lock_guard<std::mutex> lock(chain.mutex);
    if (!isLost(end) && chain.dies(end.self, ++chain.sent[end.self]))
      chain.dead.insert(end.self);
    chain.changed.notify_all();
    if (isLost(end))
      return -1;
    end.connection->to[1 - end.side].emplace_back(
        static_cast<const char *>(bytes), size);
    return 0;
  }

  static int64_t next(hone_link *link, void *bytes, uint64_t,
                      int milliseconds) {
    Chain::End &end = of(link);
    std::unique_lock<std::mutex> lock(end.chain->mutex);
    std::deque<std::string> &own = end.connection->to[end.side];
    end.chain->changed.wait_for(
        lock, std::chrono::milliseconds(milliseconds),
        [&] { return !own.empty() || end.isWoken || isLost(end); });
    end.isWoken = false;
    // What came before the other side was gone is there.
    if (own.empty() || (isLost(end) && !end.connection->isClosed))
      return isLost(end) ? -1 : 0;
    const std::string frame = std::move(own.front());
    own.pop_front();
    memcpy(bytes, frame.data(), frame.size());
    return int64_t(frame.size());
  }

  static void wake(hone_link *link) {
    Chain::End &end = of(link);
    std::lock_guard<std::mutex> lock(end.chain->mutex);
    end.isWoken = true;
    end.chain->changed.notify_all();
  }

  static void close(hone_link *link) {
    Chain::End &end = of(link);
    {
      std::lock_guard<std::mutex> lock(end.chain->mutex);
      end.connection->isClosed = true;
      end.chain->changed.notify_all();
    }
    delete &end;
  }
};

const hone_engine &Chain::engine() {
  static const hone_engine engine = {HONE_ENGINE_VERSION,
                                     sizeof(hone_engine),
                                     "chain",
                                     ChainCalls::open,
                                     ChainCalls::send,
                                     ChainCalls::next,
                                     ChainCalls::wake,
                                     ChainCalls::close,
                                     /*bytes=*/0,
                                     /*program_bytes=*/0,
                                     /*link_bytes=*/0,
                                     /*is_ordered=*/1,
                                     /*link_frames=*/0,
                                     /*piece_bytes=*/0,
                                     /*least_piece_bytes=*/0,
                                     /*plan_bytes=*/0};
  return engine;
}

} // namespace hone::test
